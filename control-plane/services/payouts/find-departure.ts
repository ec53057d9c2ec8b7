import { lockAccounts } from '#control-plane/db/accounts.ts'
import type { Trx } from '#control-plane/db/database.ts'
import { findInFlightAccount, findSellerOwner, listOpenEarnings } from '#control-plane/db/offer-earnings.ts'
import type { TransferId } from '#control-plane/db/tables/treasury.ts'
import type { TreasuryMove } from '#control-plane/db/treasury-moves.ts'
import type { PayoutItem, TransferChange, TreasuryTransfer } from '#control-plane/db/treasury-transfers.ts'
import {
  findTransfer,
  insertPayoutItems,
  insertTransfer,
  listSellersAt,
  lockTransferByNonce,
  lockTreasury,
  lockWaitingPayouts,
  nextTransferNumber,
} from '#control-plane/db/treasury-transfers.ts'
import { moneyTransaction } from '#control-plane/ports/ledger/postgres-money-ledger.ts'
import type { TransferName } from '#control-plane/ports/treasury/authorization.ts'
import { nonceOfTransfer } from '#control-plane/ports/treasury/authorization.ts'
import type { MoveParts } from '#control-plane/ports/treasury/move-parts.ts'
import { postTransaction } from '#control-plane/services/money/ledger.ts'
import { higher, lower } from '#shared/bigints.ts'
import { crashPoint } from '#shared/crash-point.ts'
import type { AccountId } from '#shared/ids.ts'
import { PLATFORM_ACCOUNTS } from '#shared/ledger/account-kinds.ts'
import { takeStep } from './end-transfer.ts'
import { NO_OFFER } from './payable-groups.ts'
import { openInFlight } from './plan-payouts.ts'
import { REASONS } from './transfer-states.ts'
import type { PayoutCtx } from './treasury-ctx.ts'

// A ledger that went back in time lacks transfers that have left. Their nonces tell what they were.

/** Numbers beyond the highest known one of a seller and a recipient that a lost transfer may have. */
const NUMBERS_AHEAD = 200n
/** The same where nobody is known to be paid at the recipient, whose transfers were all lost. */
const FIRST_NUMBERS = 5n
/** Sellers of one read, and the most that are looked through. */
const PAGE = 500
const MAX_PAGES = 20
/** Waiting payouts of a seller that give their money back for one that left. */
const MAX_WAITING = 1_000

export type FindCtx = Pick<PayoutCtx, 'ids' | 'clock' | 'log'> & { readonly moves: MoveParts }

/** A transfer that left the treasury by an authorization, in a final block. */
type Departure = Pick<TreasuryMove, 'party' | 'amount' | 'transaction' | 'block'> & { readonly nonce: string }

/** What a departure is: a transfer of the books. `isLost` when the books had lost that it left. */
export type Found = Pick<TreasuryTransfer, 'id' | 'purpose'> & { readonly isLost: boolean }

/**
 * Finds the transfer that a departure is, by its nonce. One that the books have as not sent, or not at all, is brought to
 * its end here: a payout is taken from its seller as it was before. Undefined for what nobody here has named. Throws while
 * the seller has not got the earnings again that it was made of.
 */
export async function findDeparture(
  ctx: FindCtx,
  trx: Trx,
  move: Departure,
  { isWhole }: { readonly isWhole: boolean },
): Promise<Found | undefined> {
  const known = await lockTransferByNonce(trx, move.nonce)
  if (known !== undefined && isOf(known, move)) {
    const isLost = hasNotLeft(known, move)
    if (isLost) await endFound(ctx, trx, known, move)
    return { id: known.id, purpose: known.purpose, isLost }
  }
  const name = await findName(ctx, trx, move)
  if (name === undefined) return undefined
  if (known !== undefined) await giveUp(ctx, trx, known)
  const id =
    name.seller === null ? await addSweep(ctx, trx, move, name) : await addPayout(ctx, trx, move, { name, isWhole })
  const added = await findTransfer(trx, id)
  if (added === undefined) throw new Error(`the transfer ${id} was not stored`)
  await endFound(ctx, trx, added, move)
  ctx.log.error({ id, transaction: move.transaction }, 'the books had lost a transfer, which was found on the chain')
  return { id, purpose: added.purpose, isLost: true }
}

/** The seller of a payout that left has not got the earnings again that it was made of. */
export class LostEarningsError extends Error {}

/** True for the transfer that a departure is. One that was given up for another that left is in the books no more. */
function isOf({ recipient, amount, state, reason }: TreasuryTransfer, move: Departure): boolean {
  return recipient === move.party && amount === move.amount && !(state === 'returned' && reason === REASONS.outdated)
}

/** True for a transfer of which the books do not know that it left: nobody had signed it before that block. */
function hasNotLeft({ state, signedAtBlock }: TreasuryTransfer, { block }: Departure): boolean {
  if (state === 'scheduled' || state === 'held') return true
  return state === 'signed' && signedAtBlock !== null && signedAtBlock > block
}

async function endFound(ctx: FindCtx, trx: Trx, transfer: TreasuryTransfer, move: Departure): Promise<void> {
  const { chainId, asset, treasury } = ctx.moves
  const { transaction, block } = move
  const change: TransferChange = { transaction, block, reason: null, batch: null }
  const found = transfer.signature === null ? { found: { chainId: BigInt(chainId), asset, treasury } } : {}
  if (!(await takeStep(ctx, trx, transfer, { event: 'find', found: { ...change, ...found } }))) {
    throw new Error(`${transfer.id} is ${transfer.state}, and has left`)
  }
  crashPoint('payout_found')
}

/** Gives a planned transfer up whose name another had that left. Its own signature, if it has one, can move nothing. */
async function giveUp(ctx: FindCtx, trx: Trx, transfer: TreasuryTransfer): Promise<void> {
  if (transfer.state === 'returned') return
  const event = transfer.state === 'scheduled' || transfer.state === 'held' ? 'cancel' : 'orphan'
  const change = { transaction: null, block: null, batch: null, reason: REASONS.outdated }
  if (!(await takeStep(ctx, trx, transfer, { event, found: change }))) {
    throw new Error(`${transfer.id} is ${transfer.state}, and another of its name has left`)
  }
}

/** The name whose nonce a departure has. */
async function findName(ctx: FindCtx, trx: Trx, { party, nonce }: Departure): Promise<TransferName | undefined> {
  const among = (seller: AccountId | null, last: bigint) => {
    for (let number = 1n; number <= last; number++) {
      const name = { seller, recipient: party, number }
      if (nonceOfTransfer(name) === nonce) return name
    }
    return undefined
  }
  const sweep = among(null, (await nextTransferNumber(trx, null, party)) + NUMBERS_AHEAD)
  if (sweep !== undefined) return sweep
  for (const isPaidThere of [true, false]) {
    let after = ''
    for (let page = 0; page < MAX_PAGES; page++) {
      const sellers = await listSellersAt(trx, party, { isPaidThere, after, limit: PAGE })
      for (const { seller, number } of sellers) {
        const found = among(seller, isPaidThere ? number + NUMBERS_AHEAD : FIRST_NUMBERS)
        if (found !== undefined) return found
      }
      const last = sellers.at(-1)
      if (last === undefined || sellers.length < PAGE) break
      after = last.seller
    }
  }
  ctx.log.debug({ party }, 'no name of ours has the nonce of a departure')
  return undefined
}

async function addSweep(ctx: FindCtx, trx: Trx, { party, amount }: Departure, name: TransferName): Promise<TransferId> {
  await lockTreasury(trx)
  const id = ctx.ids.make('swp')
  await insertTransfer(trx, {
    ...{ id, purpose: 'sweep', seller: null, inFlight: null, recipient: party, amount, mode: 'batched' },
    ...{ state: 'scheduled', reason: null, number: name.number, nonce: nonceOfTransfer(name) },
  })
  return id
}

type Payout = { readonly name: TransferName; readonly isWhole: boolean }

/**
 * Takes a lost payout from its seller once more. What the books have in payouts that wait may be the money that left, so
 * these give it back first. What cannot be earned again, the platform stands in for.
 */
async function addPayout(
  ctx: FindCtx,
  trx: Trx,
  { party: recipient, amount, transaction }: Departure,
  { name, isWhole }: Payout,
): Promise<TransferId> {
  const { seller, number } = name
  if (seller === null) throw new Error('a payout without a seller')
  const waiting = await lockWaitingPayouts(trx, seller, MAX_WAITING)
  await lockAccounts(trx, [seller])
  const owner = await findSellerOwner(trx, seller)
  if (owner === undefined) throw new Error(`${seller} is no seller`)
  let missing = higher(amount - owner.balance, 0n)
  for (const payout of waiting) {
    if (missing === 0n) break
    await giveUp(ctx, trx, payout)
    missing = higher(missing - payout.amount, 0n)
  }
  if (missing > 0n && !isWhole) throw new LostEarningsError(`${seller} lacks ${missing} of a payout that left`)
  const id = ctx.ids.make('pay')
  const inFlight = (await findInFlightAccount(trx, seller)) ?? (await openInFlight(ctx, trx, owner))
  await insertTransfer(trx, {
    ...{ id, purpose: 'payout', seller, inFlight, recipient, amount, mode: 'batched' },
    ...{ state: 'scheduled', reason: null, number, nonce: nonceOfTransfer(name) },
  })
  await insertPayoutItems(trx, id, await itemsOf(trx, seller, { recipient, amount }))
  const note = transaction
  const post = async (kind: 'payout' | 'payout_cover', from: AccountId, to: AccountId) => {
    const moved = kind === 'payout' ? amount : missing
    const entries = [
      { account: from, amount: -moved },
      { account: to, amount: moved },
    ]
    await postTransaction(moneyTransaction(trx), { id: ctx.ids.ulid(), key: `${kind}:${id}`, kind, note, entries })
  }
  if (missing > 0n) await post('payout_cover', PLATFORM_ACCOUNTS.shortfall, seller)
  await post('payout', seller, inFlight)
  return id
}

/** What a payout is made of: the earnings of offers that are paid at its recipient, then those of others. */
async function itemsOf(
  trx: Trx,
  seller: AccountId,
  { recipient, amount }: { readonly recipient: string; readonly amount: bigint },
): Promise<PayoutItem[]> {
  const earnings = await listOpenEarnings(trx, seller, undefined)
  const isHere = (row: (typeof earnings)[number]) => row.recipient === recipient
  let rest = amount
  const items: PayoutItem[] = []
  for (const { offer, left } of [...earnings.filter(isHere), ...earnings.filter((row) => !isHere(row))]) {
    const part = lower(rest, higher(left, 0n))
    if (part > 0n) items.push({ offer, amount: part })
    rest -= part
  }
  return rest > 0n ? [...items, { offer: NO_OFFER, amount: rest }] : items
}
