import type { ChainPayment } from '#control-plane/db/chain-payments.ts'
import type { MoneyTransaction } from '#control-plane/ports/ledger/money-ledger.ts'
import type { TradeFeed } from '#control-plane/ports/updates/trade-feed.ts'
import { bookJobEvent } from '#control-plane/services/booking/book-job-event.ts'
import type { Booked } from '#control-plane/services/booking/ingest.ts'
import { bookCalls, tellFeed } from '#control-plane/services/booking/ingest.ts'
import { PAYMENT_POSTINGS } from '#control-plane/services/booking/rail-postings.ts'
import type { ReadEvent } from '#control-plane/services/booking/read-event.ts'
import { isPoison, readEvent } from '#control-plane/services/booking/read-event.ts'
import type { LedgerLine } from '#control-plane/services/ledger/ledger.ts'
import { confirmBuyers, postTransaction } from '#control-plane/services/ledger/ledger.ts'
import { crashPoint } from '#shared/crash-point.ts'
import { PLATFORM_ACCOUNTS } from '#shared/ledger/account-kinds.ts'
import type { PaymentCtx } from './payment-ctx.ts'

/** The states in which the amount of a payment is final. */
const BOOKED_IN: ReadonlySet<ChainPayment['state']> = new Set(['confirmed', 'written_off', 'released'])

export type BookCtx = PaymentCtx & { readonly feed?: TradeFeed }
type Booking = Pick<BookCtx, 'ledger' | 'gate' | 'ids' | 'log' | 'feed'>
type Balance = Booked['balances'][number]

/**
 * Books a payment in one transaction: its transfer into the payer's account, and the call's charge out of it. The rest
 * becomes the payer's credit. The platform covers an amount that never arrived.
 */
export async function bookPayment(ctx: Booking, { rid }: Pick<ChainPayment, 'rid'>): Promise<void> {
  const outcome = await ctx.ledger.transact(async (trx) => {
    const payment = await trx.payments.lock(rid)
    if (payment === undefined || payment.bookedAt !== null || !BOOKED_IN.has(payment.state)) return undefined
    const booking = await book(ctx, trx, payment)
    await trx.payments.markBooked(rid)
    crashPoint('payment_in_tx')
    return booking
  })
  crashPoint('payment_booked')
  if (outcome !== undefined) await tell(ctx, rid, outcome)
}

/** Books the charge of a call whose payment was booked first. The payer's account has had the money since. */
export async function bookLateCharge(ctx: Booking, { rid }: Pick<ChainPayment, 'rid'>): Promise<void> {
  const outcome = await ctx.ledger.transact(async (trx) => {
    const payment = await trx.payments.lock(rid)
    return payment === undefined ? undefined : book(ctx, trx, payment)
  })
  if (outcome !== undefined) await tell(ctx, rid, outcome)
}

type Done = { readonly balances: readonly Balance[]; readonly booked: Booked | undefined }

/** Books the parts that are not in the books yet. A repeat books nothing. */
async function book({ ids }: Booking, trx: MoneyTransaction, payment: ChainPayment): Promise<Done> {
  const call = callOf(payment)
  const isJob = call?.event.kind === 'submit'
  // The transfer and the charge lock accounts one after the other. Payouts lock accounts in the same order.
  const seller = call?.event.sellerAccount ?? payment.account
  const parties = [payment.account, seller, OUTSIDE]
  if (isJob) {
    parties.push(await trx.jobs.openEscrow(payment.account))
    // The end of a job locks the job before accounts.
    await trx.jobs.lockJob(payment.rid)
  }
  await trx.lockAccounts(parties)
  const balances = await deposit(trx, payment, { isJob, newId: () => ids.ulid() })
  const booked = call && (await bookCharge(trx, payment, call))
  return { balances: [...balances, ...(booked?.balances ?? [])], booked }
}

async function bookCharge(trx: MoneyTransaction, payment: ChainPayment, call: ReadEvent): Promise<Booked> {
  if (call.event.kind !== 'submit') return bookCalls(trx, [call], 'payment')
  // The quote of a long job goes to escrow. Its end arrives by the queue or from a worker, like any other. The part
  // that the platform covers goes to escrow as its own money, so that the remainder of the end does not become the
  // payer's.
  const coveredMicro = payment.state === 'written_off' ? (payment.came ?? 0n) : undefined
  const { fate, postedAt, balances } = await bookJobEvent(trx, call, { source: 'payment', coveredMicro })
  return { events: [{ read: call, fate, postedAt }], balances }
}

const SHORTFALL = PLATFORM_ACCOUNTS.shortfall
const OUTSIDE = PLATFORM_ACCOUNTS.externalUsdc

/**
 * Books the arrived amount and the part that the platform covers. From money that arrives after a write-off the
 * platform takes its part back; the rest is the payer's. Returns the balances that changed.
 */
async function deposit(
  trx: MoneyTransaction,
  payment: ChainPayment,
  { isJob, newId }: { readonly isJob: boolean; readonly newId: () => string },
): Promise<readonly Balance[]> {
  const { rid, account, transaction, reason } = payment
  const before = await bookedBefore(trx, rid)
  const came = (payment.came ?? 0n) - before.came
  const more = missingOf(payment) - before.stoodIn
  const back = more >= 0n ? 0n : -more > came ? came : -more
  const post = async (
    key: string,
    kind: 'payment' | 'write_off',
    note: string | null,
    entries: readonly LedgerLine[],
  ) => {
    const balances = await postTransaction(trx, {
      id: newId(),
      key: `${key}:${rid}`,
      kind,
      note: note ?? undefined,
      entries,
    })
    if (balances === undefined) throw new Error(`the payment ${rid} was booked and not marked`)
    return balances
  }
  const deposited =
    came === 0n
      ? []
      : await post(before.isWrittenOff ? 'late_payment' : 'payment', 'payment', transaction, [
          { account: OUTSIDE, amount: -came },
          { account, amount: came - back },
          { account: SHORTFALL, amount: back },
        ])
  if (isJob && back > 0n) await trx.jobs.addPaid(rid, back)
  // The booking of a job's quote takes the missing amount from the platform itself.
  if (more <= 0n || isJob) return deposited
  const stoodIn = await post('write_off', 'write_off', reason, [
    { account: SHORTFALL, amount: -more },
    { account, amount: more },
  ])
  return [...deposited, ...stoodIn]
}

/** The part of a call's charge that never arrived. */
function missingOf({ state, charge, came }: ChainPayment): bigint {
  const missing = state === 'written_off' ? (charge ?? 0n) - (came ?? 0n) : 0n
  return missing > 0n ? missing : 0n
}

type BookedBefore = { readonly came: bigint; readonly stoodIn: bigint; readonly isWrittenOff: boolean }

/**
 * The booked amounts of a payment: the arrived tokens, and the platform's part by a write-off or with the charge, less
 * its share of the end of a job.
 */
async function bookedBefore(trx: MoneyTransaction, rid: string): Promise<BookedBefore> {
  const [payment, late, writeOff, end] = [
    await trx.findLedgerKey(`payment:${rid}`),
    await trx.findLedgerKey(`late_payment:${rid}`),
    await trx.findLedgerKey(`write_off:${rid}`),
    await trx.findLedgerKey(`end:${rid}`),
  ]
  let came = 0n
  let stoodIn = 0n
  for (const tx of [payment, late, writeOff, rid, end]) {
    if (tx === undefined) continue
    for (const { account, amount } of await trx.findEntries(tx)) {
      if (account === OUTSIDE) came -= amount
      if (account === SHORTFALL) stoodIn -= amount
    }
  }
  // Old write-offs have the key of the payment.
  const isWrittenOff = writeOff !== undefined || (payment !== undefined && came === 0n)
  return { came, stoodIn, isWrittenOff }
}

async function tell(ctx: Booking, rid: string, { balances, booked }: Done): Promise<void> {
  if (booked !== undefined) tellFeed(ctx, booked)
  // The outbox row stays when this fails, so a later drain tells the gate.
  await confirmBuyers(ctx, newest(balances)).catch((error: unknown) =>
    ctx.log.warn({ err: error, rid }, 'the gate gets the balance after a payment later'),
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
    const knownRow = byAccount.get(row.account)
    if (knownRow === undefined || knownRow.version < row.version) byAccount.set(row.account, row)
  }
  return [...byAccount.values()]
}
