import type { Actor } from '#control-plane/operation/actor.ts'
import { invoke } from '#control-plane/operation/invoke.ts'
import type { BuyerMe, CreditEntry, UsageStats } from '#control-plane/services/buyers/buyers.ts'
import {
  BuyerMeSchema,
  CreditEntrySchema,
  getBalance,
  getMe,
  listCreditEntries,
} from '#control-plane/services/buyers/buyers.ts'
import type { CreditBalance } from '#control-plane/services/money/credit.ts'
import { CreditBalanceSchema } from '#control-plane/services/money/credit.ts'
import { builder } from './builder.ts'
import { membersOf } from './members.ts'
import { costOfPage, readPage, toConnection } from './page.ts'

const Viewer = builder.objectRef<Actor>('Viewer').implement({
  description: 'Who is asking.',
  fields: (t) => ({
    kind: t.exposeString('kind'),
    keyId: t.id({ nullable: true, resolve: (actor) => ('keyId' in actor ? actor.keyId : null) }),
    wallet: t.string({ nullable: true, resolve: (actor) => ('wallet' in actor ? actor.wallet : null) }),
  }),
})

export const Credit = builder.objectRef<CreditBalance>('Credit').implement({
  description: 'Prepaid credit in micro-USD, as plain digits.',
  authScopes: { buyer: true },
  fields: (t) => membersOf(t, CreditBalanceSchema),
})

const Entry = builder.objectRef<CreditEntry>('CreditEntry').implement({
  description: 'One line of the ledger: signed micro-USD, as plain digits.',
  authScopes: { buyer: true },
  fields: (t) => membersOf(t, CreditEntrySchema),
})

const Stats = builder.objectRef<UsageStats & { readonly model?: string }>('UsageStats').implement({
  description: 'Totals of calls; spent in whole micro-USD.',
  fields: (t) => ({
    model: t.string({ nullable: true, resolve: (stats) => stats.model ?? null }),
    totalSpent: t.exposeFloat('totalSpent'),
    totalInputTokens: t.exposeFloat('totalInputTokens'),
    totalOutputTokens: t.exposeFloat('totalOutputTokens'),
    totalRequests: t.exposeFloat('totalRequests'),
  }),
})

type Call = BuyerMe['recentUsage'][number]
const RecentCall = builder.objectRef<Call>('RecentCall').implement({
  description: 'A call as it was charged.',
  fields: (t) => ({
    requestId: t.exposeID('request_id'),
    model: t.exposeString('model'),
    provider: t.exposeString('provider', { nullable: true }),
    settlementStatus: t.exposeString('settlement_status'),
    buyerCostMicro: t.exposeFloat('buyer_cost_micro'),
    listCostMicro: t.exposeFloat('list_cost_micro'),
    inputTokens: t.exposeFloat('input_tokens'),
    outputTokens: t.exposeFloat('output_tokens'),
    createdAt: t.exposeFloat('created_at'),
  }),
})

const Me = builder.objectRef<BuyerMe>('Me').implement({
  description: "The buyer's account at a glance.",
  authScopes: { buyer: true },
  fields: (t) => ({
    ...membersOf(t, BuyerMeSchema),
    stats: t.expose('stats', { type: Stats }),
    modelBreakdown: t.field({
      type: [Stats],
      complexity: { field: 1, multiplier: 50 },
      resolve: (me) => me.modelBreakdown,
    }),
    recentUsage: t.field({
      type: [RecentCall],
      complexity: { field: 1, multiplier: 20 },
      resolve: (me) => me.recentUsage,
    }),
  }),
})

builder.queryFields((t) => ({
  viewer: t.field({ type: Viewer, resolve: (_root, _args, { actor }) => actor }),
  me: t.field({
    type: Me,
    resolve: (_root, _args, { ctx, actor, options }) => invoke(ctx, actor, getMe, {}, options),
  }),
  credit: t.field({
    type: Credit,
    resolve: (_root, _args, { ctx, actor, options }) => invoke(ctx, actor, getBalance, {}, options),
  }),
  creditEntries: t.connection({
    type: Entry,
    complexity: costOfPage,
    resolve: async (_root, args, { ctx, actor, options }) =>
      toConnection(await invoke(ctx, actor, listCreditEntries, readPage(args), options), args),
  }),
}))
