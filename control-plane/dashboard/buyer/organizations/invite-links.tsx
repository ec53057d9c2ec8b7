import type { FormEvent } from 'react'
import { useState } from 'react'
import { curlOf } from '#control-plane/dashboard/data/curl.ts'
import type { BuyerOrganizationQuery } from '#control-plane/dashboard/data/documents/buyer-organization.ts'
import { BuyerOrganizationDocument } from '#control-plane/dashboard/data/documents/buyer-organization.ts'
import {
  PageCreateInviteLinkDocument,
  PageRevokeInviteLinkDocument,
} from '#control-plane/dashboard/data/documents/invite-links.ts'
import { useChange } from '#control-plane/dashboard/data/use-query.ts'
import { Button } from '#control-plane/dashboard/ui/button.tsx'
import { Confirm } from '#control-plane/dashboard/ui/confirm.tsx'
import { Input, Select } from '#control-plane/dashboard/ui/fields.tsx'
import { Ago, Time } from '#control-plane/dashboard/ui/marks.tsx'
import { Card } from '#control-plane/dashboard/ui/page.tsx'
import type { ShownSecret } from '#control-plane/dashboard/ui/secret.tsx'
import { SecretOnce } from '#control-plane/dashboard/ui/secret.tsx'
import { ErrorNotice } from '#control-plane/dashboard/ui/states.tsx'
import type { Column } from '#control-plane/dashboard/ui/table.tsx'
import { Table } from '#control-plane/dashboard/ui/table.tsx'
import { useToast } from '#control-plane/dashboard/ui/toast.tsx'
import { rolesFor } from './roles.ts'

const EXPIRIES = [
  { value: '1', label: '1 day' },
  { value: '7', label: '7 days' },
  { value: '30', label: '30 days' },
] as const
const MAX_USES = 100

/** Makes an invite link, and shows it once. */
export function NewInviteLink({ id }: { readonly id: string }) {
  const [role, setRole] = useState('viewer')
  const [days, setDays] = useState('7')
  const [uses, setUses] = useState('1')
  const [shown, setShown] = useState<ShownSecret>()
  const create = useChange(PageCreateInviteLinkDocument, {
    onDone: ({ createInviteLink: { url } }) =>
      setShown({
        title: 'Invite link',
        secret: url,
        fileName: 'invite-link.txt',
        about: 'Send the link to the people you invite. They sign in with a passkey or a wallet, then confirm.',
      }),
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    create.mutate({ organization: id, role, maxUses: Number(uses), expiresInDays: Number(days) })
  }
  return (
    <Card title="Invite by link" about="For people with or without a wallet. Anyone who has the link can join.">
      <form className="form" onSubmit={submit}>
        <div className="form-row">
          <Select
            label="Role of new members"
            choices={rolesFor('admin')}
            value={role}
            onChange={({ currentTarget: { value } }) => setRole(value)}
          />
          <Select
            label="Expires in"
            choices={EXPIRIES}
            value={days}
            onChange={({ currentTarget: { value } }) => setDays(value)}
          />
          <Input
            label="People who can join"
            type="number"
            required
            min={1}
            max={MAX_USES}
            step={1}
            value={uses}
            onChange={({ currentTarget: { value } }) => setUses(value)}
          />
        </div>
        {create.error === null ? null : <ErrorNotice error={create.error} />}
        <div className="actions">
          <Button kind="primary" type="submit" disabled={create.isPending || uses === ''}>
            Create invite link
          </Button>
        </div>
      </form>
      {shown === undefined ? null : <SecretOnce shown={shown} onDone={() => setShown(undefined)} />}
    </Card>
  )
}

type InviteLink = NonNullable<BuyerOrganizationQuery['inviteLinks']>[number]
type Props = { readonly data: BuyerOrganizationQuery; readonly id: string }

/** The links of an organisation that still work. */
export function InviteLinks({ data, id }: Props) {
  const say = useToast()
  const [revoked, setRevoked] = useState<InviteLink>()
  const close = () => setRevoked(undefined)
  const revoke = useChange(PageRevokeInviteLinkDocument, {
    onDone: () => {
      close()
      say('Invite link revoked.')
    },
  })
  const rows = data.inviteLinks ?? []
  if (rows.length === 0) return null
  const columns: readonly Column<InviteLink>[] = [
    { label: 'Role', cell: ({ role }) => role, text: ({ role }) => role },
    {
      label: 'Joined',
      cell: ({ uses, maxUses }) => `${uses} of ${maxUses}`,
      text: ({ uses, maxUses }) => `${uses} of ${maxUses}`,
    },
    {
      label: 'Expires',
      cell: ({ expiresAt }) => <Ago at={expiresAt} />,
      text: ({ expiresAt }) => expiresAt,
      unit: 'time',
    },
    {
      label: 'Created',
      cell: ({ createdAt }) => <Time at={createdAt} />,
      text: ({ createdAt }) => createdAt,
      unit: 'time',
    },
    {
      label: 'Change',
      cell: (link) => (
        <Button
          kind="danger"
          aria-label={`Revoke the link for ${link.role}, ${link.id.slice(-4)}`}
          onClick={() => {
            revoke.reset()
            setRevoked(link)
          }}
        >
          Revoke
        </Button>
      ),
    },
  ]
  return (
    <Card title="Open invite links" about="A link ends too when its maker may no longer invite people." isFlush>
      <Table
        label="Open invite links"
        curl={curlOf(BuyerOrganizationDocument, { organization: id }, true)}
        columns={columns}
        rows={rows}
        keyOf={({ id: link }) => link}
        empty={null}
      />
      {revoked === undefined ? null : (
        <Confirm
          title="Revoke this invite link?"
          about="Nobody can join by the link any more. Members who joined by the link stay."
          lines={[{ name: 'People who can still join', now: revoked.maxUses - revoked.uses, after: 0 }]}
          action="Revoke link"
          isDanger
          isBusy={revoke.isPending}
          error={revoke.error}
          onDo={() => revoke.mutate({ organization: id, link: revoked.id })}
          onClose={close}
        />
      )}
    </Card>
  )
}
