import {
  changeChainPayment,
  listOpenChainPayments,
  listUnbookedChainPayments,
  lockChainPayment,
} from '#control-plane/db/chain-payments.ts'
import { transact } from '#control-plane/db/database.ts'
import { MINUTE, SECOND } from '#shared/clock.ts'
import type { RequestId } from '#shared/ids.ts'
import type { BookCtx } from './book-payment.ts'
import { bookPayment } from './book-payment.ts'
import type { PaymentEvent } from './payment-states.ts'
import { PAYMENT_STATES } from './payment-states.ts'
import { pursue } from './settle-payment.ts'

/** Payments that one turn looks at, of each kind. */
const MAX_A_TURN = 200
/** The process that was told the charge has so long for its own try. */
const RESTING_MS = 2 * SECOND
/** Time after its end in which a call may still tell its charge: the heir of a dead process reads its journal first. */
const TELLING_MS = 10 * MINUTE

export type FinishCtx = BookCtx
export type Finished = {
  readonly sent: number
  readonly confirmed: number
  readonly booked: number
  readonly expired: number
}

/**
 * Brings payments on to their end: sends what is due, looks whether blocks are deep enough, and books. A step that fails
 * keeps no other from its work, because the books do not need the chain.
 */
export async function finishPayments(ctx: FinishCtx): Promise<Finished> {
  const attempt = async (what: string, work: () => Promise<number>): Promise<number> => {
    try {
      return await work()
    } catch (error) {
      ctx.log.warn({ err: error, step: what }, 'payments: a step will be tried again')
      return 0
    }
  }
  const sent = await attempt('send', () => send(ctx))
  const confirmed = await attempt('confirm', () => confirm(ctx))
  const expired = await attempt('expire', () => expire(ctx))
  const booked = await attempt('book', () => book(ctx))
  return { sent, confirmed, booked, expired }
}

async function send(ctx: FinishCtx): Promise<number> {
  await ctx.payments.sendAgain()
  const due = await listOpenChainPayments(ctx.db, ['due'], RESTING_MS, MAX_A_TURN)
  await Promise.all(due.map((payment) => pursue(ctx, payment)))
  return due.length
}

async function book(ctx: FinishCtx): Promise<number> {
  let booked = 0
  for (const payment of await listUnbookedChainPayments(ctx.db, TELLING_MS, MAX_A_TURN)) {
    try {
      await bookPayment(ctx, payment)
      booked += 1
    } catch (error) {
      // One that cannot be booked needs a person, and holds up no other.
      ctx.log.error({ err: error, rid: payment.rid }, 'a payment could not be booked')
    }
  }
  return booked
}

/** Looks at the blocks of mined transfers. One whose block is gone is due again, with the same signed bytes. */
async function confirm(ctx: FinishCtx): Promise<number> {
  const { chain, confirmations } = ctx.payments
  const mined = await listOpenChainPayments(ctx.db, ['mined'], 0, MAX_A_TURN)
  if (mined.length === 0) return 0
  const head = await chain?.head()
  let count = 0
  for (const { rid, transaction } of mined) {
    if (transaction === null) continue
    const receipt = await chain?.receiptOf(transaction)
    if (chain !== null && receipt === undefined) {
      ctx.log.warn({ rid, transaction }, 'the block of a payment is gone from the chain')
      await ctx.payments.unmine(transaction)
      await step(ctx, rid, 'unmine')
    } else if (receipt?.isReverted === true) {
      // The chain was reorganised, and the transfer failed in its new place.
      await step(ctx, rid, 'unmine')
    } else if (receipt === undefined || head === undefined || head - receipt.block + 1n >= BigInt(confirmations)) {
      await step(ctx, rid, 'confirm', receipt?.block)
      count += 1
    }
  }
  return count
}

async function step(ctx: FinishCtx, rid: RequestId, event: PaymentEvent, block?: bigint): Promise<void> {
  await transact(ctx.db, async (trx) => {
    const payment = await lockChainPayment(trx, rid)
    const state = payment && PAYMENT_STATES[payment.state][event]
    if (state == null) return
    await changeChainPayment(trx, rid, { state, ...(block === undefined ? {} : { block }) })
  })
}

/** Lets go of claims whose authorization has run out. Nobody can take their money any more. */
async function expire(ctx: FinishCtx): Promise<number> {
  const claimed = await listOpenChainPayments(ctx.db, ['claimed'], MINUTE, MAX_A_TURN)
  const over = claimed.filter(({ validUntil }) => validUntil.getTime() + MINUTE < ctx.clock.now())
  for (const { rid } of over) await step(ctx, rid, 'release')
  return over.length
}
