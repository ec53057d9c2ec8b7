import type { FormEvent } from 'react'
import { useState } from 'react'
import { PageCreateOwnProviderDocument } from '#control-plane/dashboard/data/documents/buyer.ts'
import { money } from '#control-plane/dashboard/data/format.ts'
import { useChange } from '#control-plane/dashboard/data/use-query.ts'
import { Button } from '#control-plane/dashboard/ui/button.tsx'
import type { DialogState } from '#control-plane/dashboard/ui/dialog.tsx'
import { Dialog } from '#control-plane/dashboard/ui/dialog.tsx'
import { Input, Select } from '#control-plane/dashboard/ui/fields.tsx'
import { ErrorNotice } from '#control-plane/dashboard/ui/states.tsx'
import { useToast } from '#control-plane/dashboard/ui/toast.tsx'
import { PROTOCOL_NAMES } from './protocol-names.ts'

const BLANK = { baseUrl: '', apiKey: '', model: '', providerModel: '', label: '', apiFormat: 'openai', priority: '0' }
const FORMATS = Object.entries(PROTOCOL_NAMES).map(([value, label]) => ({ value, label }))

/** Adds a provider key of the buyer's own. The typed fields stay when the market refuses it. */
export function AddProvider({ dialog }: { readonly dialog: DialogState }) {
  const say = useToast()
  const [draft, setDraft] = useState(BLANK)
  const create = useChange(PageCreateOwnProviderDocument, {
    onDone: ({ createOwnProvider: { probeCostUsd: cost } }) => {
      setDraft(BLANK)
      dialog.close()
      const spent = cost === null || cost === 0 ? '' : ` The test call cost about ${money(Math.round(cost * 1e6))}.`
      say(`Calls try this key first.${spent}`)
    },
  })
  const field = (name: keyof typeof BLANK) => ({
    value: draft[name],
    onChange: ({ currentTarget }: { readonly currentTarget: { readonly value: string } }) =>
      setDraft({ ...draft, [name]: currentTarget.value }),
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    const { baseUrl, apiKey, apiFormat, priority, model, providerModel, label } = draft
    const chosen = { model, providerModel, label }
    const filledFields = Object.fromEntries(Object.entries(chosen).filter(([, text]) => text.trim() !== ''))
    create.mutate({
      input: { baseUrl: baseUrl.trim(), apiKey: apiKey.trim(), apiFormat, priority: Number(priority), ...filledFields },
    })
  }
  return (
    <Dialog dialog={dialog} title="Add a provider key">
      <form className="form" onSubmit={submit}>
        <Input
          label="Base URL of the provider"
          type="url"
          placeholder="https://api.example.com/v1"
          required
          {...field('baseUrl')}
        />
        <Input
          label="API key"
          type="password"
          autoComplete="off"
          hint="Encrypted, and never shown again"
          required
          {...field('apiKey')}
        />
        <div className="form-row">
          <Input label="Model" hint="Leave blank for all models" {...field('model')} />
          <Input
            label="Provider's model name"
            hint="Leave blank if the names are the same"
            {...field('providerModel')}
          />
        </div>
        <div className="form-row">
          <Select label="Protocol" choices={FORMATS} {...field('apiFormat')} />
          <Input
            label="Priority"
            hint="The lowest number is tried first"
            type="number"
            min={0}
            step={1}
            required
            {...field('priority')}
          />
          <Input label="Name" hint="Only you see the name" maxLength={200} {...field('label')} />
        </div>
        {create.error === null ? null : <ErrorNotice error={create.error} />}
        <div className="dialog-foot">
          <Button onClick={dialog.close}>Cancel</Button>
          <Button kind="primary" type="submit" disabled={create.isPending}>
            Add key
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
