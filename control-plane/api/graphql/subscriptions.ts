import { bookOfferFields } from '#control-plane/api/market-fields.ts'
import { sideOf } from '#control-plane/operation/actor.ts'
import { invoke } from '#control-plane/operation/invoke.ts'
import type { UpdateChannel } from '#control-plane/ports/updates/updates.ts'
import { getBalance } from '#control-plane/services/buyers/buyers.ts'
import { listOwnJobs, MAX_WATCHED_JOBS, readNewestJobs } from '#control-plane/services/buyers/jobs.ts'
import type { BookState, OfferHealth } from '#control-plane/services/live-reads.ts'
import {
  MAX_WATCHED_OFFERS,
  readBookState,
  readOfferHealth,
  readSellerOperation,
} from '#control-plane/services/live-reads.ts'
import { readOrderBook } from '#control-plane/services/market/market-book.ts'
import { marketTrades, readTrades } from '#control-plane/services/market/market-series.ts'
import { readCredit } from '#control-plane/services/money/credit.ts'
import { listOffers } from '#control-plane/services/offers/read.ts'
import { getSellerOperation } from '#control-plane/services/sellers/seller-operations.ts'
import { SECOND } from '#shared/clock.ts'
import { offersDocumentName } from '#shared/contract/snapshot.ts'
import { AppError } from '#shared/errors.ts'
import type { GraphQLContext } from './builder.ts'
import { builder } from './builder.ts'
import { JobType } from './jobs.ts'
import { BookOffer } from './market.ts'
import { TradeType } from './market-figures.ts'
import { Operation } from './seller.ts'
import { Credit } from './viewer.ts'

/** Subscriptions that show everybody the same. Callers with the same question share the answer. */
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
  description: 'The best offers of a model, best first, as they stand after a change.',
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
  throw new AppError('invalid_request', { message: `first is 1 to ${MAX_WATCHED_OFFERS}.`, param: 'first' })
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

/** The account of the side that a subscription is for. The caller was let in before. */
function accountOf({ actor }: GraphQLContext, side: 'buyer' | 'seller') {
  if (actor.kind === 'session') return sideOf(actor, side).account
  if (actor.kind !== side) throw new AppError('wrong_key_type')
  return actor.account
}

/** The announcements of a channel that name one thing. */
function hintOf(channel: UpdateChannel, name: string) {
  return { channel, isAbout: (names: readonly string[]) => names.includes(name) }
}

builder.subscriptionType({})

// The operation that reads the same once opens each of these. It lets in, counts and checks.
builder.subscriptionFields((t) => ({
  bookUpdates: t.field({
    type: BookType,
    description: 'The order book of a model, now and after each change.',
    args: { model: t.arg.id({ required: true }) },
    subscribe: async (_root, { model }, { ctx, actor, options, live }) => {
      const { model: found } = await invoke(ctx, actor, readOrderBook, { model, maxItems: 1 }, options)
      const documents = new Set([offersDocumentName(found.id), 'prices'])
      return live.book.watch({
        key: `book:${found.id}`,
        pollMs: POLL_MS.book,
        hints: [
          { channel: 'snapshot', isAbout: (names) => names.some((name) => documents.has(name)) },
          { channel: 'health', isAbout: () => true },
        ],
        read: () => readBookState(ctx, found.id),
      })
    },
    resolve: (state) => state,
  }),
  tradeUpdates: t.field({
    type: [TradeType],
    description: 'The latest trades, newest first, now and after each new one.',
    complexity: { field: 1, multiplier: 20 },
    args: { model: t.arg.string(), limit: t.arg.int({ required: true, defaultValue: 20 }) },
    subscribe: async (_root, { model, limit }, { ctx, actor, options, live }) => {
      const wish = { limit, model: model ?? undefined }
      await invoke(ctx, actor, marketTrades, wish, options)
      return live.feed.watch({
        key: `feed:${model ?? ''}:${Math.min(limit, MAX_TRADES)}`,
        pollMs: POLL_MS.feed,
        hints: [{ channel: 'feed', isAbout: () => true }],
        read: () => readTrades(ctx, limit, wish.model),
      })
    },
    resolve: (trades) => [...trades],
  }),
}))

builder.subscriptionFields((t) => ({
  offerHealthUpdates: t.field({
    type: [HealthType],
    description: 'The health of the caller’s newest offers.',
    complexity: { field: 1, multiplier: MAX_WATCHED_OFFERS },
    subscribe: async (_root, _args, context) => {
      const { ctx, actor, options, live } = context
      await invoke(ctx, actor, listOffers, { maxItems: 1 }, options)
      const account = accountOf(context, 'seller')
      return live.health.watch({
        key: `health:${account}`,
        pollMs: POLL_MS.health,
        hints: [{ channel: 'health', isAbout: () => true }],
        read: () => readOfferHealth(ctx, account),
      })
    },
    resolve: (offers) => [...offers],
  }),
  creditUpdates: t.field({
    type: Credit,
    description: 'The spendable balance of the caller.',
    subscribe: async (_root, _args, context) => {
      const { ctx, actor, options, live } = context
      await invoke(ctx, actor, getBalance, {}, options)
      const account = accountOf(context, 'buyer')
      const read = () => readCredit(ctx, account)
      const hints = [hintOf('funds', account)]
      return live.credit.watch({ key: `credit:${account}`, pollMs: POLL_MS.credit, hints, read })
    },
    resolve: (credit) => credit,
  }),
  jobUpdates: t.field({
    type: [JobType],
    description: `The caller’s newest long jobs, at most ${MAX_WATCHED_JOBS}, now and when one begins or ends.`,
    complexity: { field: 1, multiplier: MAX_WATCHED_JOBS },
    subscribe: async (_root, _args, context) => {
      const { ctx, actor, options, live } = context
      await invoke(ctx, actor, listOwnJobs, { maxItems: 1 }, options)
      const account = accountOf(context, 'buyer')
      const read = () => readNewestJobs(ctx, account)
      // A submit moves the balance. An end is announced once its files are counted.
      const hints = [hintOf('funds', account), hintOf('jobs', account)]
      return live.jobs.watch({ key: `jobs:${account}`, pollMs: POLL_MS.jobs, hints, read })
    },
    resolve: (jobs) => [...jobs],
  }),
  sellerOperationUpdates: t.field({
    type: Operation,
    description: 'How far an operation of the caller is.',
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
