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
    Set a payout address in{' '}
    <Link to="/seller/offers" search={{}}>
      your offers
    </Link>
  </>
)

/** The meaning of each reason, and the reader's next step. */
const ADVICE: Readonly<Record<string, Advice>> = {
  not_set_up: {
    what: 'Payouts are not set up on this market yet.',
    next: (
      <>
        Your balance is safe and is paid in full once an operator sets up the treasury. You need to do nothing.
        Operators: set <code>TREASURY_ADDRESS</code>, a signer and <code>CHAIN_RPC_URL</code>, as{' '}
        <a href="/docs/operate">the guide</a> explains.
      </>
    ),
  },
  switched_off: {
    what: 'Payouts are switched off for now.',
    next: 'Your balance is safe. It is paid automatically once payouts are back on.',
  },
  ledger_check: {
    what: 'Payouts wait while the ledger is being checked.',
    next: 'Your balance is safe. It is paid automatically after the check.',
  },
  operator: {
    what: 'An operator has put your payouts on hold.',
    next: 'Ask the operators of this market why.',
  },
  no_address: {
    what: 'Some offers with earnings have no payout address.',
    next: <>{OFFERS}: a workspace has no wallet of its own.</>,
  },
  unverified_address: {
    what: 'The payout address is new.',
    next: 'The first payout to a new address waits for a day. If you did not change it, revoke your keys now.',
  },
  blocked_address: {
    what: 'USDC cannot be sent to this address.',
    next: <>{OFFERS} that can take USDC.</>,
  },
  list_unreadable: {
    what: 'The list of blocked addresses cannot be read right now.',
    next: 'Try again in a few minutes.',
  },
}

const adviceOf = (reason: string): Advice =>
  ADVICE[reason] ?? { what: `Payouts are withheld: ${words(reason)}.`, next: 'Ask the operators of this market.' }

/**
 * A notice that money is not paid out: the reason, its meaning, and the next step. It stays until the reason is gone.
 */
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
