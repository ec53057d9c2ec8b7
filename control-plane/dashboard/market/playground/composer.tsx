import type { ChangeEvent, FormEvent, KeyboardEvent } from 'react'
import { useRef, useState } from 'react'
import { Button } from '#control-plane/dashboard/ui/button.tsx'
import { TextArea } from '#control-plane/dashboard/ui/fields.tsx'
import { Notice } from '#control-plane/dashboard/ui/states.tsx'
import type { Question } from './call-of.ts'
import type { ShownColumn } from './columns.ts'
import { takesPictures } from './columns.ts'
import { MAX_PICTURE_MB, MAX_PICTURES, PICTURE_TYPES, readPictures } from './read-pictures.ts'

const MAX_CHARS = 200_000

type Props = {
  readonly columns: readonly ShownColumn[]
  readonly question: Question
  /** True while an answer comes. */
  readonly isOpen: boolean
  readonly onChange: (question: Question) => void
  readonly onSend: () => void
  readonly onStop: () => void
}

/** The form for the next question. */
export function Composer({ columns, question, isOpen, onChange, onSend, onStop }: Props) {
  const { text, pictures } = question
  const [fault, setFault] = useState<string>()
  const field = useRef<HTMLInputElement>(null)
  const form = useRef<HTMLFormElement>(null)
  const mayShow = columns.some(takesPictures)
  const canSend = text.trim() !== '' && !isOpen
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (!canSend) return
    onSend()
    // The pressed button goes away, so the focus moves to the field for the next question.
    form.current?.querySelector('textarea')?.focus()
  }
  const press = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return
    event.preventDefault()
    if (canSend) onSend()
  }
  const add = async ({ currentTarget }: ChangeEvent<HTMLInputElement>) => {
    const files = [...(currentTarget.files ?? [])]
    currentTarget.value = ''
    const read = await readPictures(files, pictures)
    setFault(read.fault)
    onChange({ ...question, pictures: read.pictures })
  }
  return (
    <form ref={form} className="card play-composer" aria-label="Your message" onSubmit={submit}>
      <TextArea
        label="Message"
        placeholder="Ask anything"
        rows={2}
        maxLength={MAX_CHARS}
        value={text}
        onChange={({ currentTarget: { value } }) => onChange({ ...question, text: value })}
        onKeyDown={press}
      />
      {pictures.length === 0 ? null : (
        <ul className="play-pictures" aria-label="Pictures of the message">
          {pictures.map((picture, place) => (
            <li key={picture.url}>
              <img src={picture.url} alt={picture.name} />
              <Button
                kind="quiet"
                aria-label={`Remove ${picture.name}`}
                onClick={() => onChange({ ...question, pictures: pictures.filter((_, other) => other !== place) })}
              >
                Remove
              </Button>
            </li>
          ))}
        </ul>
      )}
      {fault === undefined ? null : <Notice tone="bad">{fault}</Notice>}
      <div className="actions">
        {mayShow ? (
          <>
            <input
              ref={field}
              className="play-file"
              type="file"
              multiple
              accept={PICTURE_TYPES.join(',')}
              aria-label="Pictures"
              tabIndex={-1}
              onChange={(event) => void add(event)}
            />
            <Button onClick={() => field.current?.click()} disabled={pictures.length >= MAX_PICTURES}>
              Add pictures
            </Button>
            <span className="muted small">
              Up to {MAX_PICTURES}, {MAX_PICTURE_MB} MB each.
            </span>
          </>
        ) : null}
        <span className="muted small play-keys">Enter sends, Shift and Enter begin a new line.</span>
        {isOpen ? (
          <Button kind="danger" onClick={onStop}>
            Stop
          </Button>
        ) : (
          <Button kind="primary" type="submit" disabled={!canSend}>
            Send
          </Button>
        )}
      </div>
    </form>
  )
}
