import type { ChainPayment, PaymentChange } from '#control-plane/db/chain-payments.ts'
import { hasOpenPayments } from '#control-plane/db/open-work.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import type { Chain } from '#control-plane/ports/chain/chain.ts'
import { askToTake } from '#control-plane/services/gate/may-leave.ts'
import { MINUTE } from '#shared/clock.ts'
import { chainIdOf } from '#shared/contract/chain-payments.ts'
import type { RequestId } from '#shared/ids.ts'
import type { BookCtx } from './book-payment.ts'
import { bookPayment } from './book-payment.ts'
import { takeUpArrival } from './late-arrival.ts'
import { isOver, onChain } from './payment-on-chain.ts'
import type { PaymentEvent } from './payment-states.ts'
import { PAYMENT_STATES } from './payment-states.ts'
import { NOT_ON_CHAIN, pursue } from './settle-payment.ts'

/** Most payments of each kind in one turn. */
const MAX_A_TURN = 200
/** Blocks that are read at once. Each read waits for the chain's endpoint, which may be far away. */
const LOOKS_AT_ONCE = 8
/**
 * Time after the end of a payment in which its call's charge may still arrive: the heir of a dead process reads the
 * journal first.
 */
const TELLING_MS = 10 * MINUTE
/**
 * Time after the end of a payment for which its transfer is still looked for, if it was given up: news of a block
 * arrives later than the block.
 */
const AFTERLIFE_MS = 10 * MINUTE

export type FinishCtx = BookCtx
export type TurnCtx = FinishCtx & Pick<Ctx, 'db'>
export type Finished = {
  readonly sent: number
  readonly confirmed: number
  readonly booked: number
  readonly expired: number
}

/**
 * Moves payments on: sends due transfers, checks whether blocks are deep enough, and books. A failed step does not stop
 * the others, because the books do not need the chain.
 */
export async function finishPayments(ctx: FinishCtx): Promise<Finished> {
  const attempt = attempter(ctx)
  const sentCount = await attempt('send', () => send(ctx))
  const confirmed = await attempt('confirm', () => confirm(ctx))
  const expired = await attempt('expire', () => expire(ctx))
  await attempt('watch', () => watch(ctx))
  const booked = await attempt('book', () => book(ctx))
  return { sent: sentCount, confirmed, booked, expired }
}

/**
 * A worker's turn: {@link finishPayments} while a payment is open. Otherwise one query shows that none is, and only the
 * transactions of the settlement key are tended.
 */
export async function finishOpenPayments(ctx: TurnCtx): Promise<Finished> {
  if (await hasOpenPayments(ctx.db)) return finishPayments(ctx)
  const sentCount = await attempter(ctx)('send', () => ctx.payments.sendAgain(() => askToTake(ctx)))
  return { sent: sentCount, confirmed: 0, booked: 0, expired: 0 }
}

function attempter({ log }: FinishCtx) {
  return async (what: string, work: () => Promise<number>): Promise<number> => {
    try {
      return await work()
    } catch (error) {
      log.warn({ err: error, step: what }, 'payments: a step will be tried again')
      return 0
    }
  }
}

async function send(ctx: FinishCtx): Promise<number> {
  await ctx.payments.sendAgain(() => askToTake(ctx))
  const due = await ctx.ledger.payments.listOpen(['due'], ctx.payments.times.restingMs, MAX_A_TURN)
  await Promise.all(due.map((payment) => pursue(ctx, payment)))
  return due.length
}

async function book(ctx: FinishCtx): Promise<number> {
  let booked = 0
  for (const payment of await ctx.ledger.payments.listUnbooked(TELLING_MS, MAX_A_TURN)) {
    try {
      await bookPayment(ctx, payment)
      booked += 1
    } catch (error) {
      // A payment that cannot be booked needs an operator, and delays no other.
      ctx.log.error({ err: error, rid: payment.rid }, 'a payment could not be booked')
    }
  }
  return booked
}

/** Checks the blocks of mined transfers. A transfer whose block is gone is due again, with the same signed bytes. */
async function confirm(ctx: FinishCtx): Promise<number> {
  const { chain, network } = ctx.payments
  const mined = await ctx.ledger.payments.listOpen(['mined'], 0, MAX_A_TURN)
  if (mined.length === 0) return 0
  if (chain === null) {
    for (const { rid, due } of mined) await step(ctx, rid, 'confirm', { came: due })
    return mined.length
  }
  await chain.checkChain(chainIdOf(network))
  const head = await chain.head()
  const isFinal = (payment: ChainPayment): Promise<boolean> =>
    look(ctx, chain, payment, head).catch((error: unknown) => {
      ctx.log.warn({ err: error, rid: payment.rid }, 'a payment will be looked up again')
      return false
    })
  let count = 0
  for (let at = 0; at < mined.length; at += LOOKS_AT_ONCE) {
    const final = await Promise.all(mined.slice(at, at + LOOKS_AT_ONCE).map(isFinal))
    count += final.filter(Boolean).length
  }
  return count
}

/** Checks the block of one transfer. True when it is final. */
async function look(ctx: FinishCtx, chain: Chain, payment: ChainPayment, head: Head): Promise<boolean> {
  const { rid, transaction } = payment
  if (transaction === null) return false
  const receipt = await chain.receiptOf(transaction, onChain(payment))
  if (receipt === undefined || receipt.isReverted) {
    // The chain was reorganised: the transfer is gone, or it failed in its new block.
    ctx.log.warn({ rid, transaction }, 'the block of a payment is gone from the chain')
    await ctx.payments.unmine(transaction)
    await step(ctx, rid, 'unmine')
    return false
  }
  const { block, moved } = receipt
  if (head.block - block + 1n < BigInt(ctx.payments.confirmations)) return false
  if (moved === 0n) {
    ctx.log.error({ rid, transaction }, 'the facilitator named a transaction that does not pay us')
    // Until the authorization expires, the transfer may still happen.
    if (isOver(payment, head.at)) await step(ctx, rid, 'disprove', { reason: NOT_ON_CHAIN })
    else await step(ctx, rid, 'unmine')
    return false
  }
  await step(ctx, rid, ...endOf(ctx, payment, { block, came: moved }))
  return true
}

/** The code of a payment that moved less than the price of its call. */
const UNDERPAID = 'transfer_too_small'

/**
 * The end of a payment whose transfer is final. Its authorization is used up, so no more will arrive: an amount beyond
 * the charge is the payer's credit, and a missing amount is the payer's debt.
 */
function endOf(
  { log }: FinishCtx,
  { rid, transaction, due, charge }: ChainPayment,
  reading: { readonly block: bigint; readonly came: bigint },
): readonly [PaymentEvent, ChainState] {
  const { came } = reading
  if (came !== due)
    log.error({ rid, transaction, due, came }, 'the facilitator settled another amount than was requested')
  return came < (charge ?? due ?? 0n) ? ['underpay', { ...reading, reason: UNDERPAID }] : ['confirm', reading]
}

/**
 * Looks for transfers of payments that were written off. A reorganised chain may mine a transfer that had failed, and
 * anybody may send an exact payment. Such a payment is booked as usual, and its payer is no debtor any more.
 */
async function watch(ctx: FinishCtx): Promise<number> {
  const { chain, network, memory, times } = ctx.payments
  const now = ctx.clock.monotonic()
  if (chain === null || now - memory.watchedAt < times.watchEveryMs) return 0
  const writtenOff = await ctx.ledger.payments.listWrittenOff(MAX_A_TURN)
  memory.watchedAt = now
  if (writtenOff.length === 0) return 0
  await chain.checkChain(chainIdOf(network))
  const { at } = await chain.head()
  let count = 0
  for (const payment of writtenOff) {
    try {
      if (await seek(ctx, chain, payment, at)) count += 1
    } catch (error) {
      // A payment whose check failed delays no other.
      ctx.log.warn({ err: error, rid: payment.rid }, 'a payment that was written off will be looked for again')
    }
  }
  return count
}

/** Looks for the transfer of a payment that was written off. True when it has arrived. */
async function seek(ctx: FinishCtx, chain: Chain, payment: ChainPayment, at: number): Promise<boolean> {
  const transaction = await chain.findTransfer(onChain(payment))
  if (transaction === undefined) {
    const isLast = isOver(payment, at - AFTERLIFE_MS)
    if (isLast) await ctx.ledger.transact((trx) => trx.payments.markSought(payment.rid))
    return false
  }
  ctx.log.warn({ rid: payment.rid, transaction }, 'a payment that was written off has arrived')
  await step(ctx, payment.rid, 'appear', { transaction, bookedAt: null })
  return true
}

type Head = Awaited<ReturnType<Chain['head']>>
/** The state of a payment on the chain. */
type ChainState = Pick<PaymentChange, 'block' | 'came' | 'transaction' | 'reason' | 'bookedAt'>

async function step(ctx: FinishCtx, rid: RequestId, event: PaymentEvent, chainState: ChainState = {}): Promise<void> {
  await ctx.ledger.transact(async (trx) => {
    const payment = await trx.payments.lock(rid)
    const state = payment && PAYMENT_STATES[payment.state][event]
    if (payment === undefined || state == null) return
    await trx.payments.change(rid, { state, ...chainState })
    if (state === 'released') await takeUpArrival(trx.payments, { ...payment, state })
  })
}

/** Ends claims whose authorization has expired. Their money can no longer be taken. */
async function expire(ctx: FinishCtx): Promise<number> {
  const openPayments = await ctx.ledger.payments.listOpen(['claimed'], MINUTE, MAX_A_TURN)
  const over = openPayments.filter((payment) => isOver(payment, ctx.clock.now()))
  for (const { rid } of over) await step(ctx, rid, 'release')
  return over.length
}
