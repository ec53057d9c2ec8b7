import { z } from 'zod'
import type { ChainPayment, PaymentChange } from '#control-plane/db/chain-payments.ts'
import type { MoneyTransaction } from '#control-plane/ports/ledger/money-ledger.ts'
import { PAYMENT_POSTINGS } from '#control-plane/services/money/rail-postings.ts'
import { isPoison, readEvent } from '#control-plane/services/money/usage-reading.ts'
import { newUser } from '#control-plane/services/users.ts'
import { CHAIN_RAILS, KeptClaimSchema } from '#shared/contract/chain-payments.ts'
import { isId, parseRequestId } from '#shared/ids.ts'
import type { PaymentCtx } from './payment-ctx.ts'
import { settlerOf } from './payment-on-chain.ts'
import { PAYMENT_STATES } from './payment-states.ts'
import { readSignedPayment } from './signed-payment.ts'

/** The part of an event's payment in which the claim stands. */
const RecordSchema = z.looseObject({ claim: KeptClaimSchema })

/** A claim that was made again, and the event as its account of now has it. */
export type Rebuilt = { readonly payment: ChainPayment; readonly event: string }

/**
 * Makes the claim of a call again that the ledger lost, from what the data plane kept with the event. Money that came
 * meanwhile and was credited stays credit, and the call is charged to it. Undefined for an event without a claim, and when
 * another call has claimed the authorization since.
 */
export async function rebuildClaim(
  ctx: Pick<PaymentCtx, 'ids' | 'clock' | 'log' | 'payments'>,
  trx: MoneyTransaction,
  text: string,
): Promise<Rebuilt | undefined> {
  const read = readEvent(text, 'payment', PAYMENT_POSTINGS)
  if (isPoison(read)) return undefined
  const { event } = read
  const rid = parseRequestId(event.rid)
  const rail = CHAIN_RAILS.find((name) => name === event.rail)
  const record = RecordSchema.safeParse(event.payment)
  if (rid === undefined || !record.success || rail === undefined) return undefined
  const { claim } = record.data
  const signed = readSignedPayment(claim.payload, claim.requirement)
  if (signed === undefined) return undefined
  const { network, asset } = signed.signed.requirements
  const { payer, nonce, validUntil, isOfKey } = signed
  const name = { network, asset: asset.toLowerCase(), payer, nonce }
  await trx.payments.lockExposure(payer, { at: new Date(ctx.clock.now()), moved: [] })
  const account = event.account !== null && isId('acc', event.account) ? { buyerAccount: event.account } : {}
  const user = await trx.payments.ensureUser({ ...newUser(ctx, payer), ...account }, ctx.clock.now())
  if (user === undefined) throw new Error(`the user of ${payer} is being made`)
  const isNew = await trx.payments.insert({
    ...name,
    ...{ rid, rail, account: user.buyerAccount, amount: claim.amountMicro, bodyDigest: claim.bodyDigest },
    ...{ payload: signed.signed.payload, requirement: signed.signed.requirements },
    ...{ validUntil, serveUntil: new Date(claim.serveUntil), isContract: !isOfKey },
  })
  const payment = isNew ? await trx.payments.lock(rid) : undefined
  if (payment === undefined) return undefined
  ctx.log.warn({ rid, payer }, 'the claim of a call was lost, and is made again')
  const own = user.buyerAccount === event.account ? text : withAccount(text, user.buyerAccount)
  const came = { ...name, settledBy: settlerOf(payment), transaction: null }
  if (!(await trx.payments.wasCredited(came))) return { payment, event: own }
  // Its money is the payer's credit by now, so nothing is due, and the charge is booked by itself.
  const charge: bigint = event.chargeMicro
  const state = PAYMENT_STATES[payment.state].credit ?? payment.state
  const change: PaymentChange = { event: own, charge, due: payment.amount, state }
  await trx.payments.change(rid, change)
  return { payment: { ...payment, ...change }, event: own }
}

/** An event of a wallet that has another account than when it paid. */
export function withAccount(text: string, account: string): string {
  return JSON.stringify({ ...z.record(z.string(), z.unknown()).parse(JSON.parse(text)), account })
}
