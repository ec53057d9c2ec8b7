import { Link } from '@tanstack/react-router'
import type { FormEvent } from 'react'
import { useState } from 'react'
import { MarketError } from '#control-plane/dashboard/data/client.ts'
import { curlOf } from '#control-plane/dashboard/data/curl.ts'
import {
  PageCreateInvitationDocument,
  PageWithdrawInvitationDocument,
} from '#control-plane/dashboard/data/documents/buyer.ts'
import type { BuyerOrganizationQuery } from '#control-plane/dashboard/data/documents/buyer-organization.ts'
import { BuyerOrganizationDocument } from '#control-plane/dashboard/data/documents/buyer-organization.ts'
import { short } from '#control-plane/dashboard/data/format.ts'
import { useViewer } from '#control-plane/dashboard/data/session.tsx'
import { useChange, useScreen } from '#control-plane/dashboard/data/use-query.ts'
import { Button } from '#control-plane/dashboard/ui/button.tsx'
import { Input, Select } from '#control-plane/dashboard/ui/fields.tsx'
import { Ago, Badge, Time } from '#control-plane/dashboard/ui/marks.tsx'
import { Card, Page } from '#control-plane/dashboard/ui/page.tsx'
import { Empty, ErrorNotice, Loaded } from '#control-plane/dashboard/ui/states.tsx'
import type { Column } from '#control-plane/dashboard/ui/table.tsx'
import { Table } from '#control-plane/dashboard/ui/table.tsx'
import { useToast } from '#control-plane/dashboard/ui/toast.tsx'
import { ChangeRole, RemoveMember } from './change-member.tsx'
import { InviteLinks, NewInviteLink } from './invite-links.tsx'
import { rolesFor } from './roles.ts'
import { NewWorkspace, Workspaces } from './workspaces.tsx'

type Member = NonNullable<BuyerOrganizationQuery['members']>[number]
type MemberDialog = { readonly what: 'role' | 'remove'; readonly member: Member }

/** The screen of an organisation: its members, its invitations, and the rights of each. */
export function Organization({ id }: { readonly id: string }) {
  const query = useScreen(BuyerOrganizationDocument, { organization: id })
  const name = query.data?.organization?.name
  if (query.error instanceof MarketError && query.error.code === 'not_found') return <NotFound />
  return (
    <Page
      title={name ?? 'Organisation'}
      about="Workspaces, members and invitations. Every change is in the audit."
      actions={
        <Link className="button" to="/buyer/organizations" search={{}}>
          All organisations
        </Link>
      }
    >
      <Loaded query={query}>
        {(data) => (data.organization === null ? null : <People data={data} id={id} own={data.organization.role} />)}
      </Loaded>
    </Page>
  )
}

function NotFound() {
  return (
    <Page title="Organisation">
      <Card title="Not found" isFlush>
        <Empty title="You are in no organisation with this id">
          <p>The organisation does not exist, or you are no longer a member.</p>
          <Link className="button" to="/buyer/organizations" search={{}}>
            All organisations
          </Link>
        </Empty>
      </Card>
    </Page>
  )
}

type PeopleProps = { readonly data: BuyerOrganizationQuery; readonly id: string; readonly own: string }

function People({ data, id, own }: PeopleProps) {
  const { user } = useViewer()
  const [memberDialog, setAsked] = useState<MemberDialog>()
  const close = () => setAsked(undefined)
  const mayChange = own === 'owner' || own === 'admin'
  return (
    <>
      <Workspaces data={data} id={id} mayChange={mayChange} />
      {mayChange ? <NewWorkspace organization={id} /> : null}
      <Card title="Members" isFlush>
        <Table
          label="Members"
          columns={membersColumns({ user, own, ask: setAsked })}
          rows={data.members ?? []}
          keyOf={({ id: member }) => member}
          curl={curlOf(BuyerOrganizationDocument, { organization: id }, true)}
          empty={null}
        />
      </Card>
      <Waiting data={data} id={id} mayChange={mayChange} />
      {mayChange ? <InviteLinks data={data} id={id} /> : null}
      {mayChange ? <NewInviteLink id={id} /> : null}
      {mayChange ? <Invite id={id} own={own} /> : null}
      {memberDialog?.what === 'role' ? (
        <ChangeRole organization={id} member={memberDialog.member} own={own} onClose={close} />
      ) : null}
      {memberDialog?.what === 'remove' ? (
        <RemoveMember
          organization={id}
          member={memberDialog.member}
          isSelf={memberDialog.member.id === user}
          onClose={close}
        />
      ) : null}
    </>
  )
}

/** A member's wallet, or the id of a member without one. */
const nameOf = ({ wallet, id }: Pick<Member, 'wallet' | 'id'>) => wallet ?? id

type ColumnsProps = {
  readonly user: string | null
  readonly own: string
  readonly ask: (memberDialog: MemberDialog) => void
}

function membersColumns({ user, own, ask }: ColumnsProps): readonly Column<Member>[] {
  const mayChange = (member: Member) => own === 'owner' || (own === 'admin' && member.role !== 'owner')
  return [
    {
      label: 'Member',
      cell: (member) => (
        <>
          <code className="nowrap" title={nameOf(member)}>
            {short(nameOf(member))}
          </code>{' '}
          {member.id === user ? <Badge tone="info">you</Badge> : null}
        </>
      ),
      text: nameOf,
    },
    { label: 'Role', cell: ({ role }) => role, text: ({ role }) => role },
    {
      label: 'Since',
      cell: ({ createdAt }) => <Time at={createdAt} />,
      text: ({ createdAt }) => createdAt,
      unit: 'time',
    },
    {
      label: 'Change',
      cell: (member) => {
        const isSelf = member.id === user
        if (!mayChange(member) && !isSelf) return null
        return (
          <span className="actions">
            {mayChange(member) ? (
              <Button
                onClick={() => ask({ what: 'role', member })}
                aria-label={`Change the role of ${short(nameOf(member))}`}
              >
                Role
              </Button>
            ) : null}
            {mayChange(member) || isSelf ? (
              <Button
                kind="danger"
                onClick={() => ask({ what: 'remove', member })}
                aria-label={isSelf ? 'Leave the organisation' : `Remove ${short(nameOf(member))}`}
              >
                {isSelf ? 'Leave' : 'Remove'}
              </Button>
            ) : null}
          </span>
        )
      },
    },
  ]
}

type Invitation = NonNullable<BuyerOrganizationQuery['invitations']>[number]
type WaitingProps = { readonly data: BuyerOrganizationQuery; readonly id: string; readonly mayChange: boolean }

function Waiting({ data, id, mayChange }: WaitingProps) {
  const say = useToast()
  const withdraw = useChange(PageWithdrawInvitationDocument, { onDone: () => say('The invitation is withdrawn.') })
  const rows = data.invitations ?? []
  if (rows.length === 0) return null
  const columns: readonly Column<Invitation>[] = [
    {
      label: 'Wallet',
      cell: ({ wallet }) => (
        <code className="nowrap" title={wallet}>
          {short(wallet)}
        </code>
      ),
      text: ({ wallet }) => wallet,
    },
    { label: 'Role', cell: ({ role }) => role, text: ({ role }) => role },
    {
      label: 'Expires',
      cell: ({ expiresAt }) => <Ago at={expiresAt} />,
      text: ({ expiresAt }) => expiresAt,
      unit: 'time',
    },
    ...(mayChange
      ? [
          {
            label: 'Change',
            cell: ({ id: invitation, wallet }: Invitation) => (
              <Button
                disabled={withdraw.isPending}
                aria-label={`Withdraw the invitation of ${short(wallet)}`}
                onClick={() => withdraw.mutate({ organization: id, invitation })}
              >
                Withdraw
              </Button>
            ),
          },
        ]
      : []),
  ]
  return (
    <Card title="Pending invitations" about="The invited person accepts after signing in with this wallet" isFlush>
      {withdraw.error === null ? null : <ErrorNotice error={withdraw.error} />}
      <Table
        label="Pending invitations"
        curl={curlOf(BuyerOrganizationDocument, { organization: id }, true)}
        columns={columns}
        rows={rows}
        keyOf={({ id: invitation }) => invitation}
        empty={null}
      />
    </Card>
  )
}

function Invite({ id, own }: { readonly id: string; readonly own: string }) {
  const say = useToast()
  const [wallet, setWallet] = useState('')
  const [role, setRole] = useState('viewer')
  const invite = useChange(PageCreateInvitationDocument, {
    onDone: () => {
      setWallet('')
      say('Invited. The wallet can accept within a week, under Organisations.')
    },
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    invite.mutate({ organization: id, wallet: wallet.trim(), role })
  }
  return (
    <Card title="Invite a wallet">
      <form className="form" onSubmit={submit}>
        <div className="form-row">
          <Input
            label="Wallet address"
            required
            pattern="\s*0x[0-9a-fA-F]{40}\s*"
            title="0x and 40 hexadecimal digits"
            autoComplete="off"
            value={wallet}
            onChange={({ currentTarget: { value } }) => setWallet(value)}
          />
          <Select
            label="Role"
            choices={rolesFor(own)}
            value={role}
            onChange={({ currentTarget: { value } }) => setRole(value)}
          />
        </div>
        {invite.error === null ? null : <ErrorNotice error={invite.error} />}
        <div className="actions">
          <Button kind="primary" type="submit" disabled={invite.isPending || wallet.trim() === ''}>
            Invite
          </Button>
        </div>
      </form>
    </Card>
  )
}
