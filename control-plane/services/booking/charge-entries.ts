import type { Balance } from '#control-plane/db/accounts.ts'
import type { Entry, Movement } from '#control-plane/db/ledger.ts'
import type { OfferEarning } from '#control-plane/db/offer-earnings.ts'
import type { UsageEvent } from '#shared/contract/usage-event.ts'
import type { AccountId } from '#shared/ids.ts'
import { isId } from '#shared/ids.ts'
import { PLATFORM_ACCOUNTS } from '#shared/ledger/account-kinds.ts'

/** A charge that is to be split. Amounts are micro-USD, and sellerNet + fee = charge. */
export type Charge = Pick<UsageEvent, 'rid' | 'sellerAccount' | 'chargeMicro' | 'sellerNetMicro' | 'feeMicro'> & {
  readonly payer: AccountId
  /** False for a payer whose account may go below zero, such as `external`. */
  readonly isBounded: boolean
}

/**
 * Returns the ledger entries of the given charges, in their order, and the change of each balance. None of the charges
 * may be posted yet. The payer pays out of the locked balance. The platform's shortfall covers the rest, so the seller
 * is paid in full. The entries of each charge sum to zero.
 */
export function splitCharges(
  charges: readonly Charge[],
  locked: ReadonlyMap<string, Pick<Balance, 'balance'>>,
): { readonly entries: Entry[]; readonly movements: Movement[] } {
  const entries: Entry[] = []
  const moved = new Map<AccountId, { amount: bigint; entries: number }>()
  for (const charge of charges) {
    const { payer } = charge
    const seller = accountOf(charge.sellerAccount ?? '')
    const left = (locked.get(payer)?.balance ?? 0n) + (moved.get(payer)?.amount ?? 0n)
    const paidMicro = charge.isBounded && left < charge.chargeMicro ? left : charge.chargeMicro
    const lines: [AccountId, bigint][] = [
      [payer, -paidMicro],
      [PLATFORM_ACCOUNTS.shortfall, paidMicro - charge.chargeMicro],
      [seller, charge.sellerNetMicro],
      [PLATFORM_ACCOUNTS.fee, charge.feeMicro],
    ]
    for (const [account, amount] of lines) {
      if (amount === 0n) continue
      entries.push({ tx: charge.rid, account, amount })
      const sum = moved.get(account) ?? { amount: 0n, entries: 0 }
      moved.set(account, { amount: sum.amount + amount, entries: sum.entries + 1 })
    }
  }
  return { entries, movements: [...moved].map(([account, sum]) => ({ account, ...sum })) }
}

/** The earning from a sale, for the offer that served it. */
export function earningOf({ offer, sellerAccount, sellerNetMicro }: UsageEvent): OfferEarning[] {
  if (offer === null || sellerAccount === null || sellerNetMicro === 0n) return []
  return [{ offer, seller: sellerAccount, amount: sellerNetMicro }]
}

/** The account that an event names. Throws a `RangeError` for a text that names none. */
export function accountOf(text: string): AccountId {
  if (!isId('acc', text)) throw new RangeError('not an account id')
  return text
}
