import { createHash } from 'node:crypto'
import type { Balance } from '#control-plane/db/accounts.ts'
import type { Job, JobEndRow } from '#control-plane/db/jobs.ts'
import type { MoneyTransaction } from '#control-plane/ports/ledger/money-ledger.ts'
import type { LedgerLine } from '#control-plane/services/ledger/ledger.ts'
import { mergeLines } from '#control-plane/services/ledger/ledger.ts'
import { readUsageEvent } from '#shared/contract/usage-event.ts'
import { crashPoint } from '#shared/crash-point.ts'
import { AppError } from '#shared/errors.ts'
import { BASE_32, ulidFloor } from '#shared/ids.ts'
import { PLATFORM_ACCOUNTS } from '#shared/ledger/account-kinds.ts'
import type { TransactionKind } from '#shared/ledger/transaction-kinds.ts'
import { microUsd, min } from '#shared/money.ts'
import { accountOf, earningOf } from './charge-entries.ts'
import { firstPoll } from './job-schedule.ts'
import { isBounded } from './rail-postings.ts'
import type { ReadEvent } from './read-event.ts'
import { callOf, isPoison, readEvent, settlementOf } from './read-event.ts'

/** The result of booking a job's event. A `parked` end waits for its submit. */
export type BookedJob = {
  readonly fate: 'new' | 'repeat' | 'conflict' | 'parked'
  readonly postedAt: Date
  readonly balances: readonly Balance[]
}

/** The source of ends that a worker books at a deadline. Such an end wins over a parked one that cannot be booked. */
export const DEADLINE_SOURCE = 'deadline'

/** The origin of an event, and the largest part of a quote that its payer's account covers when the transfer failed. */
type Booking = { readonly source: string; readonly coveredMicro?: bigint | undefined }

/**
 * Books the submit or the end of a long job inside the caller's transaction. The submit moves the whole quote from the
 * buyer to escrow. The end splits the escrow: the seller gets the net, the platform its fee, and the rest first pays
 * back the shortfall's advance and then goes to the buyer. Each event may come again, and an end may come before its
 * submit. Throws `conflict` for an end that does not fit its job.
 */
export async function bookJobEvent(trx: MoneyTransaction, read: ReadEvent, booking: Booking): Promise<BookedJob> {
  const { source, coveredMicro } = booking
  const outcome =
    read.event.kind === 'end' ? await receiveEnd(trx, read, source) : await bookSubmit(trx, read, coveredMicro)
  if (outcome.fate === 'conflict') {
    const { event, payloadHash, text } = read
    await trx.insertConflicts([{ rid: event.rid, payloadHash, event: text, source }])
  }
  crashPoint('worker_in_tx')
  return outcome
}

async function bookSubmit(trx: MoneyTransaction, read: ReadEvent, coveredMicro?: bigint): Promise<BookedJob> {
  const { event, payer: account, posting, payloadHash, text } = read
  const { rid, job: terms } = event
  if (terms === undefined) throw new AppError('internal_error', { cause: new Error('a submit without its job') })
  const escrowAccount = await trx.jobs.openEscrow(account)
  // Two deliveries of one submit take this lock in turn, and the second finds the row of the first. The job's row is
  // not locked here: a job's end locks it before accounts. A parked end needs the seller's account.
  const locked = await trx.lockAccounts([account, escrowAccount, event.sellerAccount ?? account])
  const job = await trx.jobs.findJob(rid)
  const settled = job ?? (await trx.findSettled([rid])).get(rid)
  if (settled !== undefined) {
    return {
      fate: settled.payloadHash === payloadHash ? 'repeat' : 'conflict',
      postedAt: settled.postedAt,
      balances: [],
    }
  }
  const quote: bigint = event.chargeMicro
  const balance = locked.get(account)?.balance ?? 0n
  const had = isBounded(posting) && balance < quote ? balance : quote
  const paidMicro = coveredMicro !== undefined && coveredMicro < had ? coveredMicro : had
  const postedAt = await trx.jobs.insertJob({
    rid,
    account,
    escrowAccount,
    sellerAccount: event.sellerAccount === null ? null : accountOf(event.sellerAccount),
    offer: event.offer,
    keyId: event.keyId,
    providerJob: terms.providerJob,
    quote,
    paid: paidMicro,
    event: text,
    payloadHash,
    deadlineAt: new Date(terms.deadlineAt),
    provider: event.provider ?? '',
    pollAt: new Date(firstPoll({ rid, now: event.startedAt, deadlineAt: terms.deadlineAt })),
  })
  const moved = await post(trx, { id: rid, kind: 'escrow' }, [
    { account, amount: -paidMicro },
    { account: PLATFORM_ACCOUNTS.shortfall, amount: paidMicro - quote },
    { account: escrowAccount, amount: quote },
  ])
  const parked = await trx.jobs.findEnd(rid)
  const after = parked === undefined ? [] : await bookParked(trx, parked)
  return { fate: 'new', postedAt: postedAt ?? new Date(0), balances: [...moved, ...after] }
}

async function receiveEnd(trx: MoneyTransaction, read: ReadEvent, source: string): Promise<BookedJob> {
  const rid = callOf(read.event) ?? ''
  const poisoned = { rid, event: read.text, payloadHash: read.payloadHash, source }
  let end = await trx.jobs.receiveEnd(poisoned)
  if (end === undefined) throw new AppError('internal_error', { cause: new Error('an end was not received') })
  if (end.payloadHash !== read.payloadHash) {
    if (end.bookedAt !== null || source !== DEADLINE_SOURCE)
      return { fate: 'conflict', postedAt: end.receivedAt, balances: [] }
    await trx.insertConflicts([{ ...end, rid: `${rid}.end` }])
    await trx.jobs.replaceEnd(poisoned)
    end = { ...end, ...poisoned }
  }
  if (end.bookedAt !== null) return { fate: 'repeat', postedAt: end.bookedAt, balances: [] }
  const job = await trx.jobs.lockJob(rid)
  if (job === undefined) return { fate: 'parked', postedAt: end.receivedAt, balances: [] }
  const misfit = misfitOf(job, read)
  if (misfit !== undefined) throw new AppError('conflict', { message: misfit })
  return { fate: 'new', postedAt: end.receivedAt, balances: await bookEnd(trx, job, read) }
}

/**
 * Books an end that came before its submit, if it fits. An end that does not fit stays parked and is shown to a person.
 */
export async function bookParked(trx: MoneyTransaction, end: JobEndRow): Promise<Balance[]> {
  if (end.bookedAt !== null) return []
  const event = readEvent(end.event, end.source)
  const job = await trx.jobs.lockJob(end.rid)
  if (isPoison(event) || job === undefined || job.endedAt !== null) return []
  const read = isOfItsWallet(job, event) ? { ...event, payer: job.account } : event
  return misfitOf(job, read) === undefined ? bookEnd(trx, job, read) : []
}

/**
 * True for an end of the wallet that paid for a job. The account that the end names may differ: a restored ledger may
 * have lost it.
 */
function isOfItsWallet(job: Job, { event, posting }: ReadEvent): boolean {
  const wallet = readUsageEvent(job.event)?.wallet ?? null
  return posting.isOfWallet && wallet !== null && wallet === event.wallet
}

function misfitOf(job: Job, { event, payer }: ReadEvent): string | undefined {
  if (payer !== job.account) return 'account: not that of the job'
  if (event.holdMicro !== job.quote) return 'holdMicro: not the quote of the job'
  if (event.chargeMicro > 0n && event.sellerAccount !== job.sellerAccount) return 'sellerAccount: not that of the job'
  return undefined
}

async function bookEnd(trx: MoneyTransaction, job: Job, read: ReadEvent): Promise<Balance[]> {
  const { event } = read
  const back = microUsd(job.quote - event.chargeMicro)
  const toShortfall = min(back, microUsd(job.quote - job.paid))
  const lines: LedgerLine[] = [
    { account: job.escrowAccount, amount: -job.quote },
    { account: PLATFORM_ACCOUNTS.fee, amount: event.feeMicro },
    { account: PLATFORM_ACCOUNTS.shortfall, amount: BigInt(toShortfall) },
    { account: job.account, amount: back - toShortfall },
  ]
  if (job.sellerAccount !== null) lines.push({ account: job.sellerAccount, amount: event.sellerNetMicro })
  const id = transactionOf(read)
  await trx.claimLedgerKey(`end:${job.rid}`, id)
  // The account of fees is a sum, so no poster waits for its lock.
  const moved = mergeLines(lines).map((line) => line.account)
  await trx.lockAccounts(moved.filter((id) => id !== PLATFORM_ACCOUNTS.fee))
  const balances = await post(trx, { id, kind: 'job_end' }, lines)
  await trx.insertSettlements([settlementOf(read)])
  await trx.addOfferEarnings(earningOf(event))
  await trx.jobs.markJobEnded(job.rid)
  await trx.jobs.markEndBooked(job.rid)
  return balances
}

/** Books lines of locked accounts. Books nothing when every line comes out at zero. */
async function post(
  trx: MoneyTransaction,
  head: { readonly id: string; readonly kind: TransactionKind },
  lines: readonly LedgerLine[],
): Promise<Balance[]> {
  const ledgerLines = mergeLines(lines)
  if (ledgerLines.length === 0) return []
  await trx.insertTransactions([{ ...head, note: null }])
  await trx.insertEntries(ledgerLines.map((line) => ({ tx: head.id, ...line })))
  return trx.moveBalances(ledgerLines.map((line) => ({ ...line, entries: 1 })))
}

/**
 * The transaction id of an end. It depends only on the event's bytes and the month of its end, so a repeat gets the
 * same id.
 */
function transactionOf({ event, payloadHash }: ReadEvent): string {
  const digest = createHash('sha256').update(`end ${payloadHash}`).digest()
  let random = ''
  for (const byte of digest.subarray(0, 16)) random += BASE_32[byte % 32]
  return ulidFloor(event.endedAt).slice(0, 10) + random
}
