import { createHash } from 'node:crypto'
import type { PaymentRequirements, SettleResponse, SupportedResponse, VerifyResponse } from '@x402/core/types'
import { z } from 'zod'
import type { ChainPayment } from '#control-plane/db/chain-payments.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import type { ClaimAnswer, SettleAnswer } from '#shared/contract/chain-payments.ts'
import { LEAST_PAYMENT_MICRO, MOST_PAYMENT_MICRO } from '#shared/contract/chain-payments.ts'
import { AppError } from '#shared/errors.ts'
import type { RequestId } from '#shared/ids.ts'
import { microUsd } from '#shared/money.ts'
import type { BookCtx } from './book-payment.ts'
import { claimPayment } from './claim-payment.ts'
import type { PaymentCtx } from './payment-ctx.ts'
import { readPaymentTerms } from './payment-terms.ts'
import { settlePayment } from './settle-payment.ts'
import type { ReadPayment } from './signed-payment.ts'
import { readSignedPayment } from './signed-payment.ts'

// The standard paths of a facilitator, for payments to this market alone. Every payment goes through a claim: a payment
// that a call has claimed is never taken twice, and an unclaimed one becomes its payer's credit.

/** Milliseconds that a settlement waits for the chain. The stock client waits for 30 seconds. */
const WAIT_MS = 15_000

/** The body of `/verify` and `/settle`. */
export const FacilitateSchema = z.strictObject({
  x402Version: z.literal(2),
  paymentPayload: z.record(z.string(), z.unknown()),
  paymentRequirements: z.record(z.string(), z.unknown()),
})
type Ask = z.output<typeof FacilitateSchema>
type FacilitateCtx = BookCtx & Pick<Ctx, 'ids'>

/** The kinds of payments that are taken now: none while payments are closed. */
export async function supportedPayments(ctx: PaymentCtx): Promise<SupportedResponse> {
  const { isOpen } = await readPaymentTerms(ctx)
  if (isOpen) return ctx.payments.facilitator.supported()
  return { kinds: [], extensions: [], signers: {} }
}

/** Tells whether a payment would be taken. It claims nothing. */
export async function verifyPayment(ctx: PaymentCtx, ask: Ask): Promise<VerifyResponse> {
  const read = readSignedPayment(ask.paymentPayload, ask.paymentRequirements)
  if (read === undefined) return { isValid: false, invalidReason: 'invalid_payload' }
  const { payer, signed } = read
  const refusalFor = (invalidReason: string): VerifyResponse => ({ isValid: false, invalidReason, payer })
  if (!isForUs(ctx, signed.requirements)) return refusalFor('invalid_payment_requirements')
  if ((await findClaim(ctx, read)) !== undefined) return refusalFor('payment_already_used')
  const verdict = await ctx.payments.facilitator.verify(signed).catch((cause: unknown) => {
    throw new AppError('service_unavailable', { cause, retryAfterSeconds: 5 })
  })
  return verdict.isValid ? { isValid: true, payer } : refusalFor(verdict.reason)
}

/**
 * Takes a payment that no call has claimed, as its payer's credit. For a payment that a call has claimed, it returns
 * its state and does nothing.
 */
export async function settleOutside(ctx: FacilitateCtx, ask: Ask): Promise<SettleResponse> {
  const read = readSignedPayment(ask.paymentPayload, ask.paymentRequirements)
  const { network } = ctx.payments
  if (read === undefined) return { success: false, errorReason: 'invalid_payload', transaction: '', network }
  const { payer } = read
  const refusalFor = (errorReason: string): SettleResponse => ({
    success: false,
    errorReason,
    transaction: '',
    network,
    payer,
  })
  const { requirements } = read.signed
  const amount = BigInt(requirements.amount)
  const isPriced = amount >= LEAST_PAYMENT_MICRO && read.most <= MOST_PAYMENT_MICRO && amount <= read.most
  if (!isForUs(ctx, requirements) || !isPriced) return refusalFor('invalid_payment_requirements')
  const claim = await claimOutside(ctx, ask, read)
  switch (claim.state) {
    case 'refused':
      return refusalFor(claim.reason)
    case 'closed':
      throw new AppError('service_unavailable', { retryAfterSeconds: claim.retryAfterSeconds })
    case 'used': {
      const payment = await ctx.ledger.payments.find(claim.rid)
      return payment === undefined ? refusalFor('payment_already_used') : standing(payment)
    }
    case 'claimed': {
      const { rid } = claim
      const settleAsk = { rid, event: null, chargeMicro: microUsd(0), aheadMicro: amount, waitMs: WAIT_MS }
      return answer(read, network, await settlePayment(ctx, settleAsk))
    }
  }
}

type OutsideClaim = Exclude<ClaimAnswer, { state: 'claimed' }> | { readonly state: 'claimed'; readonly rid: RequestId }

/** Claims a payment without a call. The signed amount is the upper bound. */
async function claimOutside(ctx: FacilitateCtx, ask: Ask, { signed, most }: ReadPayment): Promise<OutsideClaim> {
  const rid = ctx.ids.requestId()
  const { scheme } = signed.requirements
  const amount = scheme === 'upto' ? most : BigInt(signed.requirements.amount)
  const claim = await claimPayment(ctx, {
    rid,
    rail: scheme === 'upto' ? 'x402-upto' : 'x402-exact',
    amountMicro: microUsd(amount),
    bodyDigest: createHash('sha256').update(JSON.stringify(ask)).digest('hex'),
    payload: ask.paymentPayload,
    requirement: { ...ask.paymentRequirements, amount: amount.toString() },
    // No call follows.
    serveUntil: ctx.clock.now(),
  })
  return claim.state === 'claimed' ? { state: 'claimed', rid } : claim
}

function isForUs({ payments }: PaymentCtx, { network, asset, payTo }: PaymentRequirements): boolean {
  return (
    network === payments.network &&
    asset.toLowerCase() === payments.asset.toLowerCase() &&
    payTo.toLowerCase() === payments.payTo.toLowerCase()
  )
}

function findClaim({ ledger, payments }: PaymentCtx, { payer, nonce }: ReadPayment): Promise<ChainPayment | undefined> {
  return ledger.payments.findOf({ network: payments.network, asset: payments.asset.toLowerCase(), payer, nonce })
}

/** The state of a payment that an earlier request claimed. */
function standing({ state, payer, network, transaction, due, came, reason }: ChainPayment): SettleResponse {
  const transactionPart = { transaction: transaction ?? '', network: asNetwork(network), payer }
  switch (state) {
    case 'mined':
    case 'confirmed':
      return { success: true, ...transactionPart, amount: (came ?? due ?? 0n).toString() }
    case 'due':
      return { success: false, errorReason: 'settlement_pending', ...transactionPart }
    case 'claimed':
    case 'released':
      return { success: false, errorReason: 'payment_already_used', ...transactionPart }
    case 'written_off':
      return { success: false, errorReason: reason ?? 'unexpected_settle_error', ...transactionPart }
  }
}

function answer(
  { payer }: ReadPayment,
  network: `eip155:${number}`,
  { state, transaction, amountMicro, reason }: SettleAnswer,
): SettleResponse {
  const transactionPart = { transaction: transaction ?? '', network, payer }
  if (state === 'settled') return { success: true, ...transactionPart, amount: amountMicro.toString() }
  return {
    success: false,
    errorReason: state === 'pending' ? 'settlement_pending' : (reason ?? 'failed'),
    ...transactionPart,
  }
}

function asNetwork(text: string): `${string}:${string}` {
  const [namespace = '', reference = ''] = text.split(':')
  return `${namespace}:${reference}`
}
