import type { FormEvent, ReactNode } from 'react'
import { useState } from 'react'
import { Button } from './button.tsx'
import { Dialog } from './dialog.tsx'
import { Input } from './fields.tsx'
import { ErrorNotice } from './states.tsx'

/** A value now, and after the change. */
export type DiffLine = { readonly name: string; readonly now: ReactNode; readonly after: ReactNode }

/** The values that a change touches. Lines that stay as they are show only where nothing changes. */
export function Diff({ lines }: { readonly lines: readonly DiffLine[] }) {
  const changed = lines.filter(({ now, after }) => now !== after)
  return (
    <table className="table diff">
      <thead>
        <tr>
          <td />
          <th scope="col">Now</th>
          <th scope="col">After</th>
        </tr>
      </thead>
      <tbody>
        {(changed.length === 0 ? lines : changed).map(({ name, now, after }) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            <td>{now}</td>
            <td>{after}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

type ConfirmProps = {
  readonly title: string
  readonly about?: ReactNode
  readonly lines?: readonly DiffLine[]
  /** The label of the button that confirms. */
  readonly action: string
  readonly isDanger?: boolean
  /** True asks for a reason, without which nothing is done. */
  readonly needsReason?: boolean
  readonly isBusy: boolean
  readonly error: Error | null
  readonly onDo: (reason: string) => void
  readonly onClose: () => void
}

const MAX_REASON_CHARS = 160

/**
 * Asks for confirmation: shows the changes, and takes the reason. A refusal shows in the dialog, and typed text stays.
 */
export function Confirm(props: ConfirmProps) {
  const { title, about, lines, action, isDanger = false, needsReason = false, isBusy, error, onDo, onClose } = props
  const [reason, setReason] = useState('')
  const submit = (event: FormEvent) => {
    event.preventDefault()
    onDo(reason.trim())
  }
  return (
    <Dialog dialog={{ isOpen: true, close: onClose }} title={title}>
      <form className="form" onSubmit={submit}>
        {about === undefined ? null : <p>{about}</p>}
        {lines === undefined ? null : <Diff lines={lines} />}
        {needsReason ? (
          <Input
            label="Reason"
            hint="Kept in the audit log"
            required
            maxLength={MAX_REASON_CHARS}
            value={reason}
            onChange={({ currentTarget: { value } }) => setReason(value)}
          />
        ) : null}
        {error === null ? null : <ErrorNotice error={error} />}
        <div className="dialog-foot">
          <Button onClick={onClose}>Cancel</Button>
          <Button
            kind={isDanger ? 'danger' : 'primary'}
            type="submit"
            disabled={isBusy || (needsReason && reason.trim() === '')}
          >
            {action}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
