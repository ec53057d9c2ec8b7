import { lockAccounts } from '#control-plane/db/accounts.ts'
import type { Trx } from '#control-plane/db/database.ts'
import type { SellerOwner } from '#control-plane/db/offer-earnings.ts'
import { findInFlightAccount, findSellerOwner, listOpenEarnings } from '#control-plane/db/offer-earnings.ts'
import type { TransferId } from '#control-plane/db/tables/treasury.ts'
import type { TreasuryMove } from '#control-plane/db/treasury-moves.ts'
import type { PayoutItem, TransferChange, TreasuryTransfer } from '#control-plane/db/treasury-transfers.ts'
import {
  findTransfer,
  insertPayoutItems,
  insertTransfer,
  lockTransferByNonce,
  lockTreasury,
  lockWaitingPayouts,
} from '#control-plane/db/treasury-transfers.ts'
import { moneyTransaction } from '#control-plane/ports/ledger/postgres-money-ledger.ts'
import type { TransferName } from '#control-plane/ports/treasury/authorization.ts'
import { nonceOfTransfer } from '#control-plane/ports/treasury/authorization.ts'
import type { MoveParts } from '#control-plane/ports/treasury/move-parts.ts'
import { postTransaction } from '#control-plane/services/ledger/ledger.ts'
import { higherBigint, lowerBigint } from '#shared/bigints.ts'
import { crashPoint } from '#shared/crash-point.ts'
import type { AccountId } from '#shared/ids.ts'
import { PLATFORM_ACCOUNTS } from '#shared/ledger/account-kinds.ts'
import type { NameBudget, SearchPlace } from './departure-name.ts'
import { searchName } from './departure-name.ts'
import { takeStep } from './end-transfer.ts'
import { NO_OFFER } from './payable-groups.ts'
import { openInFlight } from './plan-payouts.ts'
import { REASONS } from './transfer-states.ts'
import type { PayoutCtx } from './treasury-ctx.ts'

// A restored ledger lacks transfers that have left. Their nonces identify them.

/** Most waiting payouts of a seller that are reversed for a payout that has left. */
const MAX_WAITING = 1_000

export type FindCtx = Pick<PayoutCtx, 'ids' | 'clock' | 'log'> & { readonly moves: MoveParts }

/** A transfer that left the treasury by an authorization, in a final block. */
export type Departure = TreasuryMove & { readonly nonce: string }

/** A transfer of the books that left. `isLost` when the books did not know that it had left. */
export type DepartureOfTransfer = Pick<TreasuryTransfer, 'id' | 'purpose'> & { readonly isLost: boolean }

/** `isWhole` when sellers have regained all earnings that will come back. */
type Look = { readonly isWhole: boolean; readonly budget: NameBudget }

/**
 * Finds the transfer of a departure by its nonce. When the books lack the transfer or show it as not sent, it is booked
 * here: a payout is taken from its seller as before. Undefined for a departure that matches nothing; the place where
 * the search continues when the budget ends. Throws while the seller lacks the earnings that the payout was made of.
 */
export async function findDeparture(
  ctx: FindCtx,
  trx: Trx,
  move: Departure,
  { isWhole, budget }: Look,
): Promise<DepartureOfTransfer | { readonly place: SearchPlace | null } | undefined> {
  const known = await lockTransferByNonce(trx, move.nonce)
  if (known !== undefined && isOf(known, move)) {
    const isLost = hasNotLeft(known, move)
    if (isLost) await endFound(ctx, trx, known, move)
    return { id: known.id, purpose: known.purpose, isLost }
  }
  const result = known === undefined ? await searchName(trx, searchedOf(move), budget) : { name: nameOf(known, move) }
  if ('place' in result) return result
  const { name } = result
  if (name === null) return undefined
  if (known !== undefined) await giveUp(ctx, trx, known)
  const id =
    name.seller === null
      ? await addSweep(ctx, trx, move, name)
      : await addPayout(ctx, trx, move, { seller: name.seller, number: name.number, isWhole })
  ctx.log.error({ id, transaction: move.transaction }, 'the books had lost a transfer, which was found on the chain')
  return { id, purpose: await endAdded(ctx, trx, id, move), isLost: true }
}

/**
 * Books a departure that matches nothing as a payout of the seller whom the caller names. Throws as {@link
 * findDeparture} does.
 */
export async function bookDeparture(
  ctx: FindCtx,
  trx: Trx,
  move: Departure,
  { seller, isWhole }: { readonly seller: AccountId; readonly isWhole: boolean },
): Promise<TransferId> {
  const id = await addPayout(ctx, trx, move, { seller, number: null, isWhole })
  await endAdded(ctx, trx, id, move)
  return id
}

async function endAdded(
  ctx: FindCtx,
  trx: Trx,
  id: TransferId,
  move: Departure,
): Promise<DepartureOfTransfer['purpose']> {
  const transfer = await findTransfer(trx, id)
  if (transfer === undefined) throw new Error(`the transfer ${id} was not stored`)
  await endFound(ctx, trx, transfer, move)
  return transfer.purpose
}

function searchedOf({ party: recipient, nonce, soughtAmong: among, soughtAfter: after }: Departure) {
  return { recipient, nonce, place: among === null || after === null ? null : { among, after } }
}

/**
 * The name of a planned transfer that shares its name with a departure. Null without a name, and for another recipient.
 */
function nameOf({ seller, recipient, number }: TreasuryTransfer, { party }: Departure): TransferName | null {
  return number === null || recipient !== party ? null : { seller, recipient, number }
}

/** The seller of a payout that left has not regained the earnings that it was made of. */
export class LostEarningsError extends Error {}

/** True for the transfer of a departure. A transfer that was given up in favour of a departure is out of the books. */
function isOf({ recipient, amount, state, reason }: TreasuryTransfer, move: Departure): boolean {
  return recipient === move.party && amount === move.amount && !(state === 'returned' && reason === REASONS.outdated)
}

/** True for a transfer that had left without the books' knowledge: it was not signed before that block. */
function hasNotLeft({ state, signedAtBlock }: TreasuryTransfer, { block }: Departure): boolean {
  if (state === 'scheduled' || state === 'held') return true
  return state === 'signed' && signedAtBlock !== null && signedAtBlock > block
}

async function endFound(ctx: FindCtx, trx: Trx, transfer: TreasuryTransfer, move: Departure): Promise<void> {
  const { chainId, asset, treasury } = ctx.moves
  const { transaction, block } = move
  const change: TransferChange = { transaction, block, reason: null, batch: null }
  const chainFacts = transfer.signature === null ? { found: { chainId: BigInt(chainId), asset, treasury } } : {}
  if (!(await takeStep(ctx, trx, transfer, { event: 'find', changes: { ...change, ...chainFacts } }))) {
    throw new Error(`${transfer.id} is ${transfer.state}, and has left`)
  }
  crashPoint('payout_found')
}

/** Gives up a planned transfer whose name belongs to a departure. Its own signature, if any, can move nothing. */
async function giveUp(ctx: FindCtx, trx: Trx, transfer: TreasuryTransfer): Promise<void> {
  if (transfer.state === 'returned') return
  const event = transfer.state === 'scheduled' || transfer.state === 'held' ? 'cancel' : 'orphan'
  const change = { transaction: null, block: null, batch: null, reason: REASONS.outdated }
  if (!(await takeStep(ctx, trx, transfer, { event, changes: change }))) {
    throw new Error(`${transfer.id} is ${transfer.state}, and another transfer with its name has left`)
  }
}

async function addSweep(ctx: FindCtx, trx: Trx, { party, amount }: Departure, name: TransferName): Promise<TransferId> {
  await lockTreasury(trx)
  const id = ctx.ids.make('swp')
  await insertTransfer(trx, {
    id,
    purpose: 'sweep',
    seller: null,
    inFlight: null,
    recipient: party,
    amount,
    mode: 'batched',
    state: 'scheduled',
    reason: null,
    number: name.number,
    nonce: nonceOfTransfer(name),
  })
  return id
}

/** `number` is null for an unknown name. */
type Payout = { readonly seller: AccountId; readonly number: bigint | null; readonly isWhole: boolean }

/**
 * Takes a lost payout from its seller again. Waiting payouts in the books may hold the same money, so they are reversed
 * first. The platform covers the part that the seller's account lacks.
 */
async function addPayout(
  ctx: FindCtx,
  trx: Trx,
  { party: recipient, amount, transaction, nonce }: Departure,
  { seller, number, isWhole }: Payout,
): Promise<TransferId> {
  const waiting = await lockWaitingPayouts(trx, seller, MAX_WAITING)
  const inFlight = await inFlightOf(ctx, trx, seller)
  // All accounts of the postings below, in one order for every poster: the departure leaves the books in the end.
  await lockAccounts(trx, [seller, inFlight, PLATFORM_ACCOUNTS.externalUsdc])
  const owner = await ownerOf(trx, seller)
  let missing = higherBigint(amount - owner.balance, 0n)
  for (const payout of waiting) {
    if (missing === 0n) break
    await giveUp(ctx, trx, payout)
    missing = higherBigint(missing - payout.amount, 0n)
  }
  if (missing > 0n && !isWhole) throw new LostEarningsError(`${seller} lacks ${missing} of a payout that left`)
  const id = ctx.ids.make('pay')
  await insertTransfer(trx, {
    id,
    purpose: 'payout',
    seller,
    inFlight,
    recipient,
    amount,
    mode: 'batched',
    state: 'scheduled',
    reason: null,
    number,
    nonce: `0x${nonce.slice(2)}`,
  })
  await insertPayoutItems(trx, id, await itemsOf(trx, owner, { seller, recipient, amount }))
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

async function ownerOf(trx: Trx, seller: AccountId) {
  const owner = await findSellerOwner(trx, seller)
  if (owner === undefined) throw new Error(`${seller} is no seller`)
  return owner
}

async function inFlightOf(ctx: FindCtx, trx: Trx, seller: AccountId): Promise<AccountId> {
  return (await findInFlightAccount(trx, seller)) ?? (await openInFlight(ctx, trx, await ownerOf(trx, seller)))
}

/** The items of a payout: first earnings of offers that are paid at its recipient, then the others. */
async function itemsOf(
  trx: Trx,
  { wallet }: Pick<SellerOwner, 'wallet'>,
  { seller, recipient, amount }: { readonly seller: AccountId; readonly recipient: string; readonly amount: bigint },
): Promise<PayoutItem[]> {
  const earnings = await listOpenEarnings(trx, seller, undefined)
  const isHere = (row: (typeof earnings)[number]) => (row.recipient ?? wallet) === recipient
  let rest = amount
  const items: PayoutItem[] = []
  for (const { offer, left } of [...earnings.filter(isHere), ...earnings.filter((row) => !isHere(row))]) {
    const part = lowerBigint(rest, higherBigint(left, 0n))
    if (part > 0n) items.push({ offer, amount: part })
    rest -= part
  }
  return rest > 0n ? [...items, { offer: NO_OFFER, amount: rest }] : items
}
