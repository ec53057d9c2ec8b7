import { Link } from '@tanstack/react-router'
import type { FormEvent } from 'react'
import { useState } from 'react'
import { PageCreateWebhookDocument, PageUpdateWebhookDocument } from '#control-plane/dashboard/data/documents/buyer.ts'
import type { BuyerLimitsQuery, WebhookFormat } from '#control-plane/dashboard/data/documents/buyer-limits.ts'
import { useChange } from '#control-plane/dashboard/data/use-query.ts'
import { Button } from '#control-plane/dashboard/ui/button.tsx'
import { Dialog } from '#control-plane/dashboard/ui/dialog.tsx'
import { Check, Input, Select } from '#control-plane/dashboard/ui/fields.tsx'
import type { ShownSecret } from '#control-plane/dashboard/ui/secret.tsx'
import { ErrorNotice, Notice } from '#control-plane/dashboard/ui/states.tsx'
import { useToast } from '#control-plane/dashboard/ui/toast.tsx'
import { useIsChanged } from '#control-plane/dashboard/ui/use-is-changed.ts'

export type Hook = NonNullable<BuyerLimitsQuery['webhooks']>[number]

/** The events in the words of the page. The body has their names. */
const EVENTS: readonly { readonly name: string; readonly label: string }[] = [
  { name: 'key.cap_reached', label: 'A cap is 50%, 80% or 100% used' },
  { name: 'budget.reached', label: 'A budget of your organisation is 50%, 80% or 100% used' },
  { name: 'balance.low', label: 'The balance is low' },
  { name: 'deposit.credited', label: 'A deposit is credited' },
  { name: 'deposit.waiting', label: 'A deposit is waiting' },
  { name: 'job.succeeded', label: 'A job is done' },
  { name: 'job.failed', label: 'A job failed' },
  { name: 'job.cancelled', label: 'A job was cancelled' },
  { name: 'payout.address_changed', label: 'A payout address changed' },
  { name: 'payout.held', label: 'A payout is held' },
  { name: 'payout.paid', label: 'A payout is paid' },
  { name: 'payout.returned', label: 'A payout was returned' },
]
const MAILTO = 'mailto:'

/** Where the events go: a URL, or an address. */
export const targetOf = ({ url }: Pick<Hook, 'url'>) => (url.startsWith(MAILTO) ? url.slice(MAILTO.length) : url)

const FIRST_EVENTS = ['key.cap_reached', 'budget.reached']

type Props = {
  /** Undefined for a new webhook. */
  readonly hook: Hook | undefined
  /** The addresses to choose from, for an alert by e-mail; undefined for a webhook. */
  readonly emails: readonly string[] | undefined
  readonly onClose: () => void
  readonly onSecret: (shown: ShownSecret) => void
}

type Draft = {
  readonly url: string
  readonly label: string
  readonly lowBalance: string
  readonly format: WebhookFormat
  readonly enabled: boolean
  readonly events: ReadonlySet<string>
}

/** Creates a webhook, or changes it. */
export function EditWebhook({ hook, emails, onClose, onSecret }: Props) {
  const [draft, setDraft] = useState<Draft>({
    url: hook?.url ?? (emails?.[0] === undefined ? '' : MAILTO + emails[0]),
    label: hook?.label ?? '',
    lowBalance: hook?.lowBalanceUsd == null ? '' : String(hook.lowBalanceUsd),
    format: hook?.format ?? (emails === undefined ? 'standard' : 'email'),
    enabled: hook?.enabled ?? true,
    events: new Set(hook?.events ?? FIRST_EVENTS),
  })
  const isChanged = useIsChanged({ ...draft, events: EVENTS.map(({ name }) => draft.events.has(name)) })
  const { change, save } = useSave({ hook, onClose, onSecret })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    save(draft)
  }
  const kind = emails === undefined ? 'webhook' : 'e-mail alert'
  return (
    <Dialog
      dialog={{ isOpen: true, close: onClose }}
      title={hook === undefined ? `New ${kind}` : `Edit ${hook.label ?? targetOf(hook)}`}
    >
      <form className="form" onSubmit={submit}>
        {emails === undefined ? (
          <WebhookTarget draft={draft} onChange={setDraft} />
        ) : (
          <EmailTarget emails={emails} draft={draft} onChange={setDraft} />
        )}
        <Events chosen={draft.events} onChoose={(events) => setDraft({ ...draft, events })} />
        {draft.events.has('balance.low') ? (
          <Input
            label="Low balance, US dollars"
            hint="The balance is low below this amount"
            required
            type="number"
            min={0.000001}
            step="any"
            value={draft.lowBalance}
            onChange={({ currentTarget: { value } }) => setDraft({ ...draft, lowBalance: value })}
          />
        ) : null}
        {hook === undefined ? null : (
          <Check label="Send events" isOn={draft.enabled} onChange={(enabled) => setDraft({ ...draft, enabled })} />
        )}
        {change.error === null ? null : <ErrorNotice error={change.error} />}
        <div className="dialog-foot">
          <Button onClick={onClose}>Cancel</Button>
          <Button
            kind="primary"
            type="submit"
            disabled={change.isPending || !isChanged || draft.events.size === 0 || draft.url === ''}
          >
            {hook === undefined ? (emails === undefined ? 'Create webhook' : 'Create alert') : 'Save changes'}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}

type TargetProps = { readonly draft: Draft; readonly onChange: (draft: Draft) => void }

function WebhookTarget({ draft, onChange }: TargetProps) {
  return (
    <>
      <Input
        label="URL"
        hint="https, and reachable from the internet"
        type="url"
        required
        value={draft.url}
        onChange={({ currentTarget: { value } }) => onChange({ ...draft, url: value })}
      />
      <div className="form-row">
        <Select
          label="Format"
          hint={draft.format === 'slack' ? 'For an incoming webhook of Slack' : 'Signed JSON for your own server'}
          value={draft.format}
          choices={[
            { value: 'standard', label: 'JSON' },
            { value: 'slack', label: 'Slack' },
          ]}
          onChange={({ currentTarget: { value } }) =>
            onChange({ ...draft, format: value === 'slack' ? 'slack' : 'standard' })
          }
        />
        <Name draft={draft} onChange={onChange} />
      </div>
    </>
  )
}

type EmailTargetProps = TargetProps & { readonly emails: readonly string[] }

function EmailTarget({ emails, draft, onChange }: EmailTargetProps) {
  const known = draft.url === '' ? [] : [targetOf(draft)]
  const choices = [...new Set([...known, ...emails])].map((email) => ({ value: MAILTO + email, label: email }))
  if (choices.length === 0) {
    return (
      <Notice>
        Alerts go to verified addresses. <Link to="/account">Add an e-mail address to your account</Link>
      </Notice>
    )
  }
  return (
    <div className="form-row">
      <Select
        label="Send to"
        hint="A verified address of your account"
        value={draft.url}
        choices={choices}
        onChange={({ currentTarget: { value } }) => onChange({ ...draft, url: value })}
      />
      <Name draft={draft} onChange={onChange} />
    </div>
  )
}

function Name({ draft, onChange }: TargetProps) {
  return (
    <Input
      label="Name"
      hint="Only you see it"
      maxLength={200}
      value={draft.label}
      onChange={({ currentTarget: { value } }) => onChange({ ...draft, label: value })}
    />
  )
}

/** Stores what was typed. A new webhook has a signing secret, which is shown once. */
function useSave({ hook, onClose, onSecret }: Omit<Props, 'emails'>) {
  const say = useToast()
  const create = useChange(PageCreateWebhookDocument, {
    onDone: ({ createWebhook: { secret, webhook } }) => {
      onClose()
      if (secret === null) return say('The alert is created.')
      const about = 'Verify each delivery with it. A Slack webhook does not need it.'
      onSecret({ title: `Signing secret of ${webhook.label ?? webhook.url}`, secret, about })
    },
  })
  const update = useChange(PageUpdateWebhookDocument, {
    onDone: () => {
      onClose()
      say(hook?.format === 'email' ? 'The alert is changed.' : 'The webhook is changed.')
    },
  })
  const save = ({ url, label, lowBalance, format, enabled, events }: Draft) => {
    const input = {
      url: url.trim(),
      label: label.trim() === '' ? null : label.trim(),
      lowBalanceUsd: lowBalance.trim() === '' ? null : Number(lowBalance),
      format,
      enabled,
      events: [...events],
    }
    if (hook === undefined) create.mutate({ input })
    else update.mutate({ id: hook.id, input })
  }
  return { change: hook === undefined ? create : update, save }
}

type EventsProps = { readonly chosen: ReadonlySet<string>; readonly onChoose: (events: ReadonlySet<string>) => void }

function Events({ chosen, onChoose }: EventsProps) {
  return (
    <fieldset className="form" style={{ border: 0, margin: 0, padding: 0 }}>
      <legend>Events</legend>
      <div className="checks two">
        {EVENTS.map(({ name, label }) => (
          <Check
            key={name}
            label={label}
            isOn={chosen.has(name)}
            onChange={(isOn) => {
              const events = new Set(chosen)
              if (isOn) events.add(name)
              else events.delete(name)
              onChoose(events)
            }}
          />
        ))}
      </div>
    </fieldset>
  )
}
