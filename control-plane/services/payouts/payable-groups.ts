import type { OpenEarning } from '#control-plane/db/offer-earnings.ts'
import type { PayoutItem } from '#control-plane/db/treasury-transfers.ts'
import { lowerBigint } from '#shared/bigints.ts'

/** The money of a seller for one recipient. Amounts are micro-USD. */
export type PayableGroup = {
  /** Null when no offer names an address, in a workspace and for a user without a wallet. */
  readonly recipient: string | null
  readonly earned: bigint
  /** The balance outside of payouts. */
  readonly available: bigint
  /** The part that can be paid out now, and its items. */
  readonly payable: bigint
  readonly items: readonly PayoutItem[]
  /** The end of the cooling time of a new address, in Unix milliseconds, until which the rest waits. */
  readonly coolsUntil: number | null
}

export type GroupStanding = {
  /** The balance of the seller's account. */
  readonly balance: bigint
  readonly wallet: string | null
  /** The instant of the wallet's link; null for the wallet that the user signed up with. */
  readonly walletSince: Date | null
  readonly earnings: readonly OpenEarning[]
  /** Recent earnings of the account, from offers and other sources. They wait. */
  readonly recent: bigint
  readonly now: number
  readonly coolingMs: number
}

/** The offer id of money on the account that no offer earned. */
export const NO_OFFER = ''

type Part = PayoutItem & {
  readonly recipient: string | null
  readonly due: bigint
  readonly coolsUntil: number | null
}

/**
 * Splits a seller's balance by recipient. An offer's earnings go to its present address, all others to the wallet.
 * Debits of the account without an offer reduce the group that is paid last, so payouts never exceed the balance.
 */
export function groupsOf(standing: GroupStanding): PayableGroup[] {
  const { balance, earnings, recent, now, coolingMs } = standing
  const endOf = (since: Date | null) => {
    const end = since === null ? null : since.getTime() + coolingMs
    return end !== null && end > now ? end : null
  }
  const walletCools = endOf(standing.walletSince)
  const parts: Part[] = earnings.map((earning) => {
    const cools = later(endOf(earning.recipientSince), earning.recipient === null ? walletCools : null)
    const ripe = earning.left > earning.recent ? earning.left - earning.recent : 0n
    return {
      offer: earning.offer,
      recipient: earning.recipient ?? standing.wallet,
      amount: earning.left,
      due: cools === null ? ripe : 0n,
      coolsUntil: earning.left > 0n ? cools : null,
    }
  })
  const other = balance - earnings.reduce((sum, { left }) => sum + left, 0n)
  if (other > 0n) {
    const recentOther = positive(recent - earnings.reduce((sum, row) => sum + row.recent, 0n))
    const due = walletCools === null ? positive(other - recentOther) : 0n
    parts.push({ offer: NO_OFFER, recipient: standing.wallet, amount: other, due, coolsUntil: walletCools })
  }
  const groups = new Map<string | null, PayableGroup>()
  let [left, leftPayable] = [balance, balance]
  for (const part of parts) {
    const known = groups.get(part.recipient) ?? {
      recipient: part.recipient,
      earned: 0n,
      available: 0n,
      payable: 0n,
      items: [],
      coolsUntil: null,
    }
    const available = lowerBigint(part.amount, left)
    const payable = lowerBigint(part.due, leftPayable)
    left -= available
    leftPayable -= payable
    const earned = earnings.find(({ offer }) => offer === part.offer)?.earned ?? 0n
    groups.set(part.recipient, {
      recipient: part.recipient,
      earned: known.earned + earned,
      available: known.available + available,
      payable: known.payable + payable,
      items: payable > 0n ? [...known.items, { offer: part.offer, amount: payable }] : known.items,
      coolsUntil: later(known.coolsUntil, part.coolsUntil),
    })
  }
  return [...groups.values()].sort((a, b) => Number(b.available - a.available) || (text(a) < text(b) ? -1 : 1))
}

const text = ({ recipient }: PayableGroup) => recipient ?? ''
const positive = (amount: bigint) => (amount > 0n ? amount : 0n)
const later = (left: number | null, right: number | null) => Math.max(left ?? 0, right ?? 0) || null
