import type { ChainPayment } from '#control-plane/db/chain-payments.ts'
import type { MoneyTransaction } from '#control-plane/ports/ledger/money-ledger.ts'
import type { TradeFeed } from '#control-plane/ports/updates/trade-feed.ts'
import { bookJobEvent } from '#control-plane/services/money/finish-job.ts'
import type { Booked } from '#control-plane/services/money/ingest.ts'
import { bookCalls, tellFeed } from '#control-plane/services/money/ingest.ts'
import { confirmBuyers, postTransaction } from '#control-plane/services/money/ledger.ts'
import { PAYMENT_POSTINGS } from '#control-plane/services/money/rail-postings.ts'
import type { ReadEvent } from '#control-plane/services/money/usage-reading.ts'
import { isPoison, readEvent } from '#control-plane/services/money/usage-reading.ts'
import { crashPoint } from '#shared/crash-point.ts'
import { PLATFORM_ACCOUNTS } from '#shared/ledger/account-kinds.ts'
import type { PaymentCtx } from './payment-ctx.ts'

/** The states in which the money of a payment is known for good. */
const BOOKED_IN: ReadonlySet<ChainPayment['state']> = new Set(['confirmed', 'written_off', 'released'])

export type BookCtx = PaymentCtx & { readonly feed?: TradeFeed }
type Booking = Pick<BookCtx, 'ledger' | 'gate' | 'ids' | 'log' | 'feed'>
type Balance = Booked['balances'][number]

/**
 * Books a payment in one transaction: its transfer into the payer's account, and the call's charge out of it. What is
 * left is the payer's credit. The platform stands in for a transfer that never came.
 */
export async function bookPayment(ctx: Booking, { rid }: Pick<ChainPayment, 'rid'>): Promise<void> {
  const done = await ctx.ledger.transact(async (trx) => {
    const payment = await trx.payments.lock(rid)
    if (payment === undefined || payment.bookedAt !== null || !BOOKED_IN.has(payment.state)) return undefined
    const deposited = await deposit(trx, payment, ctx.ids.ulid())
    const booked = await bookCharge(trx, payment)
    await trx.payments.markBooked(rid)
    crashPoint('payment_in_tx')
    return { balances: [...deposited, ...(booked?.balances ?? [])], booked }
  })
  crashPoint('payment_booked')
  if (done !== undefined) await tell(ctx, rid, done)
}

const keyOf = (rid: string) => `payment:${rid}`
const lateKeyOf = (rid: string) => `late_payment:${rid}`

/**
 * Books what came, or what the platform stands in for. Of money that comes after its write-off the platform takes back
 * what it stood in for; the rest is the payer's. Answers the balances that changed.
 */
async function deposit(trx: MoneyTransaction, payment: ChainPayment, id: string): Promise<readonly Balance[]> {
  const { rid, account, due, charge, transaction, reason } = payment
  const isPaid = payment.state === 'confirmed'
  const writtenOff = await trx.findLedgerKey(keyOf(rid))
  // It was given up, came, and went again with its block. The platform still stands in for it.
  if (writtenOff !== undefined && !isPaid) return []
  const amount = (isPaid ? due : charge) ?? 0n
  if (amount === 0n) return []
  const stoodIn = isPaid ? await shortfallOf(trx, [rid, writtenOff]) : 0n
  const back = stoodIn > amount ? amount : stoodIn
  const isLate = writtenOff !== undefined
  const deposited = await postTransaction(trx, {
    id,
    key: isLate ? lateKeyOf(rid) : keyOf(rid),
    kind: isPaid ? 'payment' : 'write_off',
    note: transaction ?? reason ?? undefined,
    entries: [
      { account: isPaid ? PLATFORM_ACCOUNTS.externalUsdc : PLATFORM_ACCOUNTS.shortfall, amount: -amount },
      { account, amount: amount - back },
      { account: PLATFORM_ACCOUNTS.shortfall, amount: back },
    ],
  })
  if (deposited === undefined) throw new Error(`the payment ${rid} was booked and not marked`)
  return deposited
}

/** What the platform gave in some transactions. */
async function shortfallOf(trx: MoneyTransaction, txs: readonly (string | undefined)[]): Promise<bigint> {
  let given = 0n
  for (const tx of txs) {
    if (tx === undefined) continue
    for (const { account, amount } of await trx.findEntries(tx)) {
      if (account === PLATFORM_ACCOUNTS.shortfall) given -= amount
    }
  }
  return given
}

/** Books the charge of a call whose payment was booked before it. The payer's account has its money since then. */
export async function bookLateCharge(ctx: Booking, { rid }: Pick<ChainPayment, 'rid'>): Promise<void> {
  const booked = await ctx.ledger.transact(async (trx) => {
    const payment = await trx.payments.lock(rid)
    return payment === undefined ? undefined : bookCharge(trx, payment)
  })
  if (booked !== undefined) await tell(ctx, rid, { balances: booked.balances, booked })
}

async function bookCharge(trx: MoneyTransaction, payment: ChainPayment): Promise<Booked | undefined> {
  const call = callOf(payment)
  if (call === undefined) return undefined
  if (call.event.kind !== 'submit') return bookCalls(trx, [call], 'payment')
  // The quote of a long job goes to escrow. Its end comes by the queue or by a worker, like any other.
  const { fate, postedAt, balances } = await bookJobEvent(trx, call, 'payment')
  return { events: [{ read: call, fate, postedAt }], balances }
}

type Done = { readonly balances: readonly Balance[]; readonly booked: Booked | undefined }

async function tell(ctx: Booking, rid: string, { balances, booked }: Done): Promise<void> {
  if (booked !== undefined) tellFeed(ctx, booked)
  // The outbox row stays when this fails, so a later drain tells the gate.
  await confirmBuyers(ctx, newest(balances)).catch((error: unknown) =>
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
