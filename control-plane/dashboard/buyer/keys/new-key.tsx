import type { FormEvent } from 'react'
import { useState } from 'react'
import { PageCreateBuyerKeyDocument } from '#control-plane/dashboard/data/documents/keys.ts'
import { useChange } from '#control-plane/dashboard/data/use-query.ts'
import { Button } from '#control-plane/dashboard/ui/button.tsx'
import type { DialogState } from '#control-plane/dashboard/ui/dialog.tsx'
import { Dialog } from '#control-plane/dashboard/ui/dialog.tsx'
import { Check, Input } from '#control-plane/dashboard/ui/fields.tsx'
import type { ShownSecret } from '#control-plane/dashboard/ui/secret.tsx'
import { ErrorNotice } from '#control-plane/dashboard/ui/states.tsx'

const BLANK = { label: '', daily: '', monthly: '', floor: '', models: '', days: '', allowsUntrusted: false }
type Draft = typeof BLANK

const DAY_MS = 24 * 60 * 60 * 1_000
const numberIn = (text: string) => (text.trim() === '' ? undefined : Number(text))

function inputOf(draft: Draft) {
  const days = numberIn(draft.days)
  const models = draft.models.split(/[\s,]+/).filter((name) => name !== '')
  return {
    label: draft.label.trim(),
    providersBlocked: [],
    capDailyUsd: numberIn(draft.daily),
    capMonthlyUsd: numberIn(draft.monthly),
    minDiscountPct: numberIn(draft.floor),
    ...(models.length === 0 ? {} : { modelsAllowed: models }),
    ...(days === undefined ? {} : { expiresAt: Date.now() + days * DAY_MS }),
    ...(draft.allowsUntrusted ? { allowUntrusted: true } : {}),
  }
}

type Props = { readonly dialog: DialogState; readonly onMade: (shownSecret: ShownSecret) => void }

export function NewKey({ dialog, onMade }: Props) {
  const [draft, setDraft] = useState<Draft>(BLANK)
  const create = useChange(PageCreateBuyerKeyDocument, {
    onDone: ({ createBuyerKey: { key, record } }) => {
      setDraft(BLANK)
      dialog.close()
      if (key !== null) onMade({ title: `Key ${record.label}`, secret: key })
    },
  })
  const field = (name: Exclude<keyof Draft, 'allowsUntrusted'>) => ({
    value: draft[name],
    onChange: ({ currentTarget }: { readonly currentTarget: HTMLInputElement }) =>
      setDraft({ ...draft, [name]: currentTarget.value }),
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    create.mutate({ input: inputOf(draft) })
  }
  return (
    <Dialog dialog={dialog} title="New key">
      <form className="form" onSubmit={submit}>
        <Input label="Name" hint="For you: what calls with it" required maxLength={200} {...field('label')} />
        <div className="form-row">
          <Input
            label="Cap a day, US dollars"
            hint="Per UTC day. Leave blank for no cap"
            type="number"
            min={0.000001}
            step="any"
            {...field('daily')}
          />
          <Input label="Cap a month, US dollars" type="number" min={0.000001} step="any" {...field('monthly')} />
        </div>
        <div className="form-row">
          <Input
            label="Minimum discount, percent"
            hint="A call below it is refused"
            type="number"
            min={0}
            max={100}
            step={1}
            {...field('floor')}
          />
          <Input label="Ends after, days" type="number" min={1} max={3650} step={1} {...field('days')} />
        </div>
        <Input label="Models" hint="Separate with spaces. Leave blank for all." {...field('models')} />
        <Check
          label="May use providers that are not trusted"
          isOn={draft.allowsUntrusted}
          onChange={(allowsUntrusted) => setDraft({ ...draft, allowsUntrusted })}
        />
        {create.error === null ? null : <ErrorNotice error={create.error} />}
        <div className="dialog-foot">
          <Button onClick={dialog.close}>Cancel</Button>
          <Button kind="primary" type="submit" disabled={create.isPending}>
            Make the key
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
