import type { Balance } from '#control-plane/db/accounts.ts'
import type { Poison } from '#control-plane/db/settlements.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import type { PostedChange } from '#control-plane/ports/gate/gate.ts'
import type { MoneyTransaction } from '#control-plane/ports/ledger/money-ledger.ts'
import type { PostReport } from '#control-plane/ports/telemetry/post-report.ts'
import type { TradeFeed } from '#control-plane/ports/updates/trade-feed.ts'
import { Wallet } from '#control-plane/services/input-fields.ts'
import { newUser, unrivalled } from '#control-plane/services/users/new-user.ts'
import { feedItemOf } from '#shared/contract/feed.ts'
import { capUseOf } from '#shared/contract/money-scripts/uses.ts'
import { crashPoint } from '#shared/crash-point.ts'
import { AppError } from '#shared/errors.ts'
import type { AccountId } from '#shared/ids.ts'
import type { AccountKind } from '#shared/ledger/account-kinds.ts'
import { microUsd } from '#shared/money.ts'
import type { BookedJob } from './book-job-event.ts'
import { bookJobEvent } from './book-job-event.ts'
import type { Charge } from './charge-entries.ts'
import { earningOf, splitCharges } from './charge-entries.ts'
import type { RailPostings } from './rail-postings.ts'
import { isBounded } from './rail-postings.ts'
import type { Broken, ReadEvent } from './read-event.ts'
import { brokenAccount, claimedCall, isPoison, poisonOf, readEvent, settlementOf } from './read-event.ts'

export type IngestCtx = Pick<Ctx, 'ids' | 'ledger' | 'gate' | 'clock' | 'log'> & {
  /** Receives new trades. Absent without a feed. */
  readonly feed?: TradeFeed
  /** The postings of each rail; the product's rails when left out. */
  readonly postings?: RailPostings
}

/** Events to post, as the captured bytes. `source` names their origin, for events that are set aside. */
export type EventBatch = { readonly events: readonly string[]; readonly source: string }

/** Most attempts of one transaction. Each wait is twice the one before. */
const MAX_TRIES = 6
const FIRST_WAIT_MS = 20

/**
 * Posts usage events: settlement rows, ledger entries and balances in one transaction. Then it tells the gate. A batch
 * may be delivered again, in any order, in part, or twice at once. Invalid events are set aside and do not delay the
 * others. Throws when Postgres or the gate is away, and the caller delivers the same batch again.
 */
export async function postBatch(ctx: IngestCtx, batch: EventBatch): Promise<PostReport> {
  const { readable, poison } = readBatch(ctx, batch)
  const refuse: Refuse = (read, broken) => {
    poison.push(poisonOf(read, { rid: read.event.rid, source: batch.source, ...broken }))
  }
  const sound = await judge(ctx, readable, refuse)
  const booked = await book(ctx, sound, { source: batch.source, refuse })
  if (poison.length > 0) await keepPoison(ctx, batch, poison)
  await acknowledge(ctx, booked)
  tellFeed(ctx, booked)
  return report(booked, poison)
}

/** Sets aside an event that breaks a rule. */
type Refuse = (read: ReadEvent, broken: Broken) => void

/**
 * Events are sorted by request id everywhere. Two posters of the same events then take their locks in the same order.
 */
function readBatch(
  { postings }: IngestCtx,
  { events, source }: EventBatch,
): { readable: ReadEvent[]; poison: Poison[] } {
  const read = events.map((text) => readEvent(text, source, postings))
  const readable = read.flatMap((each) => (isPoison(each) ? [] : [each]))
  readable.sort((left, right) => (left.event.rid < right.event.rid ? -1 : 1))
  return { readable, poison: read.filter(isPoison) }
}

/** Pushes new trades to the feed in the order in which their calls ended. */
export function tellFeed({ feed }: Pick<IngestCtx, 'feed'>, { events }: Booked): void {
  if (feed === undefined) return
  const trades = events.filter(({ fate }) => fate === 'new').map(({ read }) => read.event)
  trades.sort((left, right) => left.endedAt - right.endedAt)
  feed.push(trades.map(feedItemOf).filter((item) => item !== undefined))
}

function isCall({ event }: ReadEvent): boolean {
  return event.kind === undefined || event.kind === 'call'
}

async function keepPoison(ctx: IngestCtx, { source }: EventBatch, poison: readonly Poison[]): Promise<void> {
  const discarded = await withRetries(ctx, () => ctx.ledger.insertPoison(poison))
  const reasons = poison
    .filter((row) => !discarded.has(row.payloadHash))
    .map((row) => ({ rid: row.rid, reason: row.reason, detail: row.detail }))
  if (reasons.length > 0) ctx.log.error({ source, reasons }, 'usage events were set aside')
  const claimedCalls = poison.filter((row) => discarded.has(row.payloadHash)).map((row) => claimedCall(row.event))
  await freeDiscarded(
    ctx,
    claimedCalls.filter((call) => call !== undefined),
  )
}

/** Frees what the gate keeps for events that a person discarded. */
export async function freeDiscarded(
  ctx: Pick<IngestCtx, 'ledger' | 'gate'>,
  calls: readonly { readonly rid: string; readonly account: AccountId }[],
): Promise<void> {
  if (calls.length === 0) return
  const rows = await ctx.ledger.findBalances([...new Set(calls.map((call) => call.account))])
  const balances = new Map(rows.map((row) => [row.account, row]))
  await ctx.gate.ack(
    calls.map(({ rid, account }) => ({
      ...changeOf(balances.get(account) ?? { account, balance: 0n, version: 0n }),
      rid,
    })),
  )
}

/** Sets all events of a batch aside for a person, valid ones too, and posts none. */
export async function setAside(ctx: IngestCtx, batch: EventBatch, reason: string): Promise<void> {
  const poison = batch.events.map((text) => {
    const read = readEvent(text, batch.source, ctx.postings)
    const rid = isPoison(read) ? read.rid : read.event.rid
    return poisonOf({ text, payloadHash: read.payloadHash }, { rid, reason, detail: '', source: batch.source })
  })
  await withRetries(ctx, () => ctx.ledger.insertPoison(poison))
  ctx.log.error({ source: batch.source, reason, events: poison.length }, 'usage events were set aside')
}

/**
 * The result of booking an event. `new` and `repeat` have their own row. A `conflict` contradicts the row of another
 * event. A `parked` end of a job waits for its submit.
 */
type Fate = BookedJob['fate']
type BookedEvent = { readonly read: ReadEvent; readonly fate: Fate; readonly postedAt: Date }
export type Booked = { readonly events: readonly BookedEvent[]; readonly balances: readonly Balance[] }

/** Returns the events whose accounts exist and are of the right kind. The others are refused. */
async function judge(ctx: IngestCtx, events: readonly ReadEvent[], refuse: Refuse): Promise<ReadEvent[]> {
  const accounts = new Set(events.flatMap(({ event, payer }) => [payer, event.sellerAccount ?? payer]))
  const kinds = new Map(await withRetries(ctx, () => ctx.ledger.findKinds([...accounts])))
  const sound: ReadEvent[] = []
  for (const event of events) {
    const read = kinds.has(event.payer) ? event : await withAccountOfNow(ctx, event, kinds)
    const broken = brokenAccount(read, kinds)
    if (broken === undefined) sound.push(read)
    else refuse(read, broken)
  }
  return sound
}

/**
 * An event of a wallet whose account a restored ledger has lost. Its payer is the wallet's present account: a newer
 * one, or the lost one, which is made again.
 */
async function withAccountOfNow(ctx: IngestCtx, read: ReadEvent, kinds: Map<string, AccountKind>): Promise<ReadEvent> {
  const wallet = Wallet.safeParse(read.event.wallet)
  if (!read.posting.isOfWallet || !wallet.success) return read
  const fresh = { ...newUser(ctx, wallet.data), buyerAccount: read.payer }
  const user = await withRetries(ctx, () =>
    ctx.ledger.transact((trx) => trx.payments.ensureUser(fresh, ctx.clock.now())),
  )
  const { buyerAccount: payer } = unrivalled(user)
  kinds.set(payer, 'buyer_credit')
  return { ...read, payer }
}

/** The origin of a batch, and the fate of an event that the database refuses for good. */
type Posting = { readonly source: string; readonly refuse: Refuse }

async function book(ctx: IngestCtx, events: readonly ReadEvent[], posting: Posting): Promise<Booked> {
  const calls = await bookTogether(ctx, events.filter(isCall), posting)
  const ofJobs = events.filter((read) => !isCall(read))
  return ofJobs.length === 0 ? calls : bookJobs(ctx, ofJobs, posting, calls)
}

/**
 * Books calls in one transaction. When the database refuses the transaction for good, each half of the calls gets a
 * transaction of its own, down to the refused call.
 */
async function bookTogether(ctx: IngestCtx, events: readonly ReadEvent[], posting: Posting): Promise<Booked> {
  if (events.length === 0) return { events: [], balances: [] }
  try {
    return await transact(ctx, (trx) => bookCalls(trx, events, posting.source))
  } catch (error) {
    const refusal = lastingRefusal(ctx, error)
    if (refusal === undefined) throw error
    const [only] = events
    if (events.length === 1 && only !== undefined) {
      posting.refuse(only, refusal)
      return { events: [], balances: [] }
    }
    const middle = Math.ceil(events.length / 2)
    const first = await bookTogether(ctx, events.slice(0, middle), posting)
    const second = await bookTogether(ctx, events.slice(middle), posting)
    return { events: [...first.events, ...second.events], balances: [...first.balances, ...second.balances] }
  }
}

/**
 * Books each event of a long job in a transaction of its own. Such events are few, and booking one may unblock another.
 */
async function bookJobs(
  ctx: IngestCtx,
  events: readonly ReadEvent[],
  { source, refuse }: Posting,
  before: Booked,
): Promise<Booked> {
  const fates: BookedEvent[] = [...before.events]
  const balances: Balance[] = [...before.balances]
  for (const read of events) {
    try {
      const outcome = await transact(ctx, (trx) => bookJobEvent(trx, read, { source }))
      fates.push({ read, fate: outcome.fate, postedAt: outcome.postedAt })
      balances.push(...outcome.balances)
    } catch (error) {
      const isMisfit = error instanceof AppError && error.code === 'conflict'
      const broken = isMisfit ? { reason: 'job_mismatch', detail: error.message } : lastingRefusal(ctx, error)
      if (broken === undefined) throw error
      refuse(read, broken)
    }
  }
  return { events: fates, balances }
}

async function transact<Result>(ctx: IngestCtx, run: (trx: MoneyTransaction) => Promise<Result>): Promise<Result> {
  crashPoint('worker_before_tx')
  const result = await withRetries(ctx, () => ctx.ledger.transact(run))
  crashPoint('worker_after_commit')
  return result
}

/** The rule of the database that an event breaks. Undefined for an error that another try may cure. */
function lastingRefusal({ ledger }: IngestCtx, error: unknown): Broken | undefined {
  const refusal = ledger.refusalOf(error)
  if (refusal === undefined || ledger.isTransient(error)) return undefined
  return { reason: 'refused', detail: `${refusal.code} ${refusal.constraint ?? ''}`.trim() }
}

/** The one posting transaction. It locks rows by request id, then accounts by id, so posters never deadlock. */
export async function bookCalls(trx: MoneyTransaction, events: readonly ReadEvent[], source: string): Promise<Booked> {
  const byRid = new Map<string, ReadEvent>()
  for (const read of events) if (!byRid.has(read.event.rid)) byRid.set(read.event.rid, read)
  const inserted = await trx.insertSettlements([...byRid.values()].map(settlementOf))
  const fresh = [...byRid.values()].filter((read) => inserted.has(read.event.rid))
  const others = events.filter((read) => byRid.get(read.event.rid) !== read || !inserted.has(read.event.rid))
  const fates: BookedEvent[] = fresh.map((read) => ({
    read,
    fate: 'new',
    postedAt: inserted.get(read.event.rid) ?? new Date(0),
  }))
  if (others.length > 0) fates.push(...(await compareWithSettled(trx, others, source)))
  const balances = await moveMoney(trx, fresh)
  crashPoint('worker_in_tx')
  return { events: fates, balances }
}

async function compareWithSettled(
  trx: MoneyTransaction,
  events: readonly ReadEvent[],
  source: string,
): Promise<BookedEvent[]> {
  const settled = await trx.findSettled(events.map((read) => read.event.rid))
  const fates: BookedEvent[] = []
  for (const read of events) {
    const row = settled.get(read.event.rid)
    if (row === undefined) continue
    const fate = row.payloadHash === read.payloadHash ? 'repeat' : 'conflict'
    fates.push({ read, fate, postedAt: row.postedAt })
  }
  const conflicts = fates.filter(({ fate }) => fate === 'conflict').map(({ read }) => read)
  await trx.insertConflicts(
    conflicts.map(({ event, text, payloadHash }) => ({ rid: event.rid, payloadHash, event: text, source })),
  )
  return fates
}

/** The fields of an event that decide which balances its charge moves. */
function chargeOf({ event, payer, posting }: ReadEvent): Charge {
  const { rid, sellerAccount, chargeMicro, sellerNetMicro, feeMicro } = event
  return { rid, payer, isBounded: isBounded(posting), sellerAccount, chargeMicro, sellerNetMicro, feeMicro }
}

async function moveMoney(trx: MoneyTransaction, events: readonly ReadEvent[]): Promise<Balance[]> {
  const chargedEvents = events.filter(({ event }) => event.chargeMicro > 0n)
  if (chargedEvents.length === 0) return []
  // Writes that need no locked account come first, because other posters wait for the accounts until the commit.
  await trx.insertTransactions(chargedEvents.map(({ event }) => ({ id: event.rid, kind: 'settle', note: null })))
  const parties = new Set(chargedEvents.flatMap(({ event, payer }) => [payer, event.sellerAccount ?? payer]))
  const { entries, movements } = splitCharges(chargedEvents.map(chargeOf), await trx.lockAccounts([...parties]))
  await trx.insertEntries(entries)
  const balances = await trx.moveBalances(movements)
  await trx.addOfferEarnings(chargedEvents.flatMap(({ event }) => earningOf(event)))
  return balances
}

const NO_BUDGETS: ReadonlyMap<string, readonly string[]> = new Map()

/**
 * Tells the gate of every request id that has a row now, written by any process, with a balance that includes its
 * charge.
 */
async function acknowledge(ctx: IngestCtx, booked: Booked): Promise<void> {
  const newest = new Map<string, Balance>()
  for (const row of booked.balances) {
    const known = newest.get(row.account)
    if (known === undefined || row.version > known.version) newest.set(row.account, row)
  }
  const countedEvents = booked.events.filter(({ read }) => read.posting.isCountedInGate)
  // An earlier transaction booked the repeat, perhaps after another transaction of this batch reported its balances.
  const unreadBalances = countedEvents.filter(({ read, fate }) => fate !== 'new' || !newest.has(read.payer))
  if (unreadBalances.length > 0) {
    const others = [...new Set(unreadBalances.map(({ read }) => read.payer))]
    for (const row of await withRetries(ctx, () => ctx.ledger.findBalances(others))) newest.set(row.account, row)
  }
  const counted = new Set(countedEvents.flatMap(({ read: { event } }) => (event.chargeMicro > 0n && event.keyId) || []))
  // A call may have begun before its budget, so the ledger says which budgets count the call.
  const budgetsOf = counted.size === 0 ? NO_BUDGETS : await withRetries(ctx, () => ctx.ledger.findBudgets([...counted]))
  const changes: PostedChange[] = []
  for (const { read, fate, postedAt } of countedEvents) {
    const balance = newest.get(read.payer)
    const { rid, keyId } = read.event
    const budgets = budgetsOf.get(keyId ?? '')
    if (balance === undefined) continue
    // For a contradicting event the gate keeps figures that differ from the booked ones, so it gets no posting time.
    const posting = fate === 'conflict' ? {} : { postedAt: postedAt.getTime() }
    changes.push({ ...changeOf(balance), rid, keyId, ...posting, ...(budgets && { budgets }) })
  }
  if (changes.length === 0) return
  crashPoint('before_ack')
  const postedBefore = await ctx.gate.ack(changes)
  if (postedBefore.size > 0) {
    const again = countedEvents.filter(({ read }) => postedBefore.has(read.event.rid))
    await ctx.gate.uncount(again.flatMap(({ read }) => capUseOf(read.text) ?? []))
  }
  crashPoint('after_ack')
  const changedAccounts = new Set(changes.map((change) => change.account))
  await ctx.ledger.deleteAccountChanges(booked.balances.filter((row) => changedAccounts.has(row.account)))
}

function changeOf({ account, balance, version }: Balance): {
  account: AccountId
  balanceMicro: ReturnType<typeof microUsd>
  version: bigint
} {
  return { account, balanceMicro: microUsd(balance), version }
}

function report(booked: Booked, poison: readonly Poison[]): PostReport {
  const count = (...fates: Fate[]) => booked.events.filter((event) => fates.includes(event.fate)).length
  return {
    posted: count('new', 'parked'),
    repeats: count('repeat'),
    conflicts: count('conflict'),
    poisoned: poison.length,
  }
}

/** Repeats work while Postgres reports an error that another try may cure. The work must be safe to repeat. */
async function withRetries<Result>(
  { ledger, clock }: Pick<IngestCtx, 'ledger' | 'clock'>,
  run: () => Promise<Result>,
): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await run()
    } catch (error) {
      if (attempt >= MAX_TRIES || !ledger.isTransient(error)) throw error
      await clock.sleep(FIRST_WAIT_MS * 2 ** (attempt - 1))
    }
  }
}
