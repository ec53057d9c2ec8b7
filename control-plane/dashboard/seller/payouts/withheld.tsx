import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { SellerPayoutsQuery } from '#control-plane/dashboard/data/documents/seller-payouts.ts'
import { words } from '#control-plane/dashboard/data/format.ts'
import { Ago, Time } from '#control-plane/dashboard/ui/marks.tsx'
import { Notice } from '#control-plane/dashboard/ui/states.tsx'

type Position = NonNullable<SellerPayoutsQuery['payouts']>
type Advice = { readonly what: string; readonly next: ReactNode }

const OFFERS = (
  <>
    Name an address in{' '}
    <Link to="/seller/offers" search={{}}>
      your offers
    </Link>
  </>
)

/** The meaning of each reason, and the reader's next step. */
const ADVICE: Readonly<Record<string, Advice>> = {
  not_set_up: {
    what: 'This market pays nobody out yet: its treasury has no wallet.',
    next: (
      <>
        Your balance stays yours, and the whole of it is paid once an operator has set the treasury up. There is nothing
        to do for you. Whoever runs this market reads <a href="/docs/operate">how it is set up</a>: it takes{' '}
        <code>TREASURY_ADDRESS</code>, somebody who signs for it, and <code>CHAIN_RPC_URL</code>.
      </>
    ),
  },
  switched_off: {
    what: 'Operators have switched payouts off for now.',
    next: 'Your balance stays yours. Ask again once they are back on, or wait: what is due is paid by itself.',
  },
  ledger_check: {
    what: 'Payouts wait while the books are being checked.',
    next: 'Your balance stays yours. A person looks at it, and then what is due is paid by itself.',
  },
  operator: {
    what: 'An operator holds the payouts of this account.',
    next: 'Ask the operators of this market for the reason.',
  },
  no_address: {
    what: 'There is money of offers that name no payout address.',
    next: <>{OFFERS}: a workspace has no wallet that could stand in.</>,
  },
  unverified_address: {
    what: 'The payout address is new.',
    next: 'A new address waits a while before the first payment to it. If the change was not yours, revoke your keys now.',
  },
  blocked_address: {
    what: 'The token does not pay to this address.',
    next: <>{OFFERS} that can take USDC.</>,
  },
  list_unreadable: {
    what: 'The token’s list of blocked addresses cannot be read now.',
    next: 'Ask again in a few minutes.',
  },
}

const adviceOf = (reason: string): Advice =>
  ADVICE[reason] ?? { what: `Payouts are withheld: ${words(reason)}.`, next: 'Ask the operators of this market.' }

/** Why money is not paid out, what that means, and what to do. It stays until the reason is gone. */
export function Withheld({ position, answer }: { readonly position: Position; readonly answer: string | null }) {
  const { payoutStop, payoutHold, recipients } = position
  const ofAddresses = recipients.flatMap(({ holdReason }) => (holdReason === null ? [] : [holdReason]))
  const reasons = new Set(payoutStop === null ? [...(answer === null ? [] : [answer]), ...ofAddresses] : [payoutStop])
  return [...reasons].map((reason) => {
    const { what, next } = adviceOf(reason)
    const coolsUntil = recipients.find(({ holdReason }) => holdReason === reason)?.coolsUntil ?? null
    return (
      <Notice key={reason} tone="warn">
        <span>
          <strong>{what}</strong> {next}
          {reason === 'ledger_check' && payoutHold !== null && payoutHold.since !== null ? (
            <>
              {' '}
              It began on <Time at={payoutHold.since} />.
            </>
          ) : null}
          {coolsUntil === null ? null : (
            <>
              {' '}
              Until <Ago at={coolsUntil} />.
            </>
          )}
        </span>
      </Notice>
    )
  })
}
