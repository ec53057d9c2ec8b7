import { useState } from 'react'
import { curlOf } from '#control-plane/dashboard/data/curl.ts'
import { PageWithdrawInvitationDocument } from '#control-plane/dashboard/data/documents/buyer.ts'
import type { BuyerOrganizationQuery } from '#control-plane/dashboard/data/documents/buyer-organization.ts'
import { BuyerOrganizationDocument } from '#control-plane/dashboard/data/documents/buyer-organization.ts'
import { PageRevokeInviteLinkDocument } from '#control-plane/dashboard/data/documents/invite-links.ts'
import { short } from '#control-plane/dashboard/data/format.ts'
import { useChange } from '#control-plane/dashboard/data/use-query.ts'
import { Button } from '#control-plane/dashboard/ui/button.tsx'
import { Confirm } from '#control-plane/dashboard/ui/confirm.tsx'
import { useDialog } from '#control-plane/dashboard/ui/dialog.tsx'
import { Ago, Badge, Time } from '#control-plane/dashboard/ui/marks.tsx'
import { Card } from '#control-plane/dashboard/ui/page.tsx'
import type { RowAction } from '#control-plane/dashboard/ui/row-menu.tsx'
import { RowMenu } from '#control-plane/dashboard/ui/row-menu.tsx'
import type { Column } from '#control-plane/dashboard/ui/table.tsx'
import { Table } from '#control-plane/dashboard/ui/table.tsx'
import { useToast } from '#control-plane/dashboard/ui/toast.tsx'
import { budgetFor, SetBudget, Spent } from './budget.tsx'
import { ChangeRole, RemoveMember } from './change-member.tsx'
import { InvitePeople } from './invite-people.tsx'

type Member = NonNullable<BuyerOrganizationQuery['members']>[number]
type Invitation = NonNullable<BuyerOrganizationQuery['invitations']>[number]
type InviteLink = NonNullable<BuyerOrganizationQuery['inviteLinks']>[number]

/** A member, an invitation that waits, or an invite link that still works. */
type Person =
  | { readonly kind: 'member'; readonly of: Member }
  | { readonly kind: 'invitation'; readonly of: Invitation }
  | { readonly kind: 'link'; readonly of: InviteLink }
type PersonDialog = { readonly what: 'role' | 'budget' | 'end'; readonly person: Person }

type Props = {
  readonly data: BuyerOrganizationQuery
  readonly id: string
  readonly own: string
  readonly user: string | null
}

/** All people of an organisation in one table: members and invited people. */
export function People({ data, id, own, user }: Props) {
  const [asked, setAsked] = useState<PersonDialog>()
  const inviting = useDialog()
  const close = () => setAsked(undefined)
  const mayChange = own === 'owner' || own === 'admin'
  const people: readonly Person[] = [
    ...(data.members ?? []).map((of): Person => ({ kind: 'member', of })),
    ...(data.invitations ?? []).map((of): Person => ({ kind: 'invitation', of })),
    ...(data.inviteLinks ?? []).map((of): Person => ({ kind: 'link', of })),
  ]
  return (
    <Card
      title="Members"
      isFlush
      actions={
        mayChange ? (
          <Button kind="primary" onClick={inviting.open}>
            Invite people
          </Button>
        ) : undefined
      }
    >
      <Table
        label="Members"
        columns={columnsOf({ data, user, own, isLastOwner: lastOwnerOf(data), ask: setAsked })}
        rows={people}
        keyOf={({ of }) => of.id}
        curl={curlOf(BuyerOrganizationDocument, { organization: id }, true)}
        empty={null}
      />
      {inviting.isOpen ? <InvitePeople id={id} own={own} onClose={inviting.close} /> : null}
      {asked === undefined ? null : <Asked asked={asked} data={data} id={id} own={own} onClose={close} />}
    </Card>
  )
}

/** True for the only owner, whom an organisation keeps. */
export function lastOwnerOf({ members }: BuyerOrganizationQuery): (member: Pick<Member, 'role'>) => boolean {
  const owners = (members ?? []).filter(({ role }) => role === 'owner').length
  return ({ role }) => role === 'owner' && owners === 1
}

/** A person as the table and its dialogs name one: by wallet, or by id. */
function nameOf({ kind, of }: Person): string {
  if (kind === 'link') return `Invite link ${of.id.slice(-4)}`
  return short(kind === 'member' ? (of.wallet ?? of.id) : of.wallet)
}

type ColumnsProps = {
  readonly data: BuyerOrganizationQuery
  readonly user: string | null
  readonly own: string
  readonly isLastOwner: (member: Pick<Member, 'role'>) => boolean
  readonly ask: (dialog: PersonDialog) => void
}

const KEEPS_OWNER = 'An organisation keeps at least one owner.'

function columnsOf({ data, user, own, isLastOwner, ask }: ColumnsProps): readonly Column<Person>[] {
  const mayChange = (role: string) => own === 'owner' || (own === 'admin' && role !== 'owner')
  const budgetOf = ({ kind, of }: Person) => (kind === 'member' ? budgetFor(data, of.id) : undefined)
  const actionsOf = (person: Person): readonly RowAction[] => {
    const end = (label: string): RowAction => ({ label, isDanger: true, onDo: () => ask({ what: 'end', person }) })
    const budget: readonly RowAction[] =
      budgetOf(person) !== undefined && (own === 'owner' || own === 'admin')
        ? [{ label: 'Set budget', onDo: () => ask({ what: 'budget', person }) }]
        : []
    if (!mayChange(person.of.role)) return budget
    if (person.kind === 'invitation') return [end('Withdraw invitation')]
    if (person.kind === 'link') return [end('Revoke link')]
    const refusal = isLastOwner(person.of) ? KEEPS_OWNER : undefined
    const role: RowAction = { label: 'Change role', refusal, onDo: () => ask({ what: 'role', person }) }
    // A member leaves in the settings.
    return person.of.id === user ? [role, ...budget] : [role, ...budget, { ...end('Remove'), refusal }]
  }
  return [
    {
      label: 'Member',
      cell: (person) => (
        <>
          {person.kind === 'link' ? (
            nameOf(person)
          ) : (
            <code className="nowrap" title={person.of.wallet ?? person.of.id}>
              {nameOf(person)}
            </code>
          )}{' '}
          {person.of.id === user ? <span className="muted">you</span> : null}
        </>
      ),
      text: (person) => (person.kind === 'link' ? nameOf(person) : (person.of.wallet ?? person.of.id)),
    },
    { label: 'Role', phone: 'plain', cell: ({ of }) => of.role, text: ({ of }) => of.role },
    {
      label: 'State',
      cell: (person) => <StateOf person={person} />,
      text: ({ kind }) => (kind === 'member' ? 'member' : 'invited'),
    },
    {
      label: 'Spent this month',
      cell: (person) => <Spent budget={budgetOf(person)} />,
      text: (person) => budgetOf(person)?.spentUsdc ?? '',
    },
    { label: 'Since', cell: ({ of }) => <Time at={of.createdAt} />, text: ({ of }) => of.createdAt, unit: 'time' },
    {
      label: 'Change',
      cell: (person) => {
        const actions = actionsOf(person)
        return actions.length === 0 ? null : <RowMenu of={nameOf(person)} actions={actions} />
      },
    },
  ]
}

function StateOf({ person }: { readonly person: Person }) {
  if (person.kind === 'member') return <span className="muted">member</span>
  return (
    <>
      <Badge tone="info">invited</Badge>
      <span className="sub">
        {person.kind === 'link' ? `${person.of.uses} of ${person.of.maxUses} joined, expires ` : 'expires '}
        <Ago at={person.of.expiresAt} />
      </span>
    </>
  )
}

type AskedProps = {
  readonly asked: PersonDialog
  readonly data: BuyerOrganizationQuery
  readonly id: string
  readonly own: string
  readonly onClose: () => void
}

function Asked({ asked: { what, person }, data, id, own, onClose }: AskedProps) {
  const budget = budgetFor(data, person.of.id)
  if (person.kind === 'invitation') return <Withdraw id={id} invitation={person.of} onClose={onClose} />
  if (person.kind === 'link') return <Revoke id={id} link={person.of} onClose={onClose} />
  if (what === 'budget' && budget !== undefined) {
    return <SetBudget organization={id} budget={budget} name={nameOf(person)} onClose={onClose} />
  }
  if (what === 'role') return <ChangeRole organization={id} member={person.of} own={own} onClose={onClose} />
  return <RemoveMember organization={id} member={person.of} isSelf={false} onClose={onClose} />
}

type WithdrawProps = { readonly id: string; readonly invitation: Invitation; readonly onClose: () => void }

function Withdraw({ id, invitation, onClose }: WithdrawProps) {
  const say = useToast()
  const withdraw = useChange(PageWithdrawInvitationDocument, {
    onDone: () => {
      onClose()
      say('Invitation withdrawn.')
    },
  })
  return (
    <Confirm
      title={`Withdraw the invitation of ${short(invitation.wallet)}?`}
      about="The wallet cannot join with it any more. You can invite the wallet again."
      lines={[{ name: 'Invitation', now: `as ${invitation.role}`, after: 'none' }]}
      action="Withdraw invitation"
      isDanger
      isBusy={withdraw.isPending}
      error={withdraw.error}
      onDo={() => withdraw.mutate({ organization: id, invitation: invitation.id })}
      onClose={onClose}
    />
  )
}

type RevokeProps = { readonly id: string; readonly link: InviteLink; readonly onClose: () => void }

function Revoke({ id, link, onClose }: RevokeProps) {
  const say = useToast()
  const revoke = useChange(PageRevokeInviteLinkDocument, {
    onDone: () => {
      onClose()
      say('Invite link revoked.')
    },
  })
  return (
    <Confirm
      title="Revoke this invite link?"
      about="No one can join by the link any more. Members who joined by the link stay."
      lines={[{ name: 'People who can still join', now: link.maxUses - link.uses, after: 0 }]}
      action="Revoke link"
      isDanger
      isBusy={revoke.isPending}
      error={revoke.error}
      onDo={() => revoke.mutate({ organization: id, link: link.id })}
      onClose={onClose}
    />
  )
}
