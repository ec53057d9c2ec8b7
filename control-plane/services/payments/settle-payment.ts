import { createHash } from 'node:crypto'
import type { z } from 'zod'
import type { ChainPayment, PaymentChange } from '#control-plane/db/chain-payments.ts'
import type { Transfer } from '#control-plane/ports/facilitator/facilitator.ts'
import { PAYMENT_POSTINGS } from '#control-plane/services/booking/rail-postings.ts'
import type { ReadEvent } from '#control-plane/services/booking/read-event.ts'
import { isPoison, poisonOf, readEvent } from '#control-plane/services/booking/read-event.ts'
import { askToTake } from '#control-plane/services/gate/may-leave.ts'
import type { SettleAnswer, SettleAskSchema } from '#shared/contract/chain-payments.ts'
import { chainIdOf, LEAST_PAYMENT_MICRO } from '#shared/contract/chain-payments.ts'
import { crashPoint } from '#shared/crash-point.ts'
import { AppError } from '#shared/errors.ts'
import type { RequestId } from '#shared/ids.ts'
import { microUsd } from '#shared/money.ts'
import type { BookCtx } from './book-payment.ts'
import { bookLateCharge } from './book-payment.ts'
import { isOfContract } from './is-contract.ts'
import { takeUpArrival } from './late-arrival.ts'
import type { PaymentCtx } from './payment-ctx.ts'
import { isOver, onChain, settlerOf } from './payment-on-chain.ts'
import type { PaymentEvent } from './payment-states.ts'
import { PAYMENT_STATES } from './payment-states.ts'
import { readKeptClaim, rebuildClaim, withAccount } from './rebuild-claim.ts'
import { readSignedPayment } from './signed-payment.ts'

/** `aheadMicro` is the amount that is taken before the service; the whole amount by default. */
type Ask = z.output<typeof SettleAskSchema> & { readonly aheadMicro?: bigint }

const RELEASED = 'The payment was released.'

/** Milliseconds before a refused transfer is tried again. The refusal may come from a passing state of the chain. */
const SECOND_TRY_MS = 300
/** Milliseconds between the attempts that one caller waits for. */
const NEXT_TRY_MS = 500

/**
 * Stores the charge of a call, and transfers it. The charge is durable before the chain is asked, so the transfer
 * happens even when this process dies. Waits for the chain as long as the caller wants. A repeat changes nothing.
 */
export async function settlePayment(ctx: BookCtx, ask: Ask): Promise<SettleAnswer> {
  const noted = await noteCharge(ctx, ask, undefined)
  const payment = noted === 'lost' ? await noteLost(ctx, ask) : noted
  if (payment === undefined) return setAside(ctx, ask)
  // Money that was taken ahead of a call is its payer's credit by now.
  if (payment.bookedAt !== null) await bookLateCharge(ctx, payment)
  if (payment.state !== 'due') return answerOf(payment)
  const end = ctx.clock.monotonic() + ask.waitMs
  for (;;) {
    const pursuit = pursue(ctx, payment)
    const leftMs = end - ctx.clock.monotonic()
    if (leftMs <= 0) return answerOf((await ctx.ledger.payments.find(ask.rid)) ?? payment)
    await Promise.race([pursuit, ctx.clock.sleep(leftMs)])
    const now = await ctx.ledger.payments.find(ask.rid)
    if (now === undefined || now.state !== 'due') return answerOf(now ?? payment)
    await ctx.clock.sleep(Math.min(NEXT_TRY_MS, Math.max(0, end - ctx.clock.monotonic())))
  }
}

function answerOf({ state, transaction, due, came, reason }: ChainPayment): SettleAnswer {
  const answer = { transaction, amountMicro: microUsd(came ?? due ?? 0n), reason }
  switch (state) {
    case 'mined':
    case 'confirmed':
      return { state: 'settled', ...answer, reason: null }
    case 'written_off':
      return { state: 'failed', ...answer, reason: reason ?? 'unexpected_settle_error' }
    case 'released':
      return { state: 'settled', ...answer, reason: null }
    case 'claimed':
    case 'due':
      return { state: 'pending', ...answer }
  }
}

/**
 * Stores the charge of a call whose claim is lost. The chain is read outside the transaction: it shows whether the
 * payer is a contract.
 */
async function noteLost(ctx: PaymentCtx, ask: Ask): Promise<ChainPayment | undefined> {
  const keptClaim = ask.event === null ? undefined : readKeptClaim(ask.event)
  const byContract = keptClaim === undefined ? false : await isOfContract(ctx, keptClaim.signed)
  if (byContract === null) throw new AppError('service_unavailable', { retryAfterSeconds: 1 })
  const noted = await noteCharge(ctx, ask, byContract)
  return noted === 'lost' ? undefined : noted
}

/**
 * Stores the charge of a call. A lost claim is made again from the event; undefined when it cannot be, and `lost` while
 * it is unknown whether the payer is a contract. Throws `not_found` for a call without a claim and an event. The first
 * charge counts: the heir of a process that died before it recorded the charge may report another, which is kept as a
 * conflict.
 */
async function noteCharge(
  ctx: PaymentCtx,
  { rid, event: eventText, chargeMicro, aheadMicro }: Ask,
  isContract: boolean | undefined,
): Promise<ChainPayment | 'lost' | undefined> {
  const charge: bigint = chargeMicro
  return ctx.ledger.transact(async (trx) => {
    const before = await trx.payments.lock(rid)
    if (before === undefined && eventText === null) throw new AppError('not_found')
    if (before === undefined && isContract === undefined) return 'lost'
    const lostEvent = eventText === null || isContract === undefined ? undefined : { text: eventText, isContract }
    const rebuilt =
      before === undefined && lostEvent !== undefined ? await rebuildClaim(ctx, trx, lostEvent) : undefined
    // A different report, of the charge or of open claims, may have made the claim again meanwhile.
    const known = before ?? (rebuilt === undefined ? await trx.payments.lock(rid) : undefined)
    const payment = known ?? rebuilt?.payment
    if (payment === undefined) return undefined
    const event = rebuilt?.event ?? (eventText === null ? null : asOfNow(payment, eventText))
    if (event !== null) {
      const { payloadHash } = requireEvent(payment, event, charge)
      if (payment.event !== null) {
        if (payment.event === event) return payment
        ctx.log.warn({ rid }, 'a payment received two charges: the first one counts')
        await trx.insertConflicts([{ rid, payloadHash, event, source: 'payment' }])
        return payment
      }
    }
    const owed = event === null ? (aheadMicro ?? payment.amount) : charge
    // A call that cost nothing takes nothing, not even the least price.
    const state = PAYMENT_STATES[payment.state][owed === 0n ? 'release' : 'charge']
    if (event === null && payment.state === 'released') throw new AppError('conflict', { message: RELEASED })
    const next: PaymentChange = {
      ...(event === null ? {} : { event, charge }),
      ...(state === null ? {} : { state }),
      ...(state === 'due' ? { due: dueOf(payment, owed) } : {}),
    }
    if (Object.keys(next).length === 0) return payment
    await trx.payments.change(rid, next)
    const after = { ...payment, ...next }
    if (after.state === 'released') await takeUpArrival(trx.payments, after)
    return after
  })
}

/** The code of a charge whose claim is lost and cannot be made again. */
const CLAIM_LOST = 'claim_lost'

/** Sets the event of a call with an unknown payment aside for a person, so that no process asks about it for ever. */
async function setAside({ ledger, log }: PaymentCtx, { rid, event }: Ask): Promise<SettleAnswer> {
  log.error({ rid }, 'the payment of a call is lost: its event was set aside')
  if (event !== null) {
    const payloadHash = createHash('sha256').update(event).digest('hex')
    await ledger.insertPoison([
      poisonOf({ text: event, payloadHash }, { rid, reason: CLAIM_LOST, detail: '', source: 'payment' }),
    ])
  }
  return { state: 'failed', transaction: null, amountMicro: microUsd(0), reason: CLAIM_LOST }
}

/** An event of the payment's wallet, with the account of a claim that was made again. Other texts stay as they are. */
function asOfNow({ payer, account }: ChainPayment, text: string): string {
  const read = readEvent(text, 'payment', PAYMENT_POSTINGS)
  if (isPoison(read) || read.event.wallet !== payer || read.event.account === account) return text
  return withAccount(text, account)
}

/** Reads an event. Throws `invalid_request` for an event that could not be booked later. */
function requireEvent({ rid, rail, account, amount }: ChainPayment, event: string, charge: bigint): ReadEvent {
  const read = readEvent(event, 'payment', PAYMENT_POSTINGS)
  if (isPoison(read)) throw new AppError('invalid_request', { message: `The event is not valid: ${read.reason}.` })
  const { event: eventText } = read
  const isItsOwn = eventText.rid === rid && eventText.rail === rail && eventText.account === account
  if (!isItsOwn || eventText.chargeMicro !== charge || charge > amount) {
    throw new AppError('invalid_request', { message: 'The event belongs to another payment.' })
  }
  return read
}

/**
 * An exact payment is taken whole. From any other payment at least the least price is taken; the surplus is the payer's
 * credit.
 */
function dueOf({ requirement, amount }: ChainPayment, charge: bigint): bigint {
  if (requirement['scheme'] !== 'upto') return amount
  const least = charge < LEAST_PAYMENT_MICRO ? LEAST_PAYMENT_MICRO : charge
  return least > amount ? amount : least
}

/** Ends a claim whose call owes nothing. Money that was taken ahead becomes the payer's credit. */
export async function releasePayment(ctx: Pick<PaymentCtx, 'ledger' | 'clock'>, rid: RequestId): Promise<void> {
  await ctx.ledger.transact(async (trx) => {
    const payment = await trx.payments.lock(rid)
    if (payment === undefined) throw new AppError('not_found')
    const state = PAYMENT_STATES[payment.state].release
    if (state !== null) {
      await trx.payments.change(rid, { state })
      await takeUpArrival(trx.payments, { ...payment, state })
    } else if (payment.event === null && payment.serveUntil.getTime() > ctx.clock.now()) {
      await trx.payments.change(rid, { serveUntil: new Date(ctx.clock.now()) })
    }
  })
}

/**
 * Transfers the amount that a payment owes. In one process, one transfer at a time works on a payment. Never rejects.
 */
export function pursue(ctx: PaymentCtx, payment: ChainPayment): Promise<void> {
  const { underWay } = ctx.payments.memory
  const { rid } = payment
  const running = underWay.get(rid)
  if (running !== undefined) return running
  const task = transfer(ctx, payment)
    .catch((error: unknown) => ctx.log.warn({ err: error, rid }, 'a payment will be tried again'))
    .finally(() => underWay.delete(rid))
  underWay.set(rid, task)
  return task
}

async function transfer(ctx: PaymentCtx, payment: ChainPayment): Promise<void> {
  let outcome = await settle(ctx, payment)
  if (outcome.state === 'refused') {
    await ctx.clock.sleep(SECOND_TRY_MS)
    outcome = await settle(ctx, payment)
  }
  crashPoint('payment_mined')
  await noteTransfer(ctx, payment.rid, outcome)
}

async function settle(ctx: PaymentCtx, payment: ChainPayment): Promise<Transfer> {
  const read = readSignedPayment(payment.payload, payment.requirement)
  if (read === undefined || payment.due === null) {
    // A newer release may parse payments more strictly than the release that stored this one. Such a payment still
    // ends.
    const end = await lastWord(ctx, payment, UNREADABLE)
    if (end !== undefined) return end
    throw new Error('a stored payment cannot be read')
  }
  const { payload, requirements } = read.signed
  const leave = await askToTake(ctx)
  // The row was read before the permission was given, and the ledger may have lost it since.
  const now = leave && (await ctx.ledger.payments.find(payment.rid))
  if (leave === undefined || now?.due !== payment.due) return RESTORED
  const amount = payment.due.toString()
  const outcome = await ctx.payments.facilitator.settle({ payload, requirements: { ...requirements, amount } }, leave)
  if (outcome.state === 'refused') return (await takenByOthers(ctx, payment)) ?? outcome
  return (await lastWord(ctx, payment, outcome)) ?? outcome
}

/**
 * Looks for a refused transfer on the chain: any holder of the authorization may have sent it. This market may have
 * sent it as well, before the database lost the record. Throws while the chain does not answer, because a refusal is
 * final only after its answer.
 */
async function takenByOthers({ payments, log }: PaymentCtx, payment: ChainPayment): Promise<Transfer | undefined> {
  const { chain, network } = payments
  if (chain === null) return undefined
  await chain.checkChain(chainIdOf(network))
  const transaction = await chain.findTransfer(onChain(payment))
  if (transaction === undefined) return undefined
  log.warn({ rid: payment.rid, transaction }, 'another sender sent the transfer of a payment')
  return { state: 'mined', transaction }
}

/** A restored ledger takes nothing before its restore is recorded. */
const RESTORED: Transfer = { state: 'pending', transaction: null, reason: 'ledger_restored' }
const UNREADABLE: Transfer = { state: 'pending', transaction: null, reason: 'unreadable' }

/** The code of an expired payment whose facilitator named a transfer, or promised one, that is not on the chain. */
export const NOT_ON_CHAIN = 'transfer_not_on_chain'

/**
 * The chain's answer about a payment that can no longer be taken, whatever its facilitator says. Undefined while the
 * payment can be taken, and while the facilitator is right. Throws while the chain does not answer.
 */
async function lastWord(ctx: PaymentCtx, payment: ChainPayment, outcome: Transfer): Promise<Transfer | undefined> {
  const { chain } = ctx.payments
  // This clock only saves a read. The chain's own clock decides whether the time is over.
  if (chain === null || payment.validUntil.getTime() > ctx.clock.now()) return undefined
  if (!isOver(payment, (await chain.head()).at)) return undefined
  if (outcome.state === 'mined') {
    const receipt = await chain.receiptOf(outcome.transaction, onChain(payment))
    if (receipt !== undefined && receipt.moved > 0n) return undefined
  }
  return (await takenByOthers(ctx, payment)) ?? { state: 'refused', reason: NOT_ON_CHAIN }
}

/** A transfer that was credited as a deposit before it was matched to its payment. */
type Credited = { readonly state: 'credited' }

/** Stores the outcome of a transfer. */
async function noteTransfer(ctx: PaymentCtx, rid: RequestId, outcome: Transfer): Promise<void> {
  await ctx.ledger.transact(async (trx) => {
    const payment = await trx.payments.lock(rid)
    if (payment === undefined) throw new Error('a payment without a row')
    const transaction = outcome.state === 'mined' ? outcome.transaction : null
    const settled = { ...payment, settledBy: settlerOf(payment), transaction }
    const isCredit = transaction !== null && (await trx.payments.wasCredited(settled))
    const change = changeFor(payment, isCredit ? { state: 'credited' } : outcome)
    if (change === undefined) return
    if (change.state === 'written_off') {
      ctx.log.error(
        { rid, payer: payment.payer, reason: change.reason },
        'a payment was written off: its payer is refused',
      )
    }
    await trx.payments.change(rid, change)
    if (change.state === 'written_off') await takeUpArrival(trx.payments, { ...payment, ...change })
  })
}

function changeFor({ state }: ChainPayment, outcome: Transfer | Credited): PaymentChange | undefined {
  const after = (event: PaymentEvent) => PAYMENT_STATES[state][event]
  switch (outcome.state) {
    case 'mined': {
      const next = after('mine')
      return next === null ? undefined : { state: next, transaction: outcome.transaction, reason: null }
    }
    case 'pending':
      if (after('mine') === null) return undefined
      return { reason: outcome.reason, ...(outcome.transaction === null ? {} : { transaction: outcome.transaction }) }
    case 'credited': {
      // The money is the payer's credit by now, and the charge is booked on its own.
      const next = after('credit')
      return next === null ? undefined : { state: next, reason: null }
    }
    case 'refused': {
      const next = after('refuse')
      return next === null ? undefined : { state: next, reason: outcome.reason.slice(0, 200) }
    }
  }
}
