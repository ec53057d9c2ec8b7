import { useMutation } from '@tanstack/react-query'
import type { FormEvent } from 'react'
import { useState } from 'react'
import { call } from '#control-plane/dashboard/data/client.ts'
import { curlOf } from '#control-plane/dashboard/data/curl.ts'
import type { BuyerAccountQuery } from '#control-plane/dashboard/data/documents/buyer-account.ts'
import { BuyerAccountDocument } from '#control-plane/dashboard/data/documents/buyer-account.ts'
import { readEmailLink, sendEmailLink, useEmailCode } from '#control-plane/dashboard/data/email-links.ts'
import { Button } from '#control-plane/dashboard/ui/button.tsx'
import { Confirm } from '#control-plane/dashboard/ui/confirm.tsx'
import { Input } from '#control-plane/dashboard/ui/fields.tsx'
import { Ago } from '#control-plane/dashboard/ui/marks.tsx'
import { Card } from '#control-plane/dashboard/ui/page.tsx'
import { Empty, Notice } from '#control-plane/dashboard/ui/states.tsx'
import type { Column } from '#control-plane/dashboard/ui/table.tsx'
import { Table, timeColumn } from '#control-plane/dashboard/ui/table.tsx'
import { useToast } from '#control-plane/dashboard/ui/toast.tsx'
import { useWaysChange } from './use-ways-change.ts'

type Email = NonNullable<BuyerAccountQuery['waysIn']>['emails'][number]

/** The addresses that sign in: added by a link, and removed here. */
export function Emails({ emails, isOnly }: { readonly emails: readonly Email[]; readonly isOnly: boolean }) {
  const say = useToast()
  const [asked, setAsked] = useState<Email>()
  const confirm = useWaysChange(async (code: string) => {
    const { email } = await readEmailLink(code)
    await call('POST', '/v1/auth/emails', { code })
    say(`${email} is confirmed. You can sign in with it.`)
  })
  useEmailCode((code) => confirm.mutate(code))
  return (
    <Card
      title="E-mail addresses"
      about={isOnly && emails.length === 1 ? ONLY : 'We send a link to sign you in.'}
      isFlush
    >
      {confirm.error === null ? null : <Notice tone="bad">{confirm.error.message}</Notice>}
      <Table
        label="E-mail addresses"
        columns={columnsOf(isOnly, setAsked)}
        rows={emails}
        keyOf={({ id }) => id}
        curl={curlOf(BuyerAccountDocument, {}, true)}
        empty={
          <Empty title="No e-mail addresses">
            <p>Add one to sign in on any device.</p>
          </Empty>
        }
      />
      <NewEmail />
      {asked === undefined ? null : <Remove asked={asked} onClose={() => setAsked(undefined)} />}
    </Card>
  )
}

const ONLY = 'This address is the only way in. Add a passkey, too.'

function columnsOf(isOnly: boolean, ask: (email: Email) => void): readonly Column<Email>[] {
  return [
    { label: 'Address', cell: ({ email }) => email, text: ({ email }) => email },
    timeColumn('Added', ({ createdAt }) => createdAt),
    {
      label: 'Last used',
      cell: ({ lastUsedAt }) => (lastUsedAt === null ? 'Not used yet' : <Ago at={lastUsedAt} />),
      text: ({ lastUsedAt }) => lastUsedAt,
      unit: 'time',
    },
    {
      label: 'Change',
      cell: (email) => (
        <Button kind="danger" disabled={isOnly} aria-label={`Remove ${email.email}`} onClick={() => ask(email)}>
          Remove
        </Button>
      ),
    },
  ]
}

function NewEmail() {
  const say = useToast()
  const [email, setEmail] = useState('')
  const send = useMutation({
    mutationFn: async (typed: string) => {
      await sendEmailLink(typed, 'add')
      say(`We sent a link to ${typed}. Open the link in this browser.`)
      setEmail('')
    },
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    send.mutate(email.trim())
  }
  return (
    <form className="form card-body" onSubmit={submit}>
      {send.error === null ? null : <Notice tone="bad">{send.error.message}</Notice>}
      <Input
        label="New address"
        hint="We send a link to confirm it"
        type="email"
        autoComplete="email"
        required
        maxLength={254}
        value={email}
        onChange={({ currentTarget: { value } }) => setEmail(value)}
      />
      <div>
        <Button type="submit" disabled={send.isPending || email.trim() === ''}>
          Send a link
        </Button>
      </div>
    </form>
  )
}

function Remove({ asked, onClose }: { readonly asked: Email; readonly onClose: () => void }) {
  const say = useToast()
  const remove = useWaysChange(async (id: string) => {
    await call('DELETE', `/v1/auth/emails/${id}`)
    onClose()
    say('Address removed. Other browsers are signed out.')
  })
  return (
    <Confirm
      title={`Remove ${asked.email}?`}
      about="You cannot sign in with this address any more, its alerts stop, and other browsers are signed out."
      action="Remove"
      isDanger
      isBusy={remove.isPending}
      error={remove.error}
      onDo={() => remove.mutate(asked.id)}
      onClose={onClose}
    />
  )
}
