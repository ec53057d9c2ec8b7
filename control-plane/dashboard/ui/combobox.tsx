import type { KeyboardEvent } from 'react'
import { useId, useLayoutEffect, useRef, useState } from 'react'
import { placeAfter } from './place-after.ts'

export type Suggestion = { readonly value: string; readonly label: string; readonly about?: string }

const MAX_SUGGESTED = 8

type Props = {
  readonly label: string
  /** The chosen value; undefined for the whole list. */
  readonly value: string | undefined
  readonly suggestions: readonly Suggestion[]
  readonly onChoose: (value: string | undefined) => void
  /** Called when the reader enters the field, so that suggestions are read on demand. */
  readonly onOpen?: () => void
  readonly placeholder?: string
}

/**
 * A field that narrows a list to one name. It suggests names whose id or label contains what is typed; Enter takes the
 * first one, and an empty field removes the condition.
 */
export function Combobox({ label, value, suggestions, onChoose, onOpen, placeholder = 'Any' }: Props) {
  const id = useId()
  const chosen = suggestions.find((one) => one.value === value)?.label ?? value ?? ''
  const { text, type, follow } = useFieldText(chosen)
  const [isOpen, setOpen] = useState(false)
  // No suggestion is marked until the reader types or presses an arrow.
  const [at, setAt] = useState(-1)
  const found = matching(suggestions, text === chosen ? '' : text)
  const place = Math.min(at, found.length - 1)
  const close = () => {
    setOpen(false)
    follow(chosen)
  }
  const take = (next: string | undefined) => {
    setOpen(false)
    follow(next === value ? chosen : text)
    if (next !== value) onChoose(next)
  }
  const press = (event: KeyboardEvent) => {
    const next = placeAfter(event.key, place, found.length)
    if (next !== undefined) {
      event.preventDefault()
      setOpen(true)
      if (isOpen) setAt(next)
    }
    if (event.key === 'Escape' && isOpen) {
      event.stopPropagation()
      close()
    }
    if (event.key === 'Enter') take(found[place]?.value ?? (text.trim() || undefined))
  }
  return (
    <div className="field combobox">
      <label htmlFor={id}>{label}</label>
      <input
        id={id}
        className="input"
        type="search"
        role="combobox"
        autoComplete="off"
        aria-autocomplete="list"
        aria-expanded={isOpen}
        aria-controls={`${id}-list`}
        aria-activedescendant={isOpen && place >= 0 ? `${id}-${place}` : undefined}
        data-search="true"
        placeholder={placeholder}
        value={text}
        onFocus={({ currentTarget }) => {
          currentTarget.select()
          onOpen?.()
          setOpen(true)
          setAt(-1)
        }}
        onBlur={() => (text.trim() === '' ? take(undefined) : close())}
        onChange={({ currentTarget }) => {
          type(currentTarget.value)
          setOpen(true)
          setAt(currentTarget.value.trim() === '' ? -1 : 0)
        }}
        onKeyDown={press}
      />
      <Suggestions
        id={id}
        label={label}
        found={found}
        place={place}
        isOpen={isOpen && suggestions.length > 0}
        onTake={take}
      />
    </div>
  )
}

/** The text of a field. It follows the name of the chosen value until the reader types. */
function useFieldText(chosen: string) {
  const [text, setText] = useState(chosen)
  const isTyped = useRef(false)
  useLayoutEffect(() => {
    // The name can come with the suggestions, after the reader began to type.
    if (!isTyped.current) setText(chosen)
  }, [chosen])
  const set = (isByReader: boolean) => (next: string) => {
    isTyped.current = isByReader
    setText(next)
  }
  return { text, type: set(true), follow: set(false) }
}

/** The first suggestions whose id or label contains a text. */
export function matching(suggestions: readonly Suggestion[], text: string): readonly Suggestion[] {
  const query = text.trim().toLowerCase()
  const isMatch = ({ value, label }: Suggestion) => `${value} ${label}`.toLowerCase().includes(query)
  return suggestions.filter(isMatch).slice(0, MAX_SUGGESTED)
}

type SuggestionsProps = {
  readonly id: string
  readonly label: string
  readonly found: readonly Suggestion[]
  readonly place: number
  readonly isOpen: boolean
  readonly onTake: (value: string) => void
}

/** The list below a field with suggestions. */
export function Suggestions({ id, label, found, place, isOpen, onTake }: SuggestionsProps) {
  return (
    <div id={`${id}-list`} role="listbox" aria-label={label} tabIndex={-1} hidden={!isOpen}>
      {found.map((one, index) => (
        // biome-ignore lint/a11y/useFocusableInteractive: The field above keeps the focus.
        <div
          key={one.value}
          id={`${id}-${index}`}
          role="option"
          aria-selected={index === place}
          onPointerDown={(event) => {
            // The field would lose the focus, and close, before a click.
            event.preventDefault()
            onTake(one.value)
          }}
        >
          <span>{one.label}</span>
          {one.about === undefined ? null : <span className="muted">{one.about}</span>}
        </div>
      ))}
      {found.length === 0 ? (
        <div role="option" aria-selected="false" aria-disabled="true" className="muted" tabIndex={-1}>
          Nothing matches
        </div>
      ) : null}
    </div>
  )
}
