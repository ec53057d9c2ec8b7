import { useState } from 'react'
import { curlOf } from '#control-plane/dashboard/data/curl.ts'
import { PageRemoveWebhookDocument, PageTestWebhookDocument } from '#control-plane/dashboard/data/documents/buyer.ts'
import { BuyerAccountDocument } from '#control-plane/dashboard/data/documents/buyer-account.ts'
import type { BuyerWebhookQuery } from '#control-plane/dashboard/data/documents/buyer-webhook.ts'
import { BuyerWebhookDocument } from '#control-plane/dashboard/data/documents/buyer-webhook.ts'
import { money } from '#control-plane/dashboard/data/format.ts'
import { useViewer } from '#control-plane/dashboard/data/session.tsx'
import { useChange, useScreen } from '#control-plane/dashboard/data/use-query.ts'
import { Button } from '#control-plane/dashboard/ui/button.tsx'
import { Confirm } from '#control-plane/dashboard/ui/confirm.tsx'
import { Dialog } from '#control-plane/dashboard/ui/dialog.tsx'
import { Badge, Tags } from '#control-plane/dashboard/ui/marks.tsx'
import { Card } from '#control-plane/dashboard/ui/page.tsx'
import type { ShownSecret } from '#control-plane/dashboard/ui/secret.tsx'
import { SecretOnce } from '#control-plane/dashboard/ui/secret.tsx'
import { Empty, ErrorNotice, Loaded } from '#control-plane/dashboard/ui/states.tsx'
import type { Column } from '#control-plane/dashboard/ui/table.tsx'
import { Table, timeColumn } from '#control-plane/dashboard/ui/table.tsx'
import { useToast } from '#control-plane/dashboard/ui/toast.tsx'
import type { Hook } from './edit-webhook.tsx'
import { EditWebhook, targetOf } from './edit-webhook.tsx'

type Opened =
  | { readonly kind: 'edit' | 'deliveries' | 'remove'; readonly hook: Hook }
  | { readonly kind: 'new'; readonly isEmail: boolean }

const nameOf = (hook: Hook) => hook.label ?? targetOf(hook)
const FORMATS = { standard: 'JSON', slack: 'Slack', email: 'E-mail' } as const
/** Micro-USD of a dollar. */
const MICRO = 1e6

/** The webhooks of the account, with the ways to create, test, change and delete them. */
export function Alerts({ hooks, curl }: { readonly hooks: readonly Hook[]; readonly curl: string }) {
  const [opened, setOpened] = useState<Opened>()
  const [secret, setSecret] = useState<ShownSecret>()
  const emails = useOwnEmails()
  const close = () => setOpened(undefined)
  return (
    <Card
      title="Alerts"
      about="Get notified before a budget runs out, when a balance is low, and when a job ends"
      actions={
        <span className="actions">
          {emails === undefined ? null : (
            <Button onClick={() => setOpened({ kind: 'new', isEmail: true })}>New e-mail alert</Button>
          )}
          <Button kind="primary" onClick={() => setOpened({ kind: 'new', isEmail: false })}>
            New webhook
          </Button>
        </span>
      }
      isFlush
    >
      <Table
        label="Webhooks"
        columns={columnsOf(setOpened)}
        rows={hooks}
        keyOf={({ id }) => id}
        curl={curl}
        empty={
          <Empty title="No alerts yet">
            <p>
              {emails === undefined
                ? 'Add a webhook for your own server or for a Slack channel.'
                : 'Add an e-mail alert, or a webhook for your own server or a Slack channel.'}
            </p>
          </Empty>
        }
      />
      {opened?.kind === 'new' ? (
        <EditWebhook
          hook={undefined}
          emails={opened.isEmail ? (emails ?? []) : undefined}
          onClose={close}
          onSecret={setSecret}
        />
      ) : null}
      {opened?.kind === 'edit' ? (
        <EditWebhook
          hook={opened.hook}
          emails={opened.hook.format === 'email' ? (emails ?? []) : undefined}
          onClose={close}
          onSecret={setSecret}
        />
      ) : null}
      {opened?.kind === 'deliveries' ? <Deliveries hook={opened.hook} onClose={close} /> : null}
      {opened?.kind === 'remove' ? <Remove hook={opened.hook} onClose={close} /> : null}
      {secret === undefined ? null : <SecretOnce shown={secret} onDone={() => setSecret(undefined)} />}
    </Card>
  )
}

/** The verified addresses of the reader. Undefined in a market without mail, and for a reader with a key. */
function useOwnEmails(): readonly string[] | undefined {
  const isOn = useViewer().kind === 'session'
  const { data } = useScreen(BuyerAccountDocument, {}, { isOn })
  if (!isOn || data?.service?.sendsMail !== true) return undefined
  return data.waysIn?.emails.map(({ email }) => email) ?? []
}

function columnsOf(open: (opened: Opened) => void): readonly Column<Hook>[] {
  return [
    {
      label: 'Alert',
      cell: (hook) => (
        <>
          {nameOf(hook)}
          {hook.label === null ? null : <span className="sub mono">{targetOf(hook)}</span>}
        </>
      ),
      text: ({ url }) => url,
    },
    {
      label: 'State',
      phone: 'plain',
      cell: ({ enabled }) => (enabled ? 'on' : <Badge>off</Badge>),
      text: ({ enabled }) => (enabled ? 'on' : 'off'),
    },
    {
      label: 'Format',
      cell: ({ format }) => FORMATS[format],
      text: ({ format }) => format,
    },
    { label: 'Events', cell: ({ events }) => <Tags names={events} />, text: ({ events }) => events.join(' ') },
    {
      label: 'Balance below',
      isNumber: true,
      cell: ({ lowBalanceUsd }) =>
        lowBalanceUsd === null ? <span className="muted">off</span> : money(Math.round(lowBalanceUsd * MICRO)),
      text: ({ lowBalanceUsd }) => lowBalanceUsd,
      unit: 'usd',
    },
    {
      label: 'Change',
      cell: (hook) => (
        <span className="actions">
          <Button
            onClick={() => open({ kind: 'deliveries', hook })}
            aria-label={`Test and deliveries of ${nameOf(hook)}`}
          >
            Test
          </Button>
          <Button onClick={() => open({ kind: 'edit', hook })} aria-label={`Edit ${nameOf(hook)}`}>
            Edit
          </Button>
          <Button kind="danger" onClick={() => open({ kind: 'remove', hook })} aria-label={`Delete ${nameOf(hook)}`}>
            Delete
          </Button>
        </span>
      ),
    },
  ]
}

type HookProps = { readonly hook: Hook; readonly onClose: () => void }

type Delivery = NonNullable<BuyerWebhookQuery['webhookDeliveries']>['edges'][number]['node']

const DELIVERY_COLUMNS: readonly Column<Delivery>[] = [
  timeColumn('When', ({ createdAt }) => createdAt),
  { label: 'Event', phone: 'title', cell: ({ event }) => <code>{event}</code>, text: ({ event }) => event },
  {
    label: 'Status',
    cell: ({ status, statusCode, error }) => (
      <>
        <Badge tone={status === 'delivered' ? 'good' : status === 'failed' ? 'bad' : 'info'}>{status}</Badge>
        <span className="sub">
          {error ?? (statusCode === null ? (status === 'delivered' ? 'sent' : 'waiting') : `answered ${statusCode}`)}
        </span>
      </>
    ),
    text: ({ status }) => status,
  },
  { label: 'Attempts', isNumber: true, cell: ({ attempts }) => attempts, text: ({ attempts }) => attempts },
]

/** The newest deliveries of a webhook, and a test. */
function Deliveries({ hook, onClose }: HookProps) {
  const say = useToast()
  const variables = { id: hook.id }
  const query = useScreen(BuyerWebhookDocument, variables)
  const test = useChange(PageTestWebhookDocument, {
    onDone: ({ testWebhook: { status, statusCode, error } }) =>
      say(
        status === 'delivered'
          ? hook.format === 'email'
            ? 'The test is sent. Check your inbox.'
            : `The test was delivered: ${statusCode}.`
          : `The test failed: ${error ?? statusCode ?? 'no answer'}.`,
      ),
  })
  return (
    <Dialog dialog={{ isOpen: true, close: onClose }} title={`Deliveries to ${nameOf(hook)}`} place="right">
      <p>
        <Button kind="primary" disabled={test.isPending} onClick={() => test.mutate({ id: hook.id })}>
          {test.isPending ? 'Sending …' : hook.format === 'email' ? 'Send test' : 'Send a test event'}
        </Button>
      </p>
      {test.error === null ? null : <ErrorNotice error={test.error} />}
      <Loaded query={query}>
        {({ webhookDeliveries }) => (
          <Table
            label="Deliveries"
            columns={DELIVERY_COLUMNS}
            rows={(webhookDeliveries?.edges ?? []).map(({ node }) => node)}
            keyOf={({ id }) => id}
            curl={curlOf(BuyerWebhookDocument, variables, true)}
            empty={
              <Empty title="Nothing sent yet">
                <p>
                  {hook.format === 'email' ? 'Send a test to see it arrive.' : 'Send a test event to see it arrive.'}
                </p>
              </Empty>
            }
          />
        )}
      </Loaded>
    </Dialog>
  )
}

function Remove({ hook, onClose }: HookProps) {
  const say = useToast()
  const remove = useChange(PageRemoveWebhookDocument, {
    onDone: () => {
      onClose()
      say(hook.format === 'email' ? 'The alert is deleted.' : 'The webhook is deleted.')
    },
  })
  return (
    <Confirm
      title={`Delete ${nameOf(hook)}?`}
      about={
        hook.format === 'email'
          ? 'You get no more e-mails of this alert. Its delivery log is deleted.'
          : 'The webhook gets no more events. Its delivery log and signing secret are deleted.'
      }
      action="Delete"
      isDanger
      isBusy={remove.isPending}
      error={remove.error}
      onDo={() => remove.mutate({ id: hook.id })}
      onClose={onClose}
    />
  )
}
