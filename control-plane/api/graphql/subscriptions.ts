import { bookOfferFields } from '#control-plane/api/market-fields.ts'
import { sideOf } from '#control-plane/operation/actor.ts'
import { invoke } from '#control-plane/operation/invoke.ts'
import type { UpdateChannel } from '#control-plane/ports/updates/updates.ts'
import type { BuyerJob } from '#control-plane/services/jobs/job-view.ts'
import { listOwnJobs, MAX_WATCHED_JOBS, readNewestJobs } from '#control-plane/services/jobs/jobs.ts'
import type { CreditBalance } from '#control-plane/services/ledger/credit.ts'
import { readCredit } from '#control-plane/services/ledger/credit.ts'
import type { BookState, OfferHealth } from '#control-plane/services/live-reads.ts'
import {
  MAX_WATCHED_OFFERS,
  readBookState,
  readOfferHealth,
  readSellerOperation,
} from '#control-plane/services/live-reads.ts'
import { readOrderBook } from '#control-plane/services/market/market-book.ts'
import type { TradeView } from '#control-plane/services/market/market-series.ts'
import { marketTrades, readTrades } from '#control-plane/services/market/market-series.ts'
import { listOffers } from '#control-plane/services/offers/read.ts'
import { getSellerOperation } from '#control-plane/services/offers/seller-operations.ts'
import { getBalance } from '#control-plane/services/usage/buyer-account.ts'
import { SECOND } from '#shared/clock.ts'
import { offersDocumentName } from '#shared/contract/snapshot.ts'
import { AppError } from '#shared/errors.ts'
import type { GraphQLContext } from './builder.ts'
import { builder } from './builder.ts'
import { combineLatest } from './combine-latest.ts'
import { JobType } from './jobs.ts'
import { BookOffer } from './market.ts'
import { TradeType } from './market-figures.ts'
import { Operation } from './seller.ts'
import { Credit } from './viewer.ts'

/** Subscriptions with the same content for all callers. Callers with the same subscription share one source. */
export const PUBLIC_SUBSCRIPTIONS: ReadonlySet<string> = new Set(['bookUpdates', 'tradeUpdates'])

/**
 * The longest time between two reads of a topic. The used part of a cap changes without an announcement, and an
 * announcement may get lost.
 */
const POLL_MS = {
  book: SECOND,
  feed: 2 * SECOND,
  health: 5 * SECOND,
  credit: 15 * SECOND,
  jobs: 15 * SECOND,
  operation: 15 * SECOND,
} as const
const MAX_TRADES = 100

const BookType = builder.objectRef<BookState>('BookState').implement({
  description: 'The best offers of a model, best first, after each change.',
  fields: (t) => ({
    model: t.exposeID('model'),
    offers: t.field({
      type: [BookOffer],
      args: { first: t.arg.int({ required: true, defaultValue: 20 }) },
      complexity: ({ first }) => ({ field: 1, multiplier: Math.max(first ?? MAX_WATCHED_OFFERS, 1) }),
      resolve: ({ offers }, { first }) => offers.slice(0, requireCount(first)).map(bookOfferFields),
    }),
  }),
})

function requireCount(first: number): number {
  if (first >= 1 && first <= MAX_WATCHED_OFFERS) return first
  throw new AppError('invalid_request', { message: `first must be 1 to ${MAX_WATCHED_OFFERS}.`, param: 'first' })
}

const HealthType = builder.objectRef<OfferHealth>('OfferHealth').implement({
  fields: (t) => ({
    id: t.exposeID('id'),
    model: t.exposeString('model'),
    status: t.exposeString('status'),
    healthy: t.exposeBoolean('healthy'),
    consecutiveFailures: t.exposeInt('consecutiveFailures'),
    backedOffUntil: t.exposeFloat('backedOffUntil', { nullable: true }),
    delistedReason: t.exposeString('delistedReason', { nullable: true }),
    capDailyRemainingUsd: t.exposeFloat('capDailyRemainingUsd', { nullable: true }),
  }),
})

/** The account of a subscription's side. The caller was admitted before. */
function accountOf({ actor }: GraphQLContext, side: 'buyer' | 'seller') {
  if (actor.kind === 'session') return sideOf(actor, side).account
  if (actor.kind !== side) throw new AppError('wrong_key_type')
  return actor.account
}

/** The announcements of a channel about one named record. */
function hintOf(channel: UpdateChannel, name: string) {
  return { channel, isAbout: (names: readonly string[]) => names.includes(name) }
}

builder.subscriptionType({})

// The operation that reads the same data, and runs once when a subscription opens. `invoke` checks access, limits and
// input.

async function watchBook({ ctx, actor, options, live }: GraphQLContext, model: string) {
  const { model: canonicalModel } = await invoke(ctx, actor, readOrderBook, { model, maxItems: 1 }, options)
  const documents = new Set([offersDocumentName(canonicalModel.id), 'prices'])
  return live.book.watch({
    key: `book:${canonicalModel.id}`,
    pollMs: POLL_MS.book,
    hints: [
      { channel: 'snapshot', isAbout: (names) => names.some((name) => documents.has(name)) },
      { channel: 'health', isAbout: () => true },
    ],
    read: () => readBookState(ctx, canonicalModel.id),
  })
}

async function watchTrades({ ctx, actor, options, live }: GraphQLContext, limit: number, model?: string | null) {
  const choice = { limit, model: model ?? undefined }
  await invoke(ctx, actor, marketTrades, choice, options)
  return live.feed.watch({
    key: `feed:${model ?? ''}:${Math.min(limit, MAX_TRADES)}`,
    pollMs: POLL_MS.feed,
    hints: [{ channel: 'feed', isAbout: () => true }],
    read: () => readTrades(ctx, limit, choice.model),
  })
}

async function watchOfferHealth(context: GraphQLContext) {
  const { ctx, actor, options, live } = context
  await invoke(ctx, actor, listOffers, { maxItems: 1 }, options)
  const account = accountOf(context, 'seller')
  return live.health.watch({
    key: `health:${account}`,
    pollMs: POLL_MS.health,
    hints: [{ channel: 'health', isAbout: () => true }],
    read: () => readOfferHealth(ctx, account),
  })
}

async function watchCredit(context: GraphQLContext) {
  const { ctx, actor, options, live } = context
  await invoke(ctx, actor, getBalance, {}, options)
  const account = accountOf(context, 'buyer')
  const read = () => readCredit(ctx, account)
  const hints = [hintOf('funds', account)]
  return live.credit.watch({ key: `credit:${account}`, pollMs: POLL_MS.credit, hints, read })
}

async function watchJobs(context: GraphQLContext) {
  const { ctx, actor, options, live } = context
  await invoke(ctx, actor, listOwnJobs, { maxItems: 1 }, options)
  const account = accountOf(context, 'buyer')
  const read = () => readNewestJobs(ctx, account)
  // A submit changes the balance. An end is announced once its files are counted.
  const hints = [hintOf('funds', account), hintOf('jobs', account)]
  return live.jobs.watch({ key: `jobs:${account}`, pollMs: POLL_MS.jobs, hints, read })
}

builder.subscriptionFields((t) => ({
  bookUpdates: t.field({
    type: BookType,
    description: 'The order book of a model, now and after each change.',
    args: { model: t.arg.id({ required: true }) },
    subscribe: (_root, { model }, context) => watchBook(context, model),
    resolve: (state) => state,
  }),
  tradeUpdates: t.field({
    type: [TradeType],
    description: 'The latest trades, newest first, now and after each new one.',
    complexity: { field: 1, multiplier: 20 },
    args: { model: t.arg.string(), limit: t.arg.int({ required: true, defaultValue: 20 }) },
    subscribe: (_root, { model, limit }, context) => watchTrades(context, limit, model),
    resolve: (trades) => [...trades],
  }),
}))

builder.subscriptionFields((t) => ({
  offerHealthUpdates: t.field({
    type: [HealthType],
    description: 'The health of the caller’s newest offers.',
    complexity: { field: 1, multiplier: MAX_WATCHED_OFFERS },
    subscribe: (_root, _args, context) => watchOfferHealth(context),
    resolve: (offers) => [...offers],
  }),
  creditUpdates: t.field({
    type: Credit,
    description: 'The spendable balance of the caller.',
    subscribe: (_root, _args, context) => watchCredit(context),
    resolve: (credit) => credit,
  }),
  jobUpdates: t.field({
    type: [JobType],
    description: `The caller’s newest long jobs, at most ${MAX_WATCHED_JOBS}, now and when one begins or ends.`,
    complexity: { field: 1, multiplier: MAX_WATCHED_JOBS },
    subscribe: (_root, _args, context) => watchJobs(context),
    resolve: (jobs) => [...jobs],
  }),
  sellerOperationUpdates: t.field({
    type: Operation,
    description: 'The progress of an operation of the caller.',
    args: { id: t.arg.id({ required: true }) },
    subscribe: async (_root, { id }, context) => {
      const { ctx, actor, options, live } = context
      await invoke(ctx, actor, getSellerOperation, { id }, options)
      const account = accountOf(context, 'seller')
      const read = () => readSellerOperation(ctx, account, id)
      const hints = [hintOf('operations', id)]
      return live.operation.watch({ key: `operation:${account}:${id}`, pollMs: POLL_MS.operation, hints, read })
    },
    resolve: (state) => state,
  }),
}))

/** The present values for a reader of several subjects. */
type UpdatesState = {
  readonly books: readonly BookState[]
  readonly trades: readonly TradeView[]
  readonly credit: CreditBalance
  readonly jobs: readonly BuyerJob[]
  readonly offerHealth: readonly OfferHealth[]
}

/** Most books of one stream, and the least time between two of its events. */
const MAX_BOOKS = 8
const UPDATES_EVERY_MS = 500

const UpdatesType = builder.objectRef<Partial<UpdatesState>>('Updates').implement({
  description: 'The present state of each requested subject; null for the others.',
  fields: (t) => ({
    books: t.field({ type: [BookType], nullable: true, resolve: ({ books }) => books && [...books] }),
    trades: t.field({ type: [TradeType], nullable: true, resolve: ({ trades }) => trades && [...trades] }),
    credit: t.field({ type: Credit, nullable: true, resolve: ({ credit }) => credit ?? null }),
    jobs: t.field({ type: [JobType], nullable: true, resolve: ({ jobs }) => jobs && [...jobs] }),
    offerHealth: t.field({
      type: [HealthType],
      nullable: true,
      resolve: ({ offerHealth }) => offerHealth && [...offerHealth],
    }),
  }),
})

builder.subscriptionFields((t) => ({
  updates: t.field({
    type: UpdatesType,
    description: `Several subjects over one connection, at most ${MAX_BOOKS} order books among them. Each event has the whole present state, at most two a second.`,
    args: {
      books: t.arg.idList({ required: true, defaultValue: [] }),
      trades: t.arg.int({ required: true, defaultValue: 0 }),
      credit: t.arg.boolean({ required: true, defaultValue: false }),
      jobs: t.arg.boolean({ required: true, defaultValue: false }),
      offerHealth: t.arg.boolean({ required: true, defaultValue: false }),
    },
    subscribe: async (_root, args, context) => {
      if (args.books.length > MAX_BOOKS) {
        throw new AppError('invalid_request', {
          message: `A stream must have at most ${MAX_BOOKS} books.`,
          param: 'books',
        })
      }
      const books = args.books.map((model) => watchBook(context, model))
      const trades = args.trades > 0 ? watchTrades(context, args.trades) : undefined
      const credit = args.credit ? watchCredit(context) : undefined
      const jobs = args.jobs ? watchJobs(context) : undefined
      const offerHealth = args.offerHealth ? watchOfferHealth(context) : undefined
      const shelf = Promise.all(books).then(joinBooks)
      const all = await allOrNone([...books, trades, credit, jobs, offerHealth], () =>
        Promise.all([shelf, trades, credit, jobs, offerHealth]),
      )
      const parts = { books: all[0], trades: all[1], credit: all[2], jobs: all[3], offerHealth: all[4] }
      return combineLatest<UpdatesState>(parts, UPDATES_EVERY_MS)
    },
    resolve: (state) => state,
  }),
}))

/** All books of a stream as one list, in the order of the request. */
function joinBooks(
  books: readonly AsyncIterableIterator<BookState>[],
): AsyncIterableIterator<readonly BookState[]> | undefined {
  if (books.length === 0) return undefined
  const joined = combineLatest<Record<number, BookState>>({ ...books }, 0)
  return {
    next: async () => {
      const { done, value } = await joined.next()
      return done === true ? { done, value } : { done: false, value: listOf(value) }
    },
    return: async () => {
      await joined.return?.()
      return { done: true, value: undefined }
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}

function listOf(books: Partial<Record<number, BookState>>): readonly BookState[] {
  return Object.values(books).filter((book) => book !== undefined)
}

type Watch = { return?: AsyncIterator<unknown>['return'] }

/** Opens several watches, or none: after a refusal, the open ones are closed again. */
async function allOrNone<Opened>(
  watches: readonly (Promise<Watch> | undefined)[],
  open: () => Promise<Opened>,
): Promise<Opened> {
  try {
    return await open()
  } catch (error) {
    for (const settled of await Promise.allSettled(watches)) {
      if (settled.status === 'fulfilled') await settled.value?.return?.()
    }
    throw error
  }
}
