import type { InputHTMLAttributes, ReactNode, SelectHTMLAttributes, TextareaHTMLAttributes } from 'react'
import { useEffect, useId, useLayoutEffect, useRef, useState } from 'react'

type FieldProps = {
  readonly label: string
  readonly hint?: ReactNode
  readonly fault?: string | undefined
  readonly isWide?: boolean
}

type InputProps = FieldProps & Omit<InputHTMLAttributes<HTMLInputElement>, 'className'>

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

const TYPING_PAUSE_MS = 250

/** Texts of one meaning are one value: the address drops the blanks around a text, and zeros at the end of a number. */
const keptValue = (text: string, isNumber: boolean) => (isNumber && text !== '' ? String(Number(text)) : text.trim())

/**
 * The text of a field whose value is in the address, which follows a while after it is set. `onKeep` gets the text once
 * the typing pauses. Returns the text, and the function that changes it.
 */
export function useKeptText(
  value: string,
  onKeep: (text: string) => void,
  isNumber = false,
): [string, (text: string) => void] {
  const [text, setText] = useState(value)
  const kept = keptValue(value, isNumber)
  const typed = keptValue(text, isNumber)
  const keep = useRef(onKeep)
  /** The values that were passed on and have not come back, oldest first. */
  const pending = useRef<readonly string[]>([])
  useLayoutEffect(() => {
    keep.current = onKeep
  })
  // A layout effect: letters that are typed as soon as the field shows come after it.
  useLayoutEffect(() => {
    // Text that was typed meanwhile stays. The back button and a link bring their own text.
    const at = pending.current.lastIndexOf(kept)
    pending.current = at === -1 ? [] : pending.current.slice(at + 1)
    if (at === -1) setText(value)
  }, [value, kept])
  useEffect(() => {
    if (typed === (pending.current.at(-1) ?? kept)) return undefined
    const timer = setTimeout(() => {
      pending.current = [...pending.current, typed]
      keep.current(text)
    }, TYPING_PAUSE_MS)
    return () => clearTimeout(timer)
  }, [text, typed, kept])
  return [text, setText]
}

type KeptProps = Omit<InputProps, 'value' | 'onChange'> & {
  readonly value: string
  readonly onKeep: (text: string) => void
}

/** A field whose value is in the address: see {@link useKeptText}. */
export function KeptInput({ value, onKeep, ...rest }: KeptProps) {
  const [text, setText] = useKeptText(value, onKeep, rest.type === 'number')
  return <Input {...rest} value={text} onChange={(event) => setText(event.currentTarget.value)} />
}

type SearchProps = {
  readonly label: string
  readonly value: string
  readonly onSearch: (text: string) => void
  readonly placeholder?: string | undefined
}

/** A search field that asks once the typing pauses. `/` jumps to it. */
export function Search({ onSearch, ...rest }: SearchProps) {
  return <KeptInput {...rest} isWide type="search" data-search="true" onKeep={onSearch} />
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
