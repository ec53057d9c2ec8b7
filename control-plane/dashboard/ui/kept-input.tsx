import { useEffect, useLayoutEffect, useRef, useState } from 'react'
import type { InputProps } from './fields.tsx'
import { Input } from './fields.tsx'

const TYPING_PAUSE_MS = 250

/** Texts of one meaning are one value: the address drops the blanks around a text, and zeros at the end of a number. */
const keptValue = (text: string, isNumber: boolean) => (isNumber && text !== '' ? String(Number(text)) : text.trim())

/**
 * The text of a field whose value is in the address, which follows a while after it is set. `onKeep` gets the text once
 * the typing pauses for `pauseMs`. Returns the text, and the function that changes it.
 */
export function useKeptText(
  value: string,
  onKeep: (text: string) => void,
  { isNumber = false, pauseMs = 0 }: { readonly isNumber?: boolean; readonly pauseMs?: number } = {},
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
    }, pauseMs)
    return () => clearTimeout(timer)
  }, [text, typed, kept, pauseMs])
  return [text, setText]
}

type KeptProps = Omit<InputProps, 'value' | 'onChange'> & {
  readonly value: string
  readonly onKeep: (text: string) => void
  readonly pauseMs?: number
}

/** A field whose value is in the address: see {@link useKeptText}. */
export function KeptInput({ value, onKeep, pauseMs = 0, ...rest }: KeptProps) {
  const [text, setText] = useKeptText(value, onKeep, { isNumber: rest.type === 'number', pauseMs })
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
  return <KeptInput {...rest} isWide type="search" data-search="true" onKeep={onSearch} pauseMs={TYPING_PAUSE_MS} />
}
