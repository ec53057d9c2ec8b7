import { Link, useNavigate } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { MarketError } from '#control-plane/dashboard/data/client.ts'
import type { PageOpenInviteLinkMutation } from '#control-plane/dashboard/data/documents/invite-links.ts'
import {
  PageAcceptInviteLinkDocument,
  PageOpenInviteLinkDocument,
} from '#control-plane/dashboard/data/documents/invite-links.ts'
import { short } from '#control-plane/dashboard/data/format.ts'
import { useViewer } from '#control-plane/dashboard/data/session.tsx'
import { useChange, useScreen } from '#control-plane/dashboard/data/use-query.ts'
import { chosenWorkspace, switchWorkspace } from '#control-plane/dashboard/data/workspace.ts'
import { aboutRole } from '#control-plane/dashboard/market/join/about-role.ts'
import { Button } from '#control-plane/dashboard/ui/button.tsx'
import { Ago } from '#control-plane/dashboard/ui/marks.tsx'
import { Card, Page } from '#control-plane/dashboard/ui/page.tsx'
import { ErrorNotice, Loaded, SkeletonScreen } from '#control-plane/dashboard/ui/states.tsx'
import { useToast } from '#control-plane/dashboard/ui/toast.tsx'

/** Keeps the secret of an invite link in this tab while the reader signs in. */
const KEPT = 'mkt_join'
/** The member of the history entry that holds the secret, so that a reload of this screen keeps it. */
const ENTRY = 'invite'
const SIGN_IN = '/sign-in'

/** The screen that an invite link opens. */
export function JoinPage() {
  const secret = useInviteSecret()
  const viewer = useViewer()
  return (
    <Page title="Join an organisation" about="An organisation shares workspaces, keys and credit among its members.">
      {secret === undefined ? <NoLink /> : null}
      {secret !== undefined && !viewer.isKnown ? <Waiting failure={viewer.failure} again={viewer.again} /> : null}
      {secret !== undefined && viewer.isKnown ? <Invited secret={secret} kind={viewer.kind} /> : null}
    </Page>
  )
}

function NoLink() {
  return (
    <NoInvitation
      title="This address has no invitation"
      about="An invitation is a link with a secret behind the #. The secret is missing here."
    />
  )
}

/** Tells a reader without a working link what to do. */
function NoInvitation({ title, about }: { readonly title: string; readonly about: string }) {
  return (
    <Card title={title} about={about}>
      <div className="form">
        <p>
          <strong>You received a link.</strong> Open it again, and copy all of it: the part behind # belongs to the
          link.
        </p>
        <p>
          <strong>You have no link.</strong> Ask an owner or admin of the organisation. On their organisation’s page,{' '}
          <strong>Invite people</strong> creates a link for you.
        </p>
        <div className="actions">
          <Link to="/buyer/organizations" search={{}} className="button">
            Open your organisations
          </Link>
        </div>
      </div>
    </Card>
  )
}

/**
 * The secret of the link that this tab opened, taken out of the address, so that it goes to no server. It belongs to
 * this entry of the history: who opens the screen again without a link has no invitation.
 */
function useInviteSecret(): string | undefined {
  const [secret, setSecret] = useState(() => sessionStorage.getItem(KEPT) ?? secretOfEntry())
  useEffect(() => {
    const keep = (given: string) => {
      history.replaceState({ ...history.state, [ENTRY]: given }, '', location.pathname)
      setSecret(given)
    }
    const take = () => {
      const given = location.hash.slice(1)
      if (given !== '') keep(given)
    }
    const waiting = sessionStorage.getItem(KEPT)
    sessionStorage.removeItem(KEPT)
    if (waiting !== null && location.hash === '') keep(waiting)
    take()
    // A link that is pasted over this screen's own address loads nothing anew.
    addEventListener('hashchange', take)
    return () => removeEventListener('hashchange', take)
  }, [])
  useEffect(
    () => () => {
      if (secret !== undefined && location.pathname === SIGN_IN) keepForReturn(secret)
    },
    [secret],
  )
  return secret
}

/** Keeps the secret until this tab opens the screen again: after a sign-in, or when the page is loaded anew. */
function keepForReturn(secret: string): void {
  sessionStorage.setItem(KEPT, secret)
}

function secretOfEntry(): string | undefined {
  const given: unknown = history.state?.[ENTRY]
  return typeof given === 'string' ? given : undefined
}

function Waiting({ failure, again }: { readonly failure: Error | null; readonly again: () => void }) {
  return failure === null ? <SkeletonScreen /> : <ErrorNotice error={failure} onRetry={again} />
}

function Invited({ secret, kind }: { readonly secret: string; readonly kind: string }) {
  const acting = chosenWorkspace()
  if (kind === 'nobody') {
    return (
      <Card title="You are invited" about="Sign in to see the invitation. You decide after you have seen it.">
        <Link to="/sign-in" search={{ to: '/join' }} className="button" data-kind="primary">
          Sign in or create an account
        </Link>
      </Card>
    )
  }
  if (kind !== 'session') {
    return (
      <Card title="This browser is signed in with a key" about="Only an account can join an organisation.">
        <Link to="/sign-in" search={{ to: '/join' }} className="button" data-kind="primary">
          Sign in with a passkey or a wallet
        </Link>
      </Card>
    )
  }
  if (acting !== undefined) {
    return (
      <Card title={`You act for ${acting.name}`} about="Switch to your personal account to see the invitation.">
        <Button
          kind="primary"
          onClick={() => {
            keepForReturn(secret)
            switchWorkspace(undefined)
          }}
        >
          Switch to your account
        </Button>
      </Card>
    )
  }
  return <Invitation secret={secret} />
}

function Invitation({ secret }: { readonly secret: string }) {
  const say = useToast()
  const navigate = useNavigate()
  const accept = useChange(PageAcceptInviteLinkDocument, {
    onDone: ({ acceptInviteLink: { organization, organizationName } }) => {
      say(`You are a member of ${organizationName}.`)
      void navigate({ to: '/buyer/organizations', search: { organization }, replace: true })
    },
  })
  // A link that was used up by this very join is not read again.
  const query = useScreen(PageOpenInviteLinkDocument, { secret }, { isOn: accept.isIdle || accept.isError })
  const { error } = query
  if (error instanceof MarketError && error.code === 'not_found')
    return <NoInvitation title="No invitation to open" about={error.message} />
  return (
    <Loaded query={query}>
      {({ openInviteLink: invite }) =>
        invite === null ? null : (
          <Question
            invite={invite}
            isBusy={accept.isPending}
            error={accept.error}
            onJoin={() => accept.mutate({ secret })}
          />
        )
      }
    </Loaded>
  )
}

type QuestionProps = {
  readonly invite: NonNullable<PageOpenInviteLinkMutation['openInviteLink']>
  readonly isBusy: boolean
  readonly error: Error | null
  readonly onJoin: () => void
}

function Question({ invite, isBusy, error, onJoin }: QuestionProps) {
  const { organization, organizationName, role, expiresAt, isMember } = invite
  const { wallet, user } = useViewer()
  const navigate = useNavigate()
  const decline = () => {
    void navigate({ to: '/buyer/organizations', search: {}, replace: true })
  }
  if (isMember) {
    return (
      <Card title={organizationName} about={`You are already a member of ${organizationName}.`}>
        <Link to="/buyer/organizations" search={{ organization }} className="button" data-kind="primary">
          Open {organizationName}
        </Link>
      </Card>
    )
  }
  return (
    <Card title={`Join ${organizationName}?`}>
      <div className="form">
        <p>
          You become a member with the role <strong>{role}</strong>: {aboutRole(role)}. Other members see your{' '}
          {wallet === null ? 'account ID' : 'wallet address'}. The invitation ends <Ago at={expiresAt} />.
        </p>
        <p className="muted">
          Signed in as <code>{short(wallet ?? user ?? '')}</code>.{' '}
          <Link to="/sign-in" search={{ to: '/join' }}>
            Use another account
          </Link>
        </p>
        {error === null ? null : <ErrorNotice error={error} />}
        <div className="actions">
          <Button kind="primary" disabled={isBusy} onClick={onJoin}>
            Join {organizationName}
          </Button>
          <Button disabled={isBusy} onClick={decline}>
            Decline
          </Button>
        </div>
      </div>
    </Card>
  )
}
