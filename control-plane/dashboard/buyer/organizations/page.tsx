import { Link, useSearch } from '@tanstack/react-router'
import type { FormEvent } from 'react'
import { useState } from 'react'
import { curlOf } from '#control-plane/dashboard/data/curl.ts'
import {
  PageAcceptInvitationDocument,
  PageCreateOrganizationDocument,
  PageDeclineInvitationDocument,
} from '#control-plane/dashboard/data/documents/buyer.ts'
import type { BuyerOrganizationsQuery } from '#control-plane/dashboard/data/documents/buyer-organizations.ts'
import { BuyerOrganizationsDocument } from '#control-plane/dashboard/data/documents/buyer-organizations.ts'
import { useViewer } from '#control-plane/dashboard/data/session.tsx'
import { useChange, useScreen } from '#control-plane/dashboard/data/use-query.ts'
import { Button } from '#control-plane/dashboard/ui/button.tsx'
import { Confirm } from '#control-plane/dashboard/ui/confirm.tsx'
import type { DialogState } from '#control-plane/dashboard/ui/dialog.tsx'
import { Dialog, useDialog } from '#control-plane/dashboard/ui/dialog.tsx'
import { Input } from '#control-plane/dashboard/ui/fields.tsx'
import { Gate } from '#control-plane/dashboard/ui/gate.tsx'
import { Ago } from '#control-plane/dashboard/ui/marks.tsx'
import { Monogram } from '#control-plane/dashboard/ui/monogram.tsx'
import { NeedsAccount } from '#control-plane/dashboard/ui/needs-account.tsx'
import { Card, Page } from '#control-plane/dashboard/ui/page.tsx'
import { Empty, ErrorNotice, Loaded } from '#control-plane/dashboard/ui/states.tsx'
import type { Column } from '#control-plane/dashboard/ui/table.tsx'
import { Table, timeColumn } from '#control-plane/dashboard/ui/table.tsx'
import { useToast } from '#control-plane/dashboard/ui/toast.tsx'
import { Organization } from './organization.tsx'

const ABOUT = 'Share workspaces with other people. Each workspace has its own balance, keys and caps.'

export function OrganizationsPage() {
  return (
    <Gate side="buyer" title="Organisations">
      <OfWallet />
    </Gate>
  )
}

/** Organisations belong to accounts. A key of one side has none. */
function OfWallet() {
  const { kind } = useViewer()
  const { organization } = useSearch({ from: '/buyer/organizations' })
  if (kind === 'session') return organization === undefined ? <Organizations /> : <Organization id={organization} />
  return (
    <Page title="Organisations" about={ABOUT}>
      <NeedsAccount>
        A key spends for one account and sees no organisations. Your account lists the organisations that you are in.
      </NeedsAccount>
    </Page>
  )
}

function Organizations() {
  const query = useScreen(BuyerOrganizationsDocument, {})
  const curl = curlOf(BuyerOrganizationsDocument, {}, true)
  const making = useDialog()
  return (
    <Page
      title="Organisations"
      about={ABOUT}
      actions={
        <Button kind="primary" onClick={making.open}>
          New organisation
        </Button>
      }
    >
      <Loaded query={query}>
        {(data) => (
          <>
            <Invitations data={data} curl={curl} />
            <Card title="Your organisations" isFlush>
              <Table
                label="Organisations"
                columns={COLUMNS}
                rows={data.organizations ?? []}
                keyOf={({ id }) => id}
                curl={curl}
                empty={
                  <Empty title="You are in no organisation">
                    <p>Create one, or ask a member of an organisation for an invite link.</p>
                  </Empty>
                }
              />
            </Card>
          </>
        )}
      </Loaded>
      <NewOrganization dialog={making} />
    </Page>
  )
}

type Row = NonNullable<BuyerOrganizationsQuery['organizations']>[number]

const COLUMNS: readonly Column<Row>[] = [
  {
    label: 'Name',
    cell: ({ id, name }) => (
      <span className="named">
        <Monogram name={name} />
        <span>
          <Link to="/buyer/organizations" search={{ organization: id }}>
            {name}
          </Link>
          <span className="sub mono">{id}</span>
        </span>
      </span>
    ),
    text: ({ name }) => name,
    file: [
      { label: 'Name', text: ({ name }) => name },
      { label: 'Id', text: ({ id }) => id },
    ],
  },
  { label: 'Your role', phone: 'plain', cell: ({ role }) => role, text: ({ role }) => role },
  timeColumn('Since', ({ createdAt }) => createdAt),
]

type Invitation = NonNullable<BuyerOrganizationsQuery['ownInvitations']>[number]

function Invitations({ data, curl }: { readonly data: BuyerOrganizationsQuery; readonly curl: string }) {
  const say = useToast()
  const accept = useChange(PageAcceptInvitationDocument, { onDone: () => say('You are a member now.') })
  const [declined, setDeclined] = useState<Invitation>()
  const decline = useChange(PageDeclineInvitationDocument, {
    onDone: () => {
      setDeclined(undefined)
      say('Invitation declined.')
    },
  })
  const rows = data.ownInvitations ?? []
  if (rows.length === 0) return null
  const columns: readonly Column<Invitation>[] = [
    {
      label: 'From',
      cell: ({ organizationName }) => organizationName,
      text: ({ organizationName }) => organizationName,
    },
    { label: 'Role', phone: 'lead', cell: ({ role }) => role, text: ({ role }) => role },
    {
      label: 'Expires',
      cell: ({ expiresAt }) => <Ago at={expiresAt} />,
      text: ({ expiresAt }) => expiresAt,
      unit: 'time',
    },
    {
      label: 'Answer',
      cell: (invitation) => (
        <span className="actions">
          <Button
            kind="primary"
            disabled={accept.isPending}
            aria-label={`Accept the invitation of ${invitation.organizationName}`}
            onClick={() => accept.mutate({ invitation: invitation.id })}
          >
            Accept
          </Button>
          <Button
            aria-label={`Decline the invitation of ${invitation.organizationName}`}
            onClick={() => setDeclined(invitation)}
          >
            Decline
          </Button>
        </span>
      ),
    },
  ]
  return (
    <Card title="Invitations" isFlush>
      {accept.error === null ? null : <ErrorNotice error={accept.error} />}
      <Table label="Invitations" columns={columns} rows={rows} keyOf={({ id }) => id} curl={curl} empty={null} />
      {declined === undefined ? null : (
        <Confirm
          title={`Decline the invitation of ${declined.organizationName}?`}
          about="The invitation ends. To join later, ask a member for a new one."
          action="Decline"
          isDanger
          isBusy={decline.isPending}
          error={decline.error}
          onDo={() => decline.mutate({ invitation: declined.id })}
          onClose={() => setDeclined(undefined)}
        />
      )}
    </Card>
  )
}

function NewOrganization({ dialog }: { readonly dialog: DialogState }) {
  const say = useToast()
  const [name, setName] = useState('')
  const create = useChange(PageCreateOrganizationDocument, {
    onDone: () => {
      setName('')
      dialog.close()
      say('Organisation created. You own it.')
    },
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    create.mutate({ name: name.trim() })
  }
  return (
    <Dialog dialog={dialog} title="New organisation">
      <form className="form" onSubmit={submit}>
        <Input
          label="Name"
          required
          maxLength={200}
          value={name}
          onChange={({ currentTarget: { value } }) => setName(value)}
        />
        {create.error === null ? null : <ErrorNotice error={create.error} />}
        <div className="dialog-foot">
          <Button onClick={dialog.close}>Cancel</Button>
          <Button kind="primary" type="submit" disabled={create.isPending || name.trim() === ''}>
            Create
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
