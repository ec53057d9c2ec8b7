import type { Trx } from '#control-plane/db/database.ts'
import type { NumberSpan, SellersOf } from '#control-plane/db/treasury-transfers.ts'
import { listSellersAt, readNumberSpan } from '#control-plane/db/treasury-transfers.ts'
import type { TransferName } from '#control-plane/ports/treasury/authorization.ts'
import { nonceOfTransfer } from '#control-plane/ports/treasury/authorization.ts'
import { lowerBigint } from '#shared/bigints.ts'
import type { AccountId } from '#shared/ids.ts'

// The name of a lost transfer is found by trial: each candidate costs a hash, and a book may have any number of
// sellers.

/** Names that one turn tries for all departures together: about 50 ms of processor time. */
export const NAMES_A_TURN = 5_000
/** Numbers that are tried beyond the highest known one of a seller and a recipient. */
const NUMBERS_AHEAD = 200n
/** The same for a seller who is not known to be paid at the recipient. */
const FIRST_NUMBERS = 5n
/** Most names of one seller. */
const MAX_SPAN = 2_000n
/** Most sellers of one read. */
const PAGE = 500

/** Names that a turn may still try. */
export type NameBudget = { left: number }

export function newNameBudget(): NameBudget {
  return { left: NAMES_A_TURN }
}

/** The place where a search continues. */
export type SearchPlace = { readonly among: SellersOf; readonly after: string }

/**
 * The result of a search: the name, null for a departure that matches nothing, or the place where the next turn
 * continues.
 */
export type Sought = { readonly name: TransferName | null } | { readonly place: SearchPlace | null }

type DepartureFacts = { readonly recipient: string; readonly nonce: string; readonly place: SearchPlace | null }

/**
 * Searches the name whose nonce a departure has: first among sweeps and sellers that are known to be paid at its
 * recipient, then among all sellers, within the budget.
 */
export async function searchName(trx: Trx, amounts: DepartureFacts, budget: NameBudget): Promise<Sought> {
  const { recipient, nonce } = amounts
  let { place } = amounts
  /** The name among a seller's next numbers; null when no number matches, undefined at the end of the budget. */
  const among = (seller: AccountId | null, { base, last }: NumberSpan, ahead: bigint) => {
    const end = lowerBigint(last + ahead, base + MAX_SPAN)
    if (BigInt(budget.left) < end - base) return undefined
    budget.left -= Number(end - base)
    for (let number = base + 1n; number <= end; number++) {
      const name = { seller, recipient, number }
      if (nonceOfTransfer(name) === nonce) return name
    }
    return null
  }
  if (place === null) {
    const sweep = among(null, await readNumberSpan(trx, null, recipient), NUMBERS_AHEAD)
    if (sweep === undefined) return { place }
    if (sweep !== null) return { name: sweep }
    place = { among: 'paid_there', after: '' }
  }
  for (;;) {
    const ahead = place.among === 'paid_there' ? NUMBERS_AHEAD : FIRST_NUMBERS
    const sellers = await listSellersAt(trx, recipient, { ...place, limit: PAGE })
    for (const { seller, ...span } of sellers) {
      const match = among(seller, span, ahead)
      if (match === undefined) return { place }
      if (match !== null) return { name: match }
      place = { ...place, after: seller }
    }
    if (sellers.length === PAGE) continue
    if (place.among === 'all') return { name: null }
    place = { among: 'all', after: '' }
  }
}
