import type { FormEvent } from 'react'
import { useState } from 'react'
import { PageCreateBuyerKeyDocument } from '#control-plane/dashboard/data/documents/keys.ts'
import { useChange } from '#control-plane/dashboard/data/use-query.ts'
import { Button } from '#control-plane/dashboard/ui/button.tsx'
import type { DialogState } from '#control-plane/dashboard/ui/dialog.tsx'
import { Dialog } from '#control-plane/dashboard/ui/dialog.tsx'
import { Input } from '#control-plane/dashboard/ui/fields.tsx'
import type { ShownSecret } from '#control-plane/dashboard/ui/secret.tsx'
import { BLANK_KEY, KeyFields, KeyRefusal, termsIn } from './key-fields.tsx'

const DAY_MS = 24 * 60 * 60 * 1_000

type Props = { readonly dialog: DialogState; readonly onMade: (shownSecret: ShownSecret) => void }

export function NewKey({ dialog, onMade }: Props) {
  const [draft, setDraft] = useState(BLANK_KEY)
  const [days, setDays] = useState('')
  const create = useChange(PageCreateBuyerKeyDocument, {
    onDone: ({ createBuyerKey: { key, record } }) => {
      setDraft(BLANK_KEY)
      setDays('')
      dialog.close()
      if (key !== null) onMade({ title: `Key ${record.label}`, secret: key })
    },
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    const expiresAt = days.trim() === '' ? null : Date.now() + Number(days) * DAY_MS
    create.mutate({ input: { ...termsIn(draft), expiresAt } })
  }
  return (
    <Dialog dialog={dialog} title="New key">
      <form className="form" onSubmit={submit}>
        <KeyFields draft={draft} onChange={setDraft} isFolded error={create.error} />
        <Input
          label="Expires after, days"
          hint="Leave blank for no expiry"
          type="number"
          min={1}
          max={3650}
          step={1}
          value={days}
          onChange={({ currentTarget }) => setDays(currentTarget.value)}
        />
        <KeyRefusal error={create.error} />
        <div className="dialog-foot">
          <Button onClick={dialog.close}>Cancel</Button>
          <Button kind="primary" type="submit" disabled={create.isPending}>
            Create key
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
