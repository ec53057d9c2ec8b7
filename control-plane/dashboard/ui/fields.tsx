import type { InputHTMLAttributes, ReactNode, SelectHTMLAttributes, TextareaHTMLAttributes } from 'react'
import { useId, useState } from 'react'

type FieldProps = {
  readonly label: string
  readonly hint?: ReactNode
  readonly fault?: string | undefined
  readonly isWide?: boolean
}

export type InputProps = FieldProps & Omit<InputHTMLAttributes<HTMLInputElement>, 'className'>

export function Input({ label, hint, fault, isWide, ...rest }: InputProps) {
  const id = useId()
  const isDescribed = hint !== undefined || fault !== undefined
  return (
    <div className={isWide ? 'field wide' : 'field'}>
      <label htmlFor={id}>{label}</label>
      <input
        id={id}
        className="input"
        aria-invalid={fault !== undefined}
        aria-describedby={isDescribed ? `${id}-more` : undefined}
        {...rest}
      />
      {fault === undefined ? null : (
        <small id={`${id}-more`} role="alert">
          {fault}
        </small>
      )}
      {fault === undefined && hint !== undefined ? <small id={`${id}-more`}>{hint}</small> : null}
    </div>
  )
}

type TextAreaProps = FieldProps & Omit<TextareaHTMLAttributes<HTMLTextAreaElement>, 'className'>

/** A text of several lines. */
export function TextArea({ label, hint, fault: _fault, isWide, ...rest }: TextAreaProps) {
  const id = useId()
  return (
    <div className={isWide ? 'field wide' : 'field'}>
      <label htmlFor={id}>{label}</label>
      <textarea
        id={id}
        className="input"
        rows={3}
        aria-describedby={hint === undefined ? undefined : `${id}-more`}
        {...rest}
      />
      {hint === undefined ? null : <small id={`${id}-more`}>{hint}</small>}
    </div>
  )
}

type Choice = { readonly value: string; readonly label: string }
type SelectProps = FieldProps &
  Omit<SelectHTMLAttributes<HTMLSelectElement>, 'className'> & { readonly choices: readonly Choice[] }

export function Select({ label, hint, fault: _fault, isWide, choices, ...rest }: SelectProps) {
  const id = useId()
  return (
    <div className={isWide ? 'field wide' : 'field'}>
      <label htmlFor={id}>{label}</label>
      <select id={id} className="input" {...rest}>
        {choices.map(({ value, label: name }) => (
          <option key={value} value={value}>
            {name}
          </option>
        ))}
      </select>
      {hint === undefined ? null : <small>{hint}</small>}
    </div>
  )
}

type CheckProps = {
  readonly label: ReactNode
  readonly isOn: boolean
  readonly onChange: (isOn: boolean) => void
}

export function Check({ label, isOn, onChange }: CheckProps) {
  return (
    <label className="check">
      <input type="checkbox" checked={isOn} onChange={(event) => onChange(event.currentTarget.checked)} />
      <span>{label}</span>
    </label>
  )
}

type FiltersProps = {
  /** Conditions that narrow the list now. */
  readonly active?: number
  readonly children: ReactNode
}

/** The conditions of a list. A phone shows the search, and hides the other conditions behind a button. */
export function Filters({ active = 0, children }: FiltersProps) {
  const [isOpen, setOpen] = useState(false)
  return (
    <search className="filters" data-open={isOpen}>
      <button
        type="button"
        className="button filters-more"
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
      >{`Filters${active === 0 ? '' : ` (${active})`}`}</button>
      {children}
    </search>
  )
}

type SegmentsProps<Name extends string> = {
  readonly label: string
  /** Undefined where none of them is chosen. */
  readonly value: Name | undefined
  readonly choices: readonly { readonly value: Name; readonly label: string }[]
  readonly onChoose: (value: Name) => void
}

/** A choice of a few values, all visible. */
export function Segments<Name extends string>({ label, value, choices, onChoose }: SegmentsProps<Name>) {
  return (
    <fieldset className="segments" aria-label={label} style={{ border: 0, margin: 0 }}>
      {choices.map((choice) => (
        <button
          key={choice.value}
          type="button"
          aria-pressed={choice.value === value}
          onClick={() => onChoose(choice.value)}
        >
          {choice.label}
        </button>
      ))}
    </fieldset>
  )
}
