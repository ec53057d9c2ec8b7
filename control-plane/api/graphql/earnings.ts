import { invoke } from '#control-plane/operation/invoke.ts'
import type { ExportLink } from '#control-plane/services/exports/export-link.ts'
import type {
  Earnings,
  EarningsDay,
  EarningsModel,
  EarningsShare,
  PayoutHoldView,
} from '#control-plane/services/sellers/earnings.ts'
import {
  EarningsDaySchema,
  EarningsModelSchema,
  EarningsShareSchema,
  getEarnings,
} from '#control-plane/services/sellers/earnings.ts'
import type { PayoutPosition } from '#control-plane/services/sellers/payout-position.ts'
import { getPayoutPosition } from '#control-plane/services/sellers/payout-position.ts'
import type { SaleView } from '#control-plane/services/sellers/sales.ts'
import { listSalesHistory, SaleViewSchema } from '#control-plane/services/sellers/sales.ts'
import { exportSellerUsage } from '#control-plane/services/sellers/seller-usage-export.ts'
import { builder } from './builder.ts'
import { given } from './given.ts'
import { ShownUnitPriceType } from './market.ts'
import { membersOf } from './members.ts'
import { costOfPage, readPage, toConnection } from './page.ts'

const Day = builder.objectRef<EarningsDay>('EarningsDay').implement({
  fields: (t) => membersOf(t, EarningsDaySchema),
})

const ModelEarnings = builder.objectRef<EarningsModel>('EarningsModel').implement({
  fields: (t) => membersOf(t, EarningsModelSchema),
})

const Share = builder.objectRef<EarningsShare>('EarningsShare').implement({
  fields: (t) => membersOf(t, EarningsShareSchema, { ints: ['shareBps'] }),
})

const SaleType = builder.objectRef<SaleView>('Sale').implement({
  description:
    'One sale. Amounts are micro-USD as plain digits, prices whole micro-USD per million tokens and per media unit.',
  fields: (t) => ({
    ...membersOf(t, SaleViewSchema),
    effectiveUnitPrices: t.field({
      type: [ShownUnitPriceType],
      complexity: { field: 1 },
      resolve: ({ effectiveUnitPrices }) => effectiveUnitPrices,
    }),
  }),
})

const Hold = builder.objectRef<PayoutHoldView>('PayoutHold').implement({
  fields: (t) => ({ reason: t.exposeString('reason'), since: t.exposeFloat('since') }),
})

/** The longest list of each kind. The cost of a query counts with it. */
const MOST_DAYS = 90
const MOST_MODELS = 50
const MOST_SALES = 20

const EarningsType = builder.objectRef<Earnings>('Earnings').implement({
  description: 'What a seller earned. Amounts called usdc are micro-USD as plain digits.',
  authScopes: { seller: true },
  fields: (t) => ({
    range: t.exposeString('range'),
    totalEarnedUsdc: t.exposeString('totalEarnedUsdc'),
    pendingUsdc: t.exposeString('pendingUsdc'),
    inFlightUsdc: t.exposeString('inFlightUsdc'),
    paidUsdc: t.exposeString('paidUsdc'),
    daily: t.field({ type: [Day], complexity: { field: MOST_DAYS }, resolve: ({ daily }) => daily }),
    byModel: t.field({ type: [ModelEarnings], complexity: { field: MOST_MODELS }, resolve: ({ byModel }) => byModel }),
    share: t.field({ type: Share, resolve: ({ share }) => share }),
    recentSales: t.field({ type: [SaleType], complexity: { field: MOST_SALES }, resolve: (all) => all.recentSales }),
    payoutHold: t.field({ type: Hold, nullable: true, resolve: (all) => all.payoutHold ?? null }),
  }),
})

const Link = builder.objectRef<ExportLink>('SalesExport').implement({
  description: 'A path that opens without a key, and until when in Unix milliseconds.',
  fields: (t) => ({ url: t.exposeString('url'), expiresAt: t.exposeFloat('expiresAt') }),
})

const Recipient = builder.objectRef<PayoutPosition['recipients'][number]>('PayoutRecipient').implement({
  fields: (t) => ({ recipient: t.exposeString('recipient'), earnedUsdc: t.exposeString('earnedUsdc') }),
})

const Position = builder.objectRef<PayoutPosition>('PayoutPosition').implement({
  authScopes: { seller: true },
  fields: (t) => ({
    availableUsdc: t.exposeString('availableUsdc'),
    inFlightUsdc: t.exposeString('inFlightUsdc'),
    paidUsdc: t.exposeString('paidUsdc'),
    thresholdUsdc: t.exposeString('thresholdUsdc'),
    recipients: t.field({ type: [Recipient], complexity: { field: MOST_MODELS }, resolve: (all) => all.recipients }),
    payoutHold: t.field({ type: Hold, nullable: true, resolve: (all) => all.payoutHold ?? null }),
  }),
})

builder.queryFields((t) => ({
  earnings: t.field({
    type: EarningsType,
    args: { range: t.arg.string(), workspaceId: t.arg.id() },
    resolve: (_root, args, { ctx, actor, options }) => invoke(ctx, actor, getEarnings, given(args), options),
  }),
  sales: t.connection({
    type: SaleType,
    args: { workspaceId: t.arg.id() },
    complexity: costOfPage,
    resolve: async (_root, { workspaceId, ...args }, { ctx, actor, options }) => {
      const { maxItems, nextToken } = readPage(args)
      const input = given({ workspaceId, limit: maxItems, cursor: nextToken })
      const { recentSales, ...page } = await invoke(ctx, actor, listSalesHistory, input, options)
      return toConnection({ items: recentSales, ...page }, args)
    },
  }),
  salesExport: t.field({
    type: Link,
    args: { from: t.arg.float(), to: t.arg.float(), limit: t.arg.int(), workspaceId: t.arg.id() },
    resolve: (_root, args, { ctx, actor, options }) => invoke(ctx, actor, exportSellerUsage, given(args), options),
  }),
  payouts: t.field({
    type: Position,
    args: { workspaceId: t.arg.id() },
    resolve: (_root, args, { ctx, actor, options }) => invoke(ctx, actor, getPayoutPosition, given(args), options),
  }),
}))
