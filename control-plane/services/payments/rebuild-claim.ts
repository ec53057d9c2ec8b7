import { z } from 'zod'
import type { ChainPayment, PaymentChange } from '#control-plane/db/chain-payments.ts'
import type { MoneyTransaction } from '#control-plane/ports/ledger/money-ledger.ts'
import { PAYMENT_POSTINGS } from '#control-plane/services/booking/rail-postings.ts'
import { isPoison, readEvent } from '#control-plane/services/booking/read-event.ts'
import { newUser } from '#control-plane/services/users/new-user.ts'
import type { HeldClaim } from '#shared/contract/chain-payments.ts'
import { CHAIN_RAILS, KeptClaimSchema } from '#shared/contract/chain-payments.ts'
import { isId, parseRequestId } from '#shared/ids.ts'
import { inParallel } from '#shared/in-parallel.ts'
import { isOfContract } from './is-contract.ts'
import type { PaymentCtx } from './payment-ctx.ts'
import { settlerOf } from './payment-on-chain.ts'
import { PAYMENT_STATES } from './payment-states.ts'
import { readSignedPayment } from './signed-payment.ts'

/** The part of an event's payment that holds the claim. */
const RecordSchema = z.looseObject({ claim: KeptClaimSchema })

/** Lost claims that are made again at once, each in a transaction of its own. */
const KEPT_AT_ONCE = 8

/** A claim that was made again, and the event with its present account. */
export type Rebuilt = { readonly payment: ChainPayment; readonly event: string }

/**
 * Makes a call's claim again that the ledger lost, from the data plane's record in the event. Money that arrived and
 * was credited meanwhile stays credit, and the call is charged to it. Undefined for an event without a claim, and when
 * another call has claimed the authorization since.
 */
export async function rebuildClaim(
  ctx: Pick<PaymentCtx, 'ids' | 'clock' | 'log' | 'payments'>,
  trx: MoneyTransaction,
  { text, isContract }: { readonly text: string; readonly isContract: boolean },
): Promise<Rebuilt | undefined> {
  const keptClaim = readKeptClaim(text)
  if (keptClaim === undefined) return undefined
  const { event, rid, rail, claim } = keptClaim
  const held = { ...claim, rid, rail, account: event.account }
  const made = await makeAgain(ctx, trx, held, { sparesCredit: false, isContract })
  if (made === undefined) return undefined
  const { payment, isCredited } = made
  const own = payment.account === event.account ? text : withAccount(text, payment.account)
  if (!isCredited) return { payment, event: own }
  // The money is the payer's credit by now, so nothing is due, and the charge is booked on its own.
  const charge: bigint = event.chargeMicro
  const state = PAYMENT_STATES[payment.state].credit ?? payment.state
  const change: PaymentChange = { event: own, charge, due: payment.amount, state }
  await trx.payments.change(rid, change)
  return { payment: { ...payment, ...change }, event: own }
}

type Held = Omit<HeldClaim, 'account'> & { readonly account: string | null }
type MadeAgain = { readonly payment: ChainPayment; readonly isCredited: boolean }

/**
 * Undefined for an unreadable claim, and when another call has the authorization. `isCredited`: its money arrived, and
 * is the payer's credit. With `sparesCredit` such a claim is not made.
 */
async function makeAgain(
  ctx: Pick<PaymentCtx, 'ids' | 'clock' | 'log'>,
  trx: MoneyTransaction,
  { rid, rail, account, ...claim }: Held,
  { sparesCredit, isContract }: { readonly sparesCredit: boolean; readonly isContract: boolean },
): Promise<MadeAgain | undefined> {
  const signedPayment = readSignedPayment(claim.payload, claim.requirement)
  if (signedPayment === undefined) return undefined
  const { payload, requirements: requirement } = signedPayment.signed
  const { network, asset } = requirement
  const { payer, nonce, validUntil } = signedPayment
  const name = { network, asset: asset.toLowerCase(), payer, nonce }
  await trx.payments.lockPayer(payer)
  const transfer = { ...name, settledBy: settlerOf({ requirement }), transaction: null }
  const isCredited = await trx.payments.wasCredited(transfer)
  if (isCredited && sparesCredit) return undefined
  const own = account !== null && isId('acc', account) ? { buyerAccount: account } : {}
  const user = await trx.payments.ensureUser({ ...newUser(ctx, payer), ...own }, ctx.clock.now())
  if (user === undefined) throw new Error(`the user of ${payer} is being made`)
  const isNew = await trx.payments.insert({
    ...name,
    rid,
    rail,
    account: user.buyerAccount,
    amount: claim.amountMicro,
    bodyDigest: claim.bodyDigest,
    payload,
    requirement,
    validUntil,
    serveUntil: new Date(claim.serveUntil),
    isContract,
  })
  const payment = isNew ? await trx.payments.lock(rid) : undefined
  if (payment === undefined) return undefined
  ctx.log.warn({ rid, payer }, 'the claim of a call was lost, and is made again')
  return { payment, isCredited }
}

/**
 * Makes claims again that a restored ledger lost. Data planes report their open claims before a new claim is accepted:
 * otherwise the same authorization would pay for a second call while the first is served, or waits to be settled.
 */
export async function keepClaims(
  ctx: Pick<PaymentCtx, 'ids' | 'clock' | 'log' | 'ledger' | 'payments'>,
  claims: readonly HeldClaim[],
): Promise<void> {
  const knownRids = await ctx.ledger.payments.listKnown(claims.map(({ rid }) => rid))
  const lostClaims = claims.filter(({ rid }) => !knownRids.has(rid))
  await inParallel(lostClaims, KEPT_AT_ONCE, async (claim) => {
    const read = readSignedPayment(claim.payload, claim.requirement)
    // While the chain does not answer, a payer counts as a contract, which has the stricter limit.
    const isContract = read === undefined || (await isOfContract(ctx, read)) !== false
    await ctx.ledger.transact(async (trx) => {
      if ((await trx.payments.lock(claim.rid)) !== undefined) return
      // A claim whose money became credit is made with the report of its charge.
      await makeAgain(ctx, trx, claim, { sparesCredit: true, isContract })
    })
  })
}

/** Reads the claim in an event. Undefined for an event without one. */
export function readKeptClaim(text: string) {
  const read = readEvent(text, 'payment', PAYMENT_POSTINGS)
  if (isPoison(read)) return undefined
  const { event } = read
  const rid = parseRequestId(event.rid)
  const rail = CHAIN_RAILS.find((name) => name === event.rail)
  const record = RecordSchema.safeParse(event.payment)
  if (rid === undefined || !record.success || rail === undefined) return undefined
  const { claim } = record.data
  const signedPayment = readSignedPayment(claim.payload, claim.requirement)
  return signedPayment && { event, rid, rail, claim, signed: signedPayment }
}

const AnyEvent = z.record(z.string(), z.unknown())

/** An event of a wallet whose account has changed since its payment. */
export function withAccount(text: string, account: string): string {
  return JSON.stringify({ ...AnyEvent.parse(JSON.parse(text)), account })
}
