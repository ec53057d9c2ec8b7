import { z } from 'zod'
import type { Actor } from '#control-plane/operation/actor.ts'
import { CreditBalanceSchema } from '#control-plane/services/ledger/credit.ts'
import {
  BuyerMeSchema,
  CreditEntrySchema,
  getBalance,
  getMe,
  listCreditEntries,
  UsageStatsSchema,
} from '#control-plane/services/usage/buyer-account.ts'
import { LookupRecordSchema } from '#shared/contract/lookup.ts'
import { builder } from './builder.ts'
import { objectOf } from './objects.ts'
import { fieldOf, pageOf } from './operation-fields.ts'
import { LIST_COST } from './page.ts'

const Viewer = builder.objectRef<Actor>('Viewer').implement({
  description: 'The caller.',
  fields: (t) => ({
    kind: t.exposeString('kind'),
    keyId: t.id({ nullable: true, resolve: (actor) => ('keyId' in actor ? actor.keyId : null) }),
    user: t.id({ nullable: true, resolve: (actor) => ('user' in actor ? actor.user : null) }),
    wallet: t.string({ nullable: true, resolve: (actor) => ('wallet' in actor ? actor.wallet : null) }),
  }),
})

export const Credit = objectOf('Credit', CreditBalanceSchema, {
  description: 'Prepaid credit in micro-USD, as plain digits.',
  authScopes: { buyer: true },
})

const Entry = objectOf('CreditEntry', CreditEntrySchema, {
  description: 'One line of the ledger: signed micro-USD, as plain digits.',
  authScopes: { buyer: true },
})

const Stats = objectOf('UsageStats', UsageStatsSchema.extend({ model: z.string().optional() }), {
  description: 'Totals of calls; spent in whole micro-USD.',
  without: ['totalImages', 'totalMegapixels', 'totalSeconds', 'totalCharacters'],
})

const CallSchema = LookupRecordSchema.pick({
  request_id: true,
  model: true,
  provider: true,
  settlement_status: true,
  buyer_cost_micro: true,
  list_cost_micro: true,
  input_tokens: true,
  output_tokens: true,
  created_at: true,
})
const RecentCall = objectOf('RecentCall', CallSchema, { description: 'A charged call.' })

const Me = objectOf('Me', BuyerMeSchema, {
  description: "The buyer's account at a glance.",
  authScopes: { buyer: true },
  fields: (t) => ({
    stats: t.expose('stats', { type: Stats }),
    modelBreakdown: t.field({ type: [Stats], complexity: LIST_COST, resolve: (me) => me.modelBreakdown }),
    recentUsage: t.field({
      type: [RecentCall],
      complexity: { field: 1, multiplier: 20 },
      resolve: (me) => me.recentUsage,
    }),
  }),
})

builder.queryFields((t) => ({
  viewer: t.field({ type: Viewer, resolve: (_root, _args, { actor }) => actor }),
  me: t.field({ type: Me, ...fieldOf(getMe) }),
  credit: t.field({ type: Credit, ...fieldOf(getBalance) }),
  creditEntries: t.connection({ type: Entry, ...pageOf(listCreditEntries) }),
}))
