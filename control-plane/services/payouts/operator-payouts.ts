import { z } from 'zod'
import { sumOwed } from '#control-plane/db/accounts.ts'
import type { Trx } from '#control-plane/db/database.ts'
import {
  clearSellerStop,
  countOpenTransfers,
  insertSellerStop,
  listDeskTransfers,
  listSellerStops,
  readDrainedAt,
} from '#control-plane/db/payout-desk.ts'
import type { TreasuryTransfer } from '#control-plane/db/treasury-transfers.ts'
import { findTransfer, lockTransfer } from '#control-plane/db/treasury-transfers.ts'
import { findUserByWallet } from '#control-plane/db/users.ts'
import { tenantOf } from '#control-plane/operation/actor.ts'
import type { RunCtx } from '#control-plane/operation/operation.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { Wallet } from '#control-plane/services/input-fields.ts'
import { findParty, namesOneParty, ONE_PARTY, PartyFields } from '#control-plane/services/ledger/ledger-moves.ts'
import { DepartureHoldSchema, readDepartureHold } from '#control-plane/services/treasury/departure-hold.ts'
import { Count, MicroDigits, UnixMs } from '#control-plane/services/view-fields.ts'
import { AppError } from '#shared/errors.ts'
import type { AccountId } from '#shared/ids.ts'
import { oneLine, wholeNumber } from '#shared/texts.ts'
import type { EndCtx } from './end-transfer.ts'
import { takeStep } from './end-transfer.ts'
import { findPayoutStop } from './payout-stops.ts'
import { PayoutModeSchema, TransferStateSchema } from './payout-views.ts'
import { drainBalances } from './plan-payouts.ts'
import type { TransferEvent } from './transfer-states.ts'
import { REASONS } from './transfer-states.ts'
import { readTreasuryMoney } from './watch-treasury.ts'

const SHOWN_ROWS = 100

export const TransferCountSchema = z.object({
  state: TransferStateSchema,
  count: Count,
  amountMicro: MicroDigits,
  oldestAt: UnixMs,
})
export const SellerStopSchema = z.object({
  seller: z.string(),
  reason: z.string(),
  setAt: UnixMs,
  setBy: z.string(),
})

export const PayoutsStateSchema = z.object({
  /** False for a treasury without a signer. */
  isSetUp: z.boolean(),
  /** The reason why all payouts stop; null while they run. */
  stoppedFor: z.string().nullable(),
  /** The hold of payouts, sweeps and draws after a restore of the ledger; null without a hold. */
  departureHold: DepartureHoldSchema.nullable(),
  treasury: z.string().nullable(),
  coldAddress: z.string().nullable(),
  /** The treasury's balance and its money for gas in wei; null while the chain does not answer. */
  balanceMicro: MicroDigits.nullable(),
  gasWei: z.string().nullable(),
  floorMicro: MicroDigits.nullable(),
  ceilingMicro: MicroDigits.nullable(),
  owedToBuyersMicro: MicroDigits.describe('Credit of all buyers, with the quotes of running jobs.'),
  owedToSellersMicro: MicroDigits.describe('Earnings of all sellers that are not paid out, with payouts on their way.'),
  /** True below the floor, and when transfers under way exceed the balance. */
  needsRefill: z.boolean(),
  drainedAt: UnixMs.nullable(),
  /** Open transfers by state. */
  states: z.array(TransferCountSchema).readonly(),
  /** Sellers whose payouts an operator has stopped. */
  stops: z.array(SellerStopSchema).readonly(),
})
export type PayoutsState = z.infer<typeof PayoutsStateSchema>

/** Reads the state of the treasury: whether payouts run, its money, and the transfers under way. */
export const readPayoutsState = defineOperation({
  name: 'payouts.state',
  summary: 'Get the state of the treasury',
  about: 'Includes the transfers on their way out of the treasury.',
  access: 'operator',
  input: z.strictObject({}),
  limit: 'read',
  idempotency: 'none',
  output: PayoutsStateSchema,
  run: async (ctx): Promise<PayoutsState> => {
    const { treasury } = ctx
    const [stop, departureHold, open, stops, drainedAt, owed, money] = await Promise.all([
      findPayoutStop(ctx),
      readDepartureHold(ctx),
      countOpenTransfers(ctx.db),
      listSellerStops(ctx.db, SHOWN_ROWS),
      readDrainedAt(ctx.db),
      sumOwed(ctx.db),
      treasury === null ? { balanceMicro: null, gasWei: null } : readTreasuryMoney(treasury),
    ])
    const due = open.reduce((sum, { amount }) => sum + amount, 0n)
    const { balanceMicro } = money
    return {
      isSetUp: treasury !== null,
      stoppedFor: stop ?? null,
      departureHold,
      treasury: treasury?.address ?? null,
      coldAddress: treasury?.coldAddress ?? null,
      balanceMicro: balanceMicro?.toString() ?? null,
      gasWei: money.gasWei?.toString() ?? null,
      floorMicro: treasury?.floorMicro.toString() ?? null,
      ceilingMicro: treasury?.ceilingMicro.toString() ?? null,
      owedToBuyersMicro: owed.buyer.toString(),
      owedToSellersMicro: owed.seller.toString(),
      needsRefill:
        treasury !== null && balanceMicro !== null && (balanceMicro < treasury.floorMicro || balanceMicro < due),
      drainedAt: drainedAt?.getTime() ?? null,
      states: open.map(({ amount, oldestAt, ...row }) => ({
        ...row,
        amountMicro: amount.toString(),
        oldestAt: oldestAt.getTime(),
      })),
      stops: stops.map(({ seller, reason, setAt, setBy }) => ({ seller, reason, setAt: setAt.getTime(), setBy })),
    }
  },
})

export const DeskTransferSchema = z.object({
  id: z.string(),
  purpose: z.enum(['payout', 'sweep']),
  seller: z.string().nullable(),
  recipient: z.string(),
  amountMicro: MicroDigits,
  mode: PayoutModeSchema,
  state: TransferStateSchema,
  /** The reason why it is held, late or was returned, as a code. */
  reason: z.string().nullable(),
  transaction: z.string().nullable(),
  block: Count.nullable(),
  plannedAt: UnixMs,
  changedAt: UnixMs,
  validUntil: UnixMs.nullable(),
  endedAt: UnixMs.nullable(),
})
export type DeskTransferView = z.infer<typeof DeskTransferSchema>

function viewOf(transfer: TreasuryTransfer): DeskTransferView {
  const { id, purpose, seller, recipient, amount, mode, state, reason, transaction, block } = transfer
  return {
    id,
    purpose,
    seller,
    recipient,
    amountMicro: amount.toString(),
    mode,
    state,
    reason,
    transaction,
    block: block === null ? null : Number(block),
    plannedAt: transfer.plannedAt.getTime(),
    changedAt: transfer.changedAt.getTime(),
    validUntil: transfer.validUntil?.getTime() ?? null,
    endedAt: transfer.endedAt?.getTime() ?? null,
  }
}

/** Lists payouts and sweeps, newest first. */
export const listTransfers = defineOperation({
  name: 'payouts.list',
  summary: 'List payouts and sweeps, newest first',
  access: 'operator',
  input: z.strictObject({
    state: TransferStateSchema.optional(),
    wallet: Wallet.optional(),
    account: PartyFields.account,
    recipient: Wallet.optional(),
    limit: wholeNumber(1, 500).prefault(SHOWN_ROWS),
  }),
  limit: 'read',
  idempotency: 'none',
  output: z.array(DeskTransferSchema).readonly(),
  run: async (ctx, _actor, { state, wallet, account, recipient, limit }): Promise<readonly DeskTransferView[]> => {
    const isNamed = wallet !== undefined || account !== undefined
    const seller = isNamed ? await findSeller(ctx, { wallet, account }) : undefined
    return (await listDeskTransfers(ctx.db, { state, seller, recipient }, limit)).map(viewOf)
  },
})

type Party = { readonly wallet?: string | undefined; readonly account?: AccountId | undefined }

/** The seller's account of a wallet, or the named account. Throws `not_found`. */
async function findSeller(ctx: Pick<RunCtx, 'db' | 'ledger'>, { wallet, account }: Party): Promise<AccountId> {
  const user = wallet === undefined ? undefined : await findUserByWallet(ctx.db, wallet)
  if (wallet !== undefined && user === undefined)
    throw new AppError('not_found', { message: 'No account has this wallet.' })
  return (await findParty(ctx, { account: account ?? user?.sellerAccount }, ['seller_available'])).account
}

/**
 * Turns every balance above the threshold into payouts now. Throws `conflict` with the reason while payouts are
 * stopped.
 */
export const drainNow = defineOperation({
  name: 'payouts.drain',
  summary: 'Pay out every balance above the threshold',
  access: 'operator',
  input: z.strictObject({}),
  limit: 'none',
  idempotency: 'none',
  output: z.object({ planned: Count }),
  run: async (ctx): Promise<{ readonly planned: number }> => {
    const planned = await drainBalances(ctx, { isForced: true })
    if (planned === undefined) {
      const reason = (await findPayoutStop(ctx)) ?? 'not_set_up'
      throw new AppError('conflict', { message: `Payouts are stopped: ${reason}.`, detail: { reason } })
    }
    return { planned }
  },
})

const TransferInput = z.strictObject({ id: oneLine(100), reason: oneLine(160).trim().min(1) })

type Decision = {
  readonly id: string
  readonly event: TransferEvent
  readonly reason: string
  readonly note: string | null
}

/** Moves one transfer a step on by hand. Throws `not_found`, and `conflict` for a transfer that is signed or over. */
async function decide(
  ctx: EndCtx & Pick<RunCtx, 'change'>,
  { id, event, reason, note }: Decision,
): Promise<DeskTransferView> {
  return ctx.change(
    async (trx: Trx) => {
      const transfer = await lockTransfer(trx, id)
      if (transfer === undefined) throw new AppError('not_found', { message: 'No payout has this id.' })
      if (!(await takeStep(ctx, trx, transfer, { event, changes: { reason: note } }))) {
        const message = `This step is not possible for a payout that is ${transfer.state}.`
        throw new AppError('conflict', { message, detail: { state: transfer.state } })
      }
      return viewOf((await findTransfer(trx, id)) ?? transfer)
    },
    (after) => ({ subject: id, before: null, after: { ...after, decision: event, decidedFor: reason } }),
  )
}

/** Takes a payout out of the queue until it is released. */
export const holdTransfer = defineOperation({
  name: 'payouts.hold',
  summary: 'Hold a payout',
  access: 'operator',
  input: TransferInput,
  limit: 'none',
  idempotency: 'none',
  output: DeskTransferSchema,
  run: (ctx, _actor, { id, reason }) => decide(ctx, { id, event: 'hold', reason, note: REASONS.operator }),
})

/** Releases a held payout: approves a large one, or ends a hold. */
export const releaseTransfer = defineOperation({
  name: 'payouts.release',
  summary: 'Release a payout',
  access: 'operator',
  input: TransferInput,
  limit: 'none',
  idempotency: 'none',
  output: DeskTransferSchema,
  run: (ctx, _actor, { id, reason }) => decide(ctx, { id, event: 'release', reason, note: null }),
})

/** Returns the money of an unsigned payout to its seller's balance. */
export const cancelTransfer = defineOperation({
  name: 'payouts.cancel',
  summary: 'Cancel an unsigned payout',
  about: 'The money goes back to the seller’s balance.',
  access: 'operator',
  input: TransferInput,
  limit: 'none',
  idempotency: 'none',
  output: DeskTransferSchema,
  run: (ctx, _actor, { id, reason }) => decide(ctx, { id, event: 'cancel', reason, note: REASONS.operator }),
})

const SellerInput = z
  .strictObject({ wallet: PartyFields.wallet, account: PartyFields.account, reason: oneLine(500).trim().min(1) })
  .refine(namesOneParty, ONE_PARTY)
const SellerOutput = z.object({ seller: z.string(), isStopped: z.boolean() })

/** Stops the payouts of one seller. Planned payouts without a signature are held. Throws `not_found`. */
export const stopSeller = defineOperation({
  name: 'payouts.stop-seller',
  summary: 'Stop the payouts of one seller',
  about: 'Planned payouts without a signature are held.',
  access: 'operator',
  input: SellerInput,
  limit: 'none',
  idempotency: 'none',
  output: SellerOutput,
  run: async (ctx, actor, { reason, ...party }): Promise<z.infer<typeof SellerOutput>> => {
    const seller = await findSeller(ctx, party)
    await ctx.change(
      (trx) => insertSellerStop(trx, { id: ctx.ids.ulid(), seller, reason, by: tenantOf(actor) }),
      (isNew) =>
        isNew ? { subject: seller, before: { stopped: false }, after: { stopped: true, reason } } : undefined,
    )
    return { seller, isStopped: true }
  },
})

/** Lets a seller be paid again. Payouts that were held meanwhile are released one by one. Throws `not_found`. */
export const startSeller = defineOperation({
  name: 'payouts.start-seller',
  summary: 'Resume the payouts of a seller',
  about: 'Payouts that were held in the meantime stay held: release each of them.',
  access: 'operator',
  input: SellerInput,
  limit: 'none',
  idempotency: 'none',
  output: SellerOutput,
  run: async (ctx, actor, { reason, ...party }): Promise<z.infer<typeof SellerOutput>> => {
    const seller = await findSeller(ctx, party)
    await ctx.change(
      async (trx) => {
        if (await clearSellerStop(trx, seller, tenantOf(actor))) return
        throw new AppError('not_found', { message: 'The payouts of this seller are not stopped.' })
      },
      () => ({ subject: seller, before: { stopped: true }, after: { stopped: false, reason } }),
    )
    return { seller, isStopped: false }
  },
})
