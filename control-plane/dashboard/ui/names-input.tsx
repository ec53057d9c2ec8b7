import type { KeyboardEvent, ReactNode } from 'react'
import { useId, useRef, useState } from 'react'
import type { Suggestion } from './combobox.tsx'
import { matching, Suggestions } from './combobox.tsx'
import { placeAfter } from './place-after.ts'

type Props = {
  readonly label: string
  readonly hint: ReactNode
  /** Names with spaces or commas between them. */
  readonly value: string
  readonly onChange: (value: string) => void
  readonly suggestions: readonly Suggestion[]
  /** Called with the name that the reader types, so that suggestions are read on demand. */
  readonly onType?: (name: string) => void
  readonly fault?: string | undefined
  readonly maxLength?: number
}

/** The end of a text after its last space or comma: the name that is being typed. */
const LAST_NAME = /[^\s,]*$/

/** A field for several names, which suggests names and ids that contain the one that is typed. */
export function NamesInput({ label, hint, value, onChange, suggestions, onType, fault, maxLength }: Props) {
  const id = useId()
  const field = useRef<HTMLInputElement>(null)
  const [isOpen, setOpen] = useState(false)
  const [at, setAt] = useState(-1)
  const typed = LAST_NAME.exec(value)?.[0] ?? ''
  const isWhole = suggestions.some((one) => one.value === typed)
  const found = typed === '' || isWhole ? [] : matching(suggestions, typed)
  const place = Math.min(at, found.length - 1)
  const isShown = isOpen && found.length > 0
  const take = (name: string) => {
    onChange(`${value.replace(LAST_NAME, '')}${name} `)
    setOpen(false)
    field.current?.focus()
  }
  const press = (event: KeyboardEvent) => {
    if (!isShown) return
    const next = placeAfter(event.key, place, found.length)
    if (next !== undefined) setAt(next)
    if (event.key === 'Escape') setOpen(false)
    // Without a choice by the arrows, Enter sends the form.
    const chosen = event.key === 'Enter' ? found[place] : undefined
    if (chosen !== undefined) take(chosen.value)
    if (next !== undefined || event.key === 'Escape' || chosen !== undefined) event.preventDefault()
    if (event.key === 'Escape') event.stopPropagation()
  }
  return (
    <div className="field combobox">
      <label htmlFor={id}>{label}</label>
      <input
        ref={field}
        id={id}
        className="input"
        role="combobox"
        autoComplete="off"
        spellCheck={false}
        aria-autocomplete="list"
        aria-expanded={isShown}
        aria-controls={`${id}-list`}
        aria-activedescendant={isShown && place >= 0 ? `${id}-${place}` : undefined}
        aria-invalid={fault !== undefined}
        aria-describedby={`${id}-more`}
        maxLength={maxLength}
        value={value}
        onFocus={() => onType?.(typed)}
        onBlur={() => setOpen(false)}
        onChange={({ currentTarget }) => {
          onChange(currentTarget.value)
          onType?.(LAST_NAME.exec(currentTarget.value)?.[0] ?? '')
          setOpen(true)
          setAt(-1)
        }}
        onKeyDown={press}
      />
      <small id={`${id}-more`} role={fault === undefined ? undefined : 'alert'}>
        {fault ?? hint}
      </small>
      <Suggestions id={id} label="Suggestions" found={found} place={place} isOpen={isShown} onTake={take} />
    </div>
  )
}
