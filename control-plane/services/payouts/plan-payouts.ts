import { lockAccounts, openAccount } from '#control-plane/db/accounts.ts'
import type { Trx } from '#control-plane/db/database.ts'
import { transact } from '#control-plane/db/database.ts'
import type { SellerOwner } from '#control-plane/db/offer-earnings.ts'
import { findInFlightAccount, listPayableSellers } from '#control-plane/db/offer-earnings.ts'
import { findSellerStop, markDrained, readDrainedAt, wasRefusedLately } from '#control-plane/db/payout-desk.ts'
import type { TransferMode } from '#control-plane/db/tables/treasury.ts'
import type { TreasuryTransfer } from '#control-plane/db/treasury-transfers.ts'
import {
  findTransfer,
  insertPayoutItems,
  insertTransfer,
  nextTransferNumber,
} from '#control-plane/db/treasury-transfers.ts'
import { moneyTransaction } from '#control-plane/ports/ledger/postgres-money-ledger.ts'
import { EMPTY_LIST } from '#control-plane/ports/treasury/address-list.ts'
import { nonceOfTransfer } from '#control-plane/ports/treasury/authorization.ts'
import { askForLeave } from '#control-plane/services/gate/may-leave.ts'
import { postTransaction } from '#control-plane/services/ledger/ledger.ts'
import { DAY } from '#shared/clock.ts'
import { crashPoint } from '#shared/crash-point.ts'
import type { AccountId } from '#shared/ids.ts'
import type { PayableGroup } from './payable-groups.ts'
import { findPayoutStop } from './payout-stops.ts'
import { readGroups } from './read-groups.ts'
import { tellOfPayout } from './tell-of-payout.ts'
import { REASONS } from './transfer-states.ts'
import type { PayoutCtx } from './treasury-ctx.ts'

/** Reasons to withhold money at a recipient while payouts run. */
export type GroupHold = 'operator' | 'no_address' | 'unverified_address' | 'blocked_address' | 'list_unreadable'

/** The reason why a seller's money at a recipient is withheld; undefined for money that can be paid. */
export async function findGroupHold(
  { treasury }: Pick<PayoutCtx, 'treasury'>,
  db: Trx | PayoutCtx['db'],
  seller: AccountId,
  { recipient, payable, coolsUntil }: PayableGroup,
): Promise<GroupHold | undefined> {
  if ((await findSellerStop(db, seller)) !== undefined) return 'operator'
  if (recipient === null) return 'no_address'
  if (payable === 0n && coolsUntil !== null) return 'unverified_address'
  const blocked = await (treasury?.blocked ?? EMPTY_LIST).listed([recipient]).catch(() => undefined)
  if (blocked === undefined) return 'list_unreadable'
  return blocked.has(recipient) ? 'blocked_address' : undefined
}

export type PayoutOrder = {
  readonly mode: TransferMode
  /** Limits the plan to this recipient's money; without it all money counts. */
  readonly recipient?: string | undefined
  /** A smaller amount stays in the balance. */
  readonly leastMicro: bigint
  /** True for a payout run, which skips a recipient that the token refused lately. */
  readonly isPatient?: boolean
}

/**
 * Turns a seller's balance into payouts, one for each recipient, inside the caller's transaction. The money leaves the
 * balance here, so no second payout can use it. Returns the new payouts.
 */
export async function planSeller(
  ctx: PayoutCtx,
  trx: Trx,
  seller: AccountId,
  { mode, recipient, leastMicro, isPatient = false }: PayoutOrder,
): Promise<TreasuryTransfer[]> {
  // Bookings of sales and other plans wait for this lock, so the groups below stay as they are.
  await lockAccounts(trx, [seller])
  const read = await readGroups(ctx, trx, seller)
  const planned: TreasuryTransfer[] = []
  for (const group of read.groups) {
    const isWanted = recipient === undefined || group.recipient === recipient
    if (!isWanted || group.payable === 0n || group.payable < leastMicro) continue
    if ((await findGroupHold(ctx, trx, seller, group)) !== undefined || group.recipient === null) continue
    if (isPatient && (await wasRefusedLately(trx, seller, group.recipient, REFUSED_MS))) continue
    const { recipient: to, payable, items } = group
    planned.push(await planGroup(ctx, trx, { seller, mode, owner: read.owner, to, amount: payable, items }))
  }
  return planned
}

/** Time for which a payout run skips a recipient that the token refused. A request does not skip it. */
const REFUSED_MS = 7 * DAY

type GroupPayout = {
  readonly seller: AccountId
  readonly mode: TransferMode
  readonly owner: SellerOwner
  readonly to: string
  readonly amount: bigint
  readonly items: PayableGroup['items']
}

async function planGroup(
  ctx: PayoutCtx,
  trx: Trx,
  { seller, mode, owner, to: recipient, amount, items }: GroupPayout,
): Promise<TreasuryTransfer> {
  const id = ctx.ids.make('pay')
  const inFlight = (await findInFlightAccount(trx, seller)) ?? (await openInFlight(ctx, trx, owner))
  const isLarge = amount > ctx.settings.payouts.approvalMicro
  const number = await nextTransferNumber(trx, seller, recipient)
  await insertTransfer(trx, {
    id,
    purpose: 'payout',
    seller,
    inFlight,
    recipient,
    amount,
    mode,
    number,
    nonce: nonceOfTransfer({ seller, recipient, number }),
    state: isLarge ? 'held' : 'scheduled',
    reason: isLarge ? REASONS.approval : null,
  })
  await insertPayoutItems(trx, id, items)
  const booked = await postTransaction(moneyTransaction(trx), {
    id: ctx.ids.ulid(),
    key: `payout:${id}`,
    kind: 'payout',
    note: recipient,
    entries: [
      { account: seller, amount: -amount },
      { account: inFlight, amount },
    ],
  })
  const transfer = await findTransfer(trx, id)
  if (booked === undefined || transfer === undefined) throw new Error(`the payout ${id} was not planned`)
  if (isLarge) await tellOfPayout(ctx, trx, transfer)
  return transfer
}

/** Opens the account for a seller's money in payouts. */
export async function openInFlight(ctx: Pick<PayoutCtx, 'ids'>, trx: Trx, { owner }: SellerOwner): Promise<AccountId> {
  const id = ctx.ids.make('acc')
  await openAccount(trx, { id, kind: 'payout_in_flight', owner })
  return id
}

/** Sellers of one read, and sellers that are planned at once. */
const PAGE = 500
const MAX_PAGES = 2_000
const AT_ONCE = 4

/**
 * The payout run: turns every balance above the threshold into payouts, once per `everyMs`. After an interruption the
 * next run starts over, and finds only the remaining balances. Returns the number of payouts. Returns undefined before
 * the run is due, and while nothing may leave the treasury: restored books may show money that was already paid.
 */
export async function drainBalances(ctx: PayoutCtx, { isForced = false } = {}): Promise<number | undefined> {
  const drainedAt = await readDrainedAt(ctx.db)
  const now = ctx.clock.now()
  if (!isForced && drainedAt !== undefined && now < drainedAt.getTime() + ctx.settings.payouts.everyMs) return undefined
  if ((await findPayoutStop(ctx)) !== undefined || (await askForLeave(ctx)) === undefined) return undefined
  const payoutOrder: PayoutOrder = { mode: 'batched', leastMicro: ctx.settings.payouts.thresholdMicro, isPatient: true }
  let planned = 0
  let after = ''
  for (let page = 0; page < MAX_PAGES; page++) {
    const sellers = await listPayableSellers(ctx.db, payoutOrder.leastMicro, { after, limit: PAGE })
    const last = sellers.at(-1)
    if (last === undefined) break
    for (let at = 0; at < sellers.length; at += AT_ONCE) {
      const counts = await Promise.all(
        sellers.slice(at, at + AT_ONCE).map((seller) => drainSeller(ctx, seller, payoutOrder)),
      )
      planned += counts.reduce((sum, count) => sum + count, 0)
    }
    if (sellers.length < PAGE) break
    after = last
  }
  await markDrained(ctx.db, new Date(now))
  return planned
}

/** Plans for one seller. A seller whose plan fails needs an operator, and delays no other. */
async function drainSeller(ctx: PayoutCtx, seller: AccountId, payoutOrder: PayoutOrder): Promise<number> {
  try {
    const planned = await transact(ctx.db, (trx) => planSeller(ctx, trx, seller, payoutOrder))
    crashPoint('payout_planned')
    return planned.length
  } catch (error) {
    ctx.log.error({ err: error, seller }, 'the payouts of a seller could not be planned')
    return 0
  }
}
