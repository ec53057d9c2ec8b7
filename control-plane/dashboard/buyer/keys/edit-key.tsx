import type { FormEvent } from 'react'
import { useState } from 'react'
import { PageUpdateBuyerKeyDocument } from '#control-plane/dashboard/data/documents/buyer.ts'
import { useChange } from '#control-plane/dashboard/data/use-query.ts'
import { Button } from '#control-plane/dashboard/ui/button.tsx'
import { Confirm } from '#control-plane/dashboard/ui/confirm.tsx'
import { Dialog } from '#control-plane/dashboard/ui/dialog.tsx'
import { Input } from '#control-plane/dashboard/ui/fields.tsx'
import { useToast } from '#control-plane/dashboard/ui/toast.tsx'
import { useIsChanged } from '#control-plane/dashboard/ui/use-is-changed.ts'
import { BLANK_KEY, draftOf, KeyFields, KeyRefusal, termsIn } from './key-fields.tsx'
import type { ListedKey } from './listed-key.ts'

type Props = { readonly listed: ListedKey; readonly onDone: () => void }

/** A UTC date as `2026-11-28`, or nothing. */
const dateOf = (at: number | null) => (at === null ? '' : new Date(at).toISOString().slice(0, 10))

/** Changes the name, the limits and the end of a key. */
export function EditKey({ listed: { id, kind, label, terms, expiresAt }, onDone }: Props) {
  const say = useToast()
  const [first] = useState(terms === null ? { ...BLANK_KEY, label } : draftOf(label, terms))
  const [draft, setDraft] = useState(first)
  const [end, setEnd] = useState(dateOf(expiresAt))
  const update = useChange(PageUpdateBuyerKeyDocument, {
    onDone: () => {
      onDone()
      say(`${draft.label.trim()} is saved. Live within seconds.`)
    },
  })
  const isChanged = useIsChanged([draft, end])
  const isPlayground = kind === 'playground'
  const submit = (event: FormEvent) => {
    event.preventDefault()
    // An expiry that the owner does not change keeps its hour.
    const ending = end === dateOf(expiresAt) ? {} : { expiresAt: end === '' ? null : Date.parse(end) }
    update.mutate({ id, input: { ...termsIn(draft), ...ending } })
  }
  return (
    <Dialog dialog={{ isOpen: true, close: onDone }} title={`Edit ${label}`}>
      <form className="form" onSubmit={submit}>
        <KeyFields draft={draft} onChange={setDraft} needsDailyCap={isPlayground} error={update.error} />
        {isPlayground ? null : (
          <Input
            label="Expires on"
            hint="At 00:00 UTC of that day. Leave blank for no expiry"
            type="date"
            value={end}
            onChange={({ currentTarget }) => setEnd(currentTarget.value)}
          />
        )}
        <KeyRefusal error={update.error} />
        <div className="dialog-foot">
          <Button onClick={onDone}>Cancel</Button>
          <Button kind="primary" type="submit" disabled={!isChanged || update.isPending}>
            Save key
          </Button>
        </div>
      </form>
    </Dialog>
  )
}

/** Stops a key for a while, or lets it call again. */
export function FreezeKey({ listed: { id, label, frozenAt }, onDone }: Props) {
  const say = useToast()
  const isFrozen = frozenAt !== null
  const update = useChange(PageUpdateBuyerKeyDocument, {
    onDone: () => {
      onDone()
      say(isFrozen ? `${label} works again.` : `${label} is frozen.`)
    },
  })
  return (
    <Confirm
      title={isFrozen ? `Unfreeze ${label}?` : `Freeze ${label}?`}
      about={
        isFrozen
          ? 'Apps that use this key can call again, within the same limits.'
          : 'Apps that use this key stop working until you unfreeze it. Calls that run now end as usual. The key keeps its secret and its limits.'
      }
      action={isFrozen ? 'Unfreeze' : 'Freeze'}
      isBusy={update.isPending}
      error={update.error}
      onDo={() => update.mutate({ id, input: { isFrozen: !isFrozen } })}
      onClose={onDone}
    />
  )
}
