import { Link, useLocation } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useEffect, useState } from 'react'
import { isPassing } from '#control-plane/dashboard/data/client.ts'
import type { PageSide } from '#control-plane/dashboard/data/session.tsx'
import { isOfSide, useViewer } from '#control-plane/dashboard/data/session.tsx'
import { BookPicture } from './book-picture.tsx'
import { Card, Page } from './page.tsx'
import { ErrorNotice, Notice, SignInBeside, SkeletonScreen } from './states.tsx'

const NAMES = { buyer: 'a buyer', seller: 'a seller', operator: 'an operator' } as const
const SESSIONS = {
  nobody: 'nothing',
  session: 'your account',
  buyer: 'a buyer key',
  seller: 'a seller key',
  org: 'an organisation key',
  operator: 'an operator key',
} as const

/** The use of each side, for readers who have no account, and a page that needs none. */
const SIDES = {
  buyer: {
    points: [
      ['One API.', 'Call every model at the best price on sale, with the clients you have.'],
      ['Your budget.', 'Set a cap for each key, and see every call with its cost.'],
      ['Failures are free.', 'A call without an answer costs nothing.'],
    ],
    more: { href: '/models', label: 'Compare prices' },
  },
  seller: {
    points: [
      ['Your capacity.', 'List a provider key at a discount, model by model.'],
      ['Your limits.', 'Set daily caps, and pause an offer at any time. The key stays encrypted.'],
      ['Automatic payouts.', 'Earnings go to your wallet in USDC.'],
    ],
    more: { href: '/fees', label: 'See the fee' },
  },
  operator: {
    points: [
      ['The money.', 'Every entry of the ledger, and the check of its invariants.'],
      ['The market.', 'Offers, list prices, incidents and switches.'],
      ['The customers.', 'Balances, calls and refunds. Every change is audited.'],
    ],
    more: { href: '/docs/operate', label: 'Read the guide' },
  },
} as const

/** True after a session ended by itself on this screen. A sign-out resets it. */
function useWasIn(side: PageSide): boolean {
  const viewer = useViewer()
  const [isShown, setShown] = useState(false)
  const isIn = isOfSide(viewer, side)
  const isOther = viewer.kind !== 'nobody' && !isIn
  useEffect(() => {
    if (isIn) setShown(true)
    else if (!viewer.isKnown || isOther) setShown(false)
  }, [isIn, isOther, viewer.isKnown])
  return isShown && viewer.isKnown && viewer.kind === 'nobody'
}

function Ended() {
  return (
    <div className="before-page">
      <Notice tone="bad">
        <span>This session has ended, or its key was revoked. What you typed is still here.</span>
        <SignInBeside />
      </Notice>
    </div>
  )
}

/**
 * Shows a screen to readers with access to it, and the sign-in to everybody else. Typed text stays when a session ends.
 */
export function Gate({
  side,
  title,
  children,
}: {
  readonly side: PageSide
  readonly title: string
  readonly children: ReactNode
}) {
  const viewer = useViewer()
  const { href } = useLocation()
  const wasIn = useWasIn(side)
  if (isOfSide(viewer, side) || wasIn) {
    return (
      <>
        {wasIn ? <Ended /> : null}
        {children}
      </>
    )
  }
  if (!viewer.isKnown) {
    return (
      <Page title={title}>
        {viewer.failure === null ? null : <ErrorNotice error={viewer.failure} onRetry={viewer.again} />}
        {viewer.failure === null || isPassing(viewer.failure) ? <SkeletonScreen /> : null}
      </Page>
    )
  }
  const { points, more } = SIDES[side]
  return (
    <Page
      title={title}
      about={
        viewer.kind === 'nobody'
          ? `Sign in as ${NAMES[side]} to see this page.`
          : `This page is for ${NAMES[side]}. You are signed in with ${SESSIONS[viewer.kind]}.`
      }
    >
      <section className="card intro gate" aria-label="Sign in">
        <div>
          <ul>
            {points.map(([name, text]) => (
              <li key={name}>
                <strong>{name}</strong> {text}
              </li>
            ))}
          </ul>
          <div className="actions">
            <Link to="/sign-in" search={{ to: href }} className="button" data-kind="primary">
              {`Sign in as ${NAMES[side]}`}
            </Link>
            <a href={more.href} className="button">
              {more.label}
            </a>
          </div>
        </div>
        <BookPicture />
      </section>
    </Page>
  )
}

/** The content of a screen that belongs to an account, for a reader who is signed in with a key. */
export function NeedsAccount({ children }: { readonly children: ReactNode }) {
  const { href } = useLocation()
  const { kind } = useViewer()
  return (
    <Card title={`You are signed in with ${SESSIONS[kind]}`}>
      <div className="form">
        <p>{children}</p>
        <div className="actions">
          <Link to="/sign-in" search={{ to: href }} className="button" data-kind="primary">
            Sign in with a passkey or a wallet
          </Link>
        </div>
      </div>
    </Card>
  )
}
