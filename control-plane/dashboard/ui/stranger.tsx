import { Link, useLocation } from '@tanstack/react-router'
import type { PageSide } from '#control-plane/dashboard/data/session.tsx'
import { useViewer } from '#control-plane/dashboard/data/session.tsx'
import { BookPicture } from './book-picture.tsx'
import { Page } from './page.tsx'
import { SESSIONS } from './sessions.ts'

const NAMES = { buyer: 'a buyer', seller: 'a seller', operator: 'an operator' } as const

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

/** The screen of a side for a reader without access: the use of the side, and the way in. */
export function Stranger({ side, title }: { readonly side: PageSide; readonly title: string }) {
  const { kind } = useViewer()
  const { href } = useLocation()
  const { points, more } = SIDES[side]
  return (
    <Page
      title={title}
      about={
        kind === 'nobody'
          ? `Sign in as ${NAMES[side]} to see this page.`
          : `This page is for ${NAMES[side]}. You are signed in with ${SESSIONS[kind]}.`
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
