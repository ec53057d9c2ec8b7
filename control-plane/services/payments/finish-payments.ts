import type { ChainPayment } from '#control-plane/db/chain-payments.ts'
import {
  changeChainPayment,
  listOpenChainPayments,
  listUnbookedChainPayments,
  lockChainPayment,
} from '#control-plane/db/chain-payments.ts'
import { transact } from '#control-plane/db/database.ts'
import type { TradeFeed } from '#control-plane/ports/updates/trade-feed.ts'
import { bookCalls, tellFeed } from '#control-plane/services/money/ingest.ts'
import { confirmBuyers, postTransaction } from '#control-plane/services/money/ledger.ts'
import { PAYMENT_POSTINGS } from '#control-plane/services/money/rail-postings.ts'
import type { ReadEvent } from '#control-plane/services/money/usage-reading.ts'
import { isPoison, readEvent } from '#control-plane/services/money/usage-reading.ts'
import { MINUTE, SECOND } from '#shared/clock.ts'
import { crashPoint } from '#shared/crash-point.ts'
import type { RequestId } from '#shared/ids.ts'
import { PLATFORM_ACCOUNTS } from '#shared/ledger/account-kinds.ts'
import type { PaymentCtx } from './payment-ctx.ts'
import type { PaymentEvent } from './payment-states.ts'
import { PAYMENT_STATES } from './payment-states.ts'
import { pursue } from './settle-payment.ts'

/** Payments that one turn looks at, of each kind. */
const MAX_A_TURN = 200
/** The process that was told the charge has so long for its own try. */
const RESTING_MS = 2 * SECOND
/** Time after its end in which a call may still tell its charge: the heir of a dead process reads its journal first. */
const TELLING_MS = 10 * MINUTE

export type FinishCtx = PaymentCtx & { readonly feed?: TradeFeed }
export type Finished = {
  readonly sent: number
  readonly confirmed: number
  readonly booked: number
  readonly expired: number
}

/** Brings payments on to their end: sends what is due, looks whether blocks are deep enough, and books. */
export async function finishPayments(ctx: FinishCtx): Promise<Finished> {
  await ctx.payments.sendAgain()
  const due = await listOpenChainPayments(ctx.db, ['due'], RESTING_MS, MAX_A_TURN)
  await Promise.all(due.map((payment) => pursue(ctx, payment)))
  const confirmed = await confirm(ctx)
  const expired = await expire(ctx)
  let booked = 0
  for (const payment of await listUnbookedChainPayments(ctx.db, TELLING_MS, MAX_A_TURN)) {
    await bookPayment(ctx, payment)
    booked += 1
  }
  return { sent: due.length, confirmed, booked, expired }
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

/**
 * Books a payment in one transaction: its transfer into the payer's account, and the call's charge out of it. What is
 * left is the payer's credit. The platform stands in for a transfer that never came.
 */
export async function bookPayment(ctx: FinishCtx, { rid }: Pick<ChainPayment, 'rid'>): Promise<void> {
  const done = await ctx.ledger.transact(async (trx) => {
    const payment = await trx.payments.lock(rid)
    if (payment === undefined || payment.bookedAt !== null || payment.due === null) return undefined
    const isPaid = payment.state === 'confirmed'
    const amount = isPaid ? payment.due : (payment.charge ?? 0n)
    const source = isPaid ? PLATFORM_ACCOUNTS.externalUsdc : PLATFORM_ACCOUNTS.shortfall
    const deposited =
      amount === 0n
        ? []
        : await postTransaction(trx, {
            id: ctx.ids.ulid(),
            key: `payment:${rid}`,
            kind: isPaid ? 'payment' : 'write_off',
            note: payment.transaction ?? payment.reason ?? undefined,
            entries: [
              { account: source, amount: -amount },
              { account: payment.account, amount },
            ],
          })
    if (deposited === undefined) throw new Error(`the payment ${rid} was booked and not marked`)
    const call = callOf(payment)
    const booked = call === undefined ? undefined : await bookCalls(trx, [call], 'payment')
    await trx.payments.markBooked(rid)
    crashPoint('payment_in_tx')
    return { balances: [...deposited, ...(booked?.balances ?? [])], booked }
  })
  crashPoint('payment_booked')
  if (done === undefined) return
  if (done.booked !== undefined) tellFeed(ctx, done.booked)
  // The outbox row stays when this fails, so a later drain tells the gate.
  await confirmBuyers(ctx, newest(done.balances)).catch((error: unknown) =>
    ctx.log.warn({ err: error, rid }, 'the gate will hear of a payment later'),
  )
}

function callOf({ rid, event }: ChainPayment): ReadEvent | undefined {
  if (event === null) return undefined
  const read = readEvent(event, 'payment', PAYMENT_POSTINGS)
  if (isPoison(read)) throw new Error(`the event of the payment ${rid} is not valid: ${read.reason} ${read.detail}`)
  return read
}

function newest<Row extends { readonly account: string; readonly version: bigint }>(rows: readonly Row[]): Row[] {
  const byAccount = new Map<string, Row>()
  for (const row of rows) {
    const known = byAccount.get(row.account)
    if (known === undefined || known.version < row.version) byAccount.set(row.account, row)
  }
  return [...byAccount.values()]
}
