import { z } from 'zod'
import type { Trx } from '#control-plane/db/database.ts'
import type { DeskPayment } from '#control-plane/db/payment-desk.ts'
import {
  countPaymentStates,
  countUnminedTransactions,
  forgivePayment,
  listDebtors,
  listDeskPayments,
} from '#control-plane/db/payment-desk.ts'
import { CHAIN_PAYMENT_STATES } from '#control-plane/db/tables/chain-payments.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { Count, MicroDigits, UnixMs } from '#control-plane/services/view-fields.ts'
import { MINUTE } from '#shared/clock.ts'
import { AppError } from '#shared/errors.ts'
import { parseRequestId } from '#shared/ids.ts'
import { oneLine, wholeNumber } from '#shared/texts.ts'
import type { PaymentCtx } from './payment-ctx.ts'
import { withPayments } from './payment-ctx.ts'
import { readPaymentTerms } from './payment-terms.ts'

/** A payment counts as stuck when one step takes longer: a block of Base takes two seconds. */
const HANGS_AFTER_MS = MINUTE
const SHOWN_ROWS = 100

const Wallet = oneLine(42)
  .regex(/^0x[0-9a-fA-F]{40}$/)
  .toLowerCase()

export const WalletPaymentStateSchema = z.enum(CHAIN_PAYMENT_STATES)
export const StateCountSchema = z.object({
  state: WalletPaymentStateSchema,
  count: Count,
  amountMicro: MicroDigits,
  oldestAt: UnixMs,
})

export const PaymentsStateSchema = z.object({
  /** False in a market without payments by wallet. */
  isSetUp: z.boolean(),
  isOpen: z.boolean(),
  /** The reason why no payment is taken. */
  closedFor: z.string().nullable(),
  network: z.string().nullable(),
  payTo: z.string().nullable(),
  /** The address that settles payments. */
  facilitator: z.string().nullable(),
  /**
   * The balance for gas in wei, as decimal digits. Null when another facilitator settles, or the chain does not answer.
   */
  gasWei: z.string().nullable(),
  exposureMicro: MicroDigits,
  exposureLimitMicro: MicroDigits.nullable(),
  payerExposureLimitMicro: MicroDigits.nullable(),
  /** Payments that are due or mined and had no step for a minute. */
  hanging: Count,
  /** Signed transactions that are in no block. */
  unminedTransactions: Count,
  oldestUnminedAt: UnixMs.nullable(),
  /** Open payments, and payments that were written off and not forgiven, by state. */
  states: z.array(StateCountSchema).readonly(),
})
export type PaymentsState = z.infer<typeof PaymentsStateSchema>

/**
 * Reads the state of payments by wallet: whether they are taken, which are open, which are stuck, and the money for
 * gas.
 */
export const readPaymentsState = defineOperation({
  name: 'payments.state',
  summary: 'Get the state of payments by wallet',
  access: 'operator',
  input: z.strictObject({}),
  limit: 'read',
  idempotency: 'none',
  output: PaymentsStateSchema,
  run: async (ctx): Promise<PaymentsState> => {
    const [states, unmined, hanging, standing] = await Promise.all([
      countPaymentStates(ctx.db),
      countUnminedTransactions(ctx.db),
      listDeskPayments(ctx.db, { restingMs: HANGS_AFTER_MS }, SHOWN_ROWS),
      readStanding(ctx),
    ])
    const open = states.filter(({ state }) => state !== 'written_off')
    return {
      ...standing,
      exposureMicro: open.reduce((sum, { amount }) => sum + amount, 0n).toString(),
      hanging: hanging.length,
      unminedTransactions: unmined.count,
      oldestUnminedAt: unmined.oldestAt?.getTime() ?? null,
      states: states.map(({ state, count, amount, oldestAt }) => ({
        state,
        count,
        amountMicro: amount.toString(),
        oldestAt: oldestAt.getTime(),
      })),
    }
  },
})

type Standing = Omit<PaymentsState, 'exposureMicro' | 'hanging' | 'unminedTransactions' | 'oldestUnminedAt' | 'states'>
type StandingCtx = Omit<PaymentCtx, 'payments'> & Pick<Ctx, 'payments'>
const NOT_SET_UP: Standing = {
  isSetUp: false,
  isOpen: false,
  closedFor: 'not_set_up',
  network: null,
  payTo: null,
  facilitator: null,
  gasWei: null,
  exposureLimitMicro: null,
  payerExposureLimitMicro: null,
}

async function readStanding(ctx: StandingCtx): Promise<Standing> {
  const paying = withPayments(ctx)
  if (paying === undefined) return NOT_SET_UP
  const { payments } = paying
  const [terms, gas] = await Promise.all([
    readPaymentTerms(paying),
    payments.gasMoney === null ? null : payments.gasMoney().catch(() => null),
  ])
  const { isOpen, closedFor, network, payTo, facilitator } = terms
  return {
    isSetUp: true,
    isOpen,
    closedFor,
    network,
    payTo,
    facilitator,
    gasWei: gas?.toString() ?? null,
    exposureLimitMicro: payments.exposureMicro.toString(),
    payerExposureLimitMicro: payments.payerExposureMicro.toString(),
  }
}

export const DeskPaymentSchema = z.object({
  rid: z.string(),
  rail: z.string(),
  payer: z.string(),
  account: z.string(),
  state: z.enum(CHAIN_PAYMENT_STATES),
  amountMicro: MicroDigits,
  dueMicro: MicroDigits.nullable(),
  chargeMicro: MicroDigits.nullable(),
  /** The amount that the chain moved, once it is final. */
  cameMicro: MicroDigits.nullable(),
  transaction: z.string().nullable(),
  /** The reason why it is late or was written off, as a code of x402. */
  reason: z.string().nullable(),
  claimedAt: UnixMs,
  changedAt: UnixMs,
  validUntil: UnixMs,
  bookedAt: UnixMs.nullable(),
  clearedAt: UnixMs.nullable(),
})
export type DeskPaymentView = z.infer<typeof DeskPaymentSchema>

/**
 * Lists payments by wallet, newest first. With `isHanging` only those that are due or mined and had no step for a
 * minute.
 */
export const listPayments = defineOperation({
  name: 'payments.list',
  summary: 'List payments by wallet, newest first',
  access: 'operator',
  input: z.strictObject({
    state: z.enum(CHAIN_PAYMENT_STATES).optional(),
    payer: Wallet.optional(),
    isHanging: z.boolean().optional(),
    limit: wholeNumber(1, 500).prefault(SHOWN_ROWS),
  }),
  limit: 'read',
  idempotency: 'none',
  output: z.array(DeskPaymentSchema).readonly(),
  run: async (ctx, _actor, { state, payer, isHanging, limit }): Promise<readonly DeskPaymentView[]> => {
    const restingMs = isHanging === true ? HANGS_AFTER_MS : undefined
    return (await listDeskPayments(ctx.db, { state, payer, restingMs }, limit)).map(viewOf)
  },
})

function viewOf({ amount, due, charge, came, ...payment }: DeskPayment): DeskPaymentView {
  const { claimedAt, changedAt, validUntil, bookedAt, clearedAt, ...rest } = payment
  return {
    ...rest,
    amountMicro: amount.toString(),
    dueMicro: due?.toString() ?? null,
    chargeMicro: charge?.toString() ?? null,
    cameMicro: came?.toString() ?? null,
    claimedAt: claimedAt.getTime(),
    changedAt: changedAt.getTime(),
    validUntil: validUntil.getTime(),
    bookedAt: bookedAt?.getTime() ?? null,
    clearedAt: clearedAt?.getTime() ?? null,
  }
}

export const DebtorSchema = z.object({
  payer: z.string(),
  owedMicro: MicroDigits,
  payments: Count,
  since: UnixMs,
})
export type DebtorView = z.infer<typeof DebtorSchema>

/** Lists the wallets that owe for calls that they never paid. They are refused until the debt is forgiven. */
export const listPaymentDebtors = defineOperation({
  name: 'payments.debtors',
  summary: 'List wallets with unpaid calls',
  access: 'operator',
  input: z.strictObject({ limit: wholeNumber(1, 500).prefault(SHOWN_ROWS) }),
  limit: 'read',
  idempotency: 'none',
  output: z.array(DebtorSchema).readonly(),
  run: async (ctx, _actor, { limit }): Promise<readonly DebtorView[]> =>
    (await listDebtors(ctx.db, limit)).map(({ owed, since, ...debtor }) => ({
      ...debtor,
      owedMicro: owed.toString(),
      since: since.getTime(),
    })),
})

/** Forgives a wallet's debt from one payment. The part that the platform covered stays in the shortfall. */
export const forgiveDebt = defineOperation({
  name: 'payments.forgive',
  summary: 'Forgive the debt of one payment',
  access: 'operator',
  input: z.strictObject({ rid: oneLine(64), reason: oneLine(500).trim().min(1) }),
  limit: 'none',
  idempotency: 'none',
  output: z.object({ rid: z.string(), payer: z.string() }),
  run: async (ctx, _actor, { rid, reason }): Promise<{ readonly rid: string; readonly payer: string }> => {
    const missing = new AppError('not_found', { message: 'No payment with this request id is owed.' })
    if (parseRequestId(rid) === undefined) throw missing
    const forgive = async (trx: Trx) => {
      const payer = await forgivePayment(trx, rid)
      if (payer === undefined) throw missing
      return payer
    }
    const payer = await ctx.change(forgive, (wallet) => ({
      subject: rid,
      before: { state: 'written_off', payer: wallet },
      after: { state: 'forgiven', reason },
    }))
    return { rid, payer }
  },
})
