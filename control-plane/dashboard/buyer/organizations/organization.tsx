import { Link } from '@tanstack/react-router'
import { MarketError } from '#control-plane/dashboard/data/client.ts'
import type { BuyerOrganizationQuery } from '#control-plane/dashboard/data/documents/buyer-organization.ts'
import { BuyerOrganizationDocument } from '#control-plane/dashboard/data/documents/buyer-organization.ts'
import { useViewer } from '#control-plane/dashboard/data/session.tsx'
import { useScreen } from '#control-plane/dashboard/data/use-query.ts'
import { Button } from '#control-plane/dashboard/ui/button.tsx'
import { useDialog } from '#control-plane/dashboard/ui/dialog.tsx'
import { Time } from '#control-plane/dashboard/ui/marks.tsx'
import { Card, Facts, Page } from '#control-plane/dashboard/ui/page.tsx'
import { Empty, Loaded } from '#control-plane/dashboard/ui/states.tsx'
import { RemoveMember } from './change-member.tsx'
import { lastOwnerOf, People } from './people.tsx'
import { Workspaces } from './workspaces.tsx'

/** The screen of an organisation: its members, its workspaces, and its settings. */
export function Organization({ id }: { readonly id: string }) {
  const query = useScreen(BuyerOrganizationDocument, { organization: id })
  const { user } = useViewer()
  const name = query.data?.organization?.name
  if (query.error instanceof MarketError && query.error.code === 'not_found') return <NotFound />
  return (
    <Page
      title={name ?? 'Organisation'}
      about="Members share its workspaces. Every change is in the audit."
      actions={
        <Link to="/buyer/organizations" search={{}}>
          All organisations
        </Link>
      }
    >
      <Loaded query={query}>
        {(data) =>
          data.organization === null ? null : (
            <>
              <People data={data} id={id} own={data.organization.role} user={user} />
              <Workspaces data={data} id={id} mayChange={['owner', 'admin'].includes(data.organization.role)} />
              <Settings data={data} organization={data.organization} user={user} />
            </>
          )
        }
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

type SettingsProps = {
  readonly data: BuyerOrganizationQuery
  readonly organization: NonNullable<BuyerOrganizationQuery['organization']>
  readonly user: string | null
}

/** The facts of an organisation, and the way out of it. */
function Settings({ data, organization: { id, name, role, createdAt }, user }: SettingsProps) {
  const leaving = useDialog()
  const self = (data.members ?? []).find((member) => member.id === user)
  const isLastOwner = self !== undefined && lastOwnerOf(data)(self)
  return (
    <Card title="Settings">
      <Facts
        facts={[
          ['Id', <code key="id">{id}</code>],
          ['Your role', role],
          ['Created', <Time key="at" at={createdAt} />],
        ]}
      />
      {self === undefined ? null : (
        <div className="way-out">
          <span>
            <strong>Leave {name}</strong>
            <span className="muted">
              {isLastOwner
                ? 'You are the only owner. Make another member an owner first.'
                : 'You lose access to its workspaces. Keys that you created there are revoked.'}
            </span>
          </span>
          <Button kind="danger" disabled={isLastOwner} onClick={leaving.open}>
            Leave the organisation
          </Button>
        </div>
      )}
      {self !== undefined && leaving.isOpen ? (
        <RemoveMember organization={id} member={self} isSelf onClose={leaving.close} />
      ) : null}
    </Card>
  )
}
