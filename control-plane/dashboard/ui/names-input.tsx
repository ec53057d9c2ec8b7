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
  /** The limit of all names together, in characters. */
  readonly maxLength?: number
}

const SEPARATORS = /[\s,]+/
/** The end of a text after its last space or comma: the name that is being typed. */
const LAST_NAME = /[^\s,]*$/

/** The names of a list that a reader wrote, each once. */
export function namesIn(text: string): readonly string[] {
  return [...new Set(text.split(SEPARATORS).filter((name) => name !== ''))]
}

/**
 * The chosen names of a value, and the name that is being typed. A name is chosen by a space or a comma behind it, or
 * from the suggestions. The value holds the typed name too, so that a form is sent with it.
 */
function useNames({ value, onChange, onType }: Pick<Props, 'value' | 'onChange' | 'onType'>) {
  const [isTyping, setTyping] = useState(false)
  const typed = isTyping ? (LAST_NAME.exec(value)?.[0] ?? '') : ''
  const chosen = namesIn(typed === '' ? value : value.slice(0, -typed.length))
  const put = (names: readonly string[], next: string) => {
    setTyping(next !== '')
    onChange([...new Set(names), ...(next === '' ? [] : [next])].join(' '))
  }
  return {
    typed,
    chosen,
    type: (text: string) => {
      const next = LAST_NAME.exec(text)?.[0] ?? ''
      put([...chosen, ...namesIn(next === '' ? text : text.slice(0, -next.length))], next)
      onType?.(next)
    },
    add: (name: string) => put([...chosen, name], ''),
    remove: (name: string) =>
      put(
        chosen.filter((other) => other !== name),
        typed,
      ),
  }
}

/** A field for several names, which suggests names and ids that contain the one that is typed. */
export function NamesInput({ label, hint, value, onChange, suggestions, onType, fault, maxLength }: Props) {
  const id = useId()
  const field = useRef<HTMLInputElement>(null)
  const [isOpen, setOpen] = useState(false)
  const [at, setAt] = useState(-1)
  const { typed, chosen, type, add, remove } = useNames({ value, onChange, ...(onType && { onType }) })
  const isWhole = suggestions.some((one) => one.value === typed)
  const found = typed === '' || isWhole ? [] : matching(suggestions, typed)
  const place = Math.min(at, found.length - 1)
  const isShown = isOpen && found.length > 0
  const take = (name: string) => {
    add(name)
    setOpen(false)
    field.current?.focus()
  }
  const press = (event: KeyboardEvent) => {
    const last = chosen.at(-1)
    if (event.key === 'Backspace' && typed === '' && last !== undefined) remove(last)
    if (!isShown) return
    const next = placeAfter(event.key, place, found.length)
    if (next !== undefined) setAt(next)
    if (event.key === 'Escape') setOpen(false)
    // Without a choice by the arrows, Enter sends the form.
    const suggested = event.key === 'Enter' ? found[place] : undefined
    if (suggested !== undefined) take(suggested.value)
    if (next !== undefined || event.key === 'Escape' || suggested !== undefined) event.preventDefault()
    if (event.key === 'Escape') event.stopPropagation()
  }
  return (
    <div className="field combobox">
      <label htmlFor={id}>{label}</label>
      <div className="input names" aria-invalid={fault !== undefined}>
        {chosen.map((name) => (
          <Chip
            key={name}
            name={name}
            onRemove={() => {
              remove(name)
              field.current?.focus()
            }}
          />
        ))}
        <input
          ref={field}
          id={id}
          role="combobox"
          autoComplete="off"
          spellCheck={false}
          aria-autocomplete="list"
          aria-expanded={isShown}
          aria-controls={`${id}-list`}
          aria-activedescendant={isShown && place >= 0 ? `${id}-${place}` : undefined}
          aria-invalid={fault !== undefined}
          aria-describedby={`${id}-more`}
          maxLength={maxLength === undefined ? undefined : Math.max(0, maxLength - value.length + typed.length)}
          value={typed}
          onFocus={() => onType?.(typed)}
          onBlur={() => setOpen(false)}
          onChange={({ currentTarget }) => {
            type(currentTarget.value)
            setOpen(true)
            setAt(-1)
          }}
          onKeyDown={press}
        />
      </div>
      <small id={`${id}-more`} role={fault === undefined ? undefined : 'alert'}>
        {fault ?? hint}
      </small>
      <Suggestions id={id} label="Suggestions" found={found} place={place} isOpen={isShown} onTake={take} />
    </div>
  )
}

type ChipProps = { readonly name: string; readonly onRemove: () => void }

function Chip({ name, onRemove }: ChipProps) {
  return (
    <span className="chip">
      {name}
      <button type="button" aria-label={`Remove ${name}`} onClick={onRemove}>
        ×
      </button>
    </span>
  )
}
