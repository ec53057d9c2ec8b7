import { invoke } from '#control-plane/operation/invoke.ts'
import type { ExportLink } from '#control-plane/services/exports/export-link.ts'
import type { PayoutHoldView } from '#control-plane/services/payouts/payout-hold.ts'
import { PayoutHoldViewSchema } from '#control-plane/services/payouts/payout-hold.ts'
import type { PayoutPosition, PayoutRecipient, PayoutReport } from '#control-plane/services/payouts/payout-position.ts'
import { getPayout, getPayoutPosition, PayoutRecipientSchema } from '#control-plane/services/payouts/payout-position.ts'
import type { PayoutAuthorization, PayoutView } from '#control-plane/services/payouts/payout-views.ts'
import {
  PAYOUT_STATUSES,
  PayoutAuthorizationSchema,
  PayoutViewSchema,
} from '#control-plane/services/payouts/payout-views.ts'
import type { PayoutAnswer } from '#control-plane/services/payouts/request-payout.ts'
import { requestPayout } from '#control-plane/services/payouts/request-payout.ts'
import type { Earnings, EarningsDay, EarningsModel, EarningsShare } from '#control-plane/services/sellers/earnings.ts'
import {
  EarningsDaySchema,
  EarningsModelSchema,
  EarningsShareSchema,
  getEarnings,
} from '#control-plane/services/sellers/earnings.ts'
import type { SaleView } from '#control-plane/services/sellers/sales.ts'
import { listSalesHistory, SaleViewSchema } from '#control-plane/services/sellers/sales.ts'
import { exportSellerUsage } from '#control-plane/services/sellers/seller-usage-export.ts'
import { builder } from './builder.ts'
import { given } from './given.ts'
import { ShownUnitPriceType } from './market.ts'
import { membersOf } from './members.ts'
import { withKey } from './offers.ts'
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
    'One sale. Amounts are micro-USD as plain digits. Prices are US dollars per million tokens, and whole micro-USD per media unit.',
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
  fields: (t) => membersOf(t, PayoutHoldViewSchema),
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
  description: 'An absolute URL that opens without a key, and until when in Unix milliseconds.',
  fields: (t) => ({ url: t.exposeString('url'), expiresAt: t.exposeFloat('expiresAt') }),
})

const Recipient = builder.objectRef<PayoutRecipient>('PayoutRecipient').implement({
  description: 'What a seller has at one address. Amounts are micro-USD as plain digits.',
  fields: (t) => membersOf(t, PayoutRecipientSchema),
})

const PayoutStatus = builder.enumType('PayoutStatus', { values: PAYOUT_STATUSES })

const Payout = builder.objectRef<PayoutView>('Payout').implement({
  fields: (t) => ({
    ...membersOf(t, PayoutViewSchema, { without: ['status'] }),
    status: t.expose('status', { type: PayoutStatus }),
  }),
})

const Authorization = builder.objectRef<PayoutAuthorization>('PayoutAuthorization').implement({
  description: 'A signed EIP-3009 authorization: a transaction of the recipient to `to` with `data`.',
  fields: (t) => ({
    ...membersOf(t, PayoutAuthorizationSchema, { without: ['primaryType', 'chainId'] }),
    primaryType: t.exposeString('primaryType'),
    chainId: t.exposeInt('chainId'),
  }),
})

const Report = builder.objectRef<PayoutReport>('PayoutReport').implement({
  description: 'A payout, and its authorization as long as it can be submitted.',
  authScopes: { seller: true },
  fields: (t) => ({
    ...membersOf(t, PayoutViewSchema, { without: ['status'] }),
    status: t.expose('status', { type: PayoutStatus }),
    authorization: t.field({
      type: Authorization,
      nullable: true,
      resolve: ({ authorization }) => authorization ?? null,
    }),
  }),
})

/** The longest list of payouts in an answer, for its cost. */
const MOST_PAYOUTS = 100

const Answer = builder.objectRef<PayoutAnswer>('PayoutAnswer').implement({
  description: 'What became of a request. Members that name one payout are those of the largest.',
  fields: (t) => ({
    payoutId: t.exposeID('payoutId', { nullable: true }),
    status: t.expose('status', { type: PayoutStatus }),
    reason: t.exposeString('reason', { nullable: true }),
    payouts: t.field({ type: [Payout], complexity: { field: MOST_PAYOUTS }, resolve: ({ payouts }) => payouts }),
    authorization: t.field({
      type: Authorization,
      nullable: true,
      resolve: ({ authorization }) => authorization ?? null,
    }),
  }),
})

const Position = builder.objectRef<PayoutPosition>('PayoutPosition').implement({
  authScopes: { seller: true },
  fields: (t) => ({
    availableUsdc: t.exposeString('availableUsdc'),
    inFlightUsdc: t.exposeString('inFlightUsdc'),
    paidUsdc: t.exposeString('paidUsdc'),
    thresholdUsdc: t.exposeString('thresholdUsdc'),
    recipients: t.field({ type: [Recipient], complexity: { field: MOST_MODELS }, resolve: (all) => all.recipients }),
    payouts: t.field({ type: [Payout], complexity: { field: MOST_PAYOUTS }, resolve: ({ payouts }) => payouts }),
    nextToken: t.exposeString('nextToken', { nullable: true }),
    payoutStop: t.exposeString('payoutStop', { nullable: true }),
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
    args: { workspaceId: t.arg.id(), maxItems: t.arg.int(), nextToken: t.arg.string() },
    resolve: (_root, args, { ctx, actor, options }) => invoke(ctx, actor, getPayoutPosition, given(args), options),
  }),
  payout: t.field({
    type: Report,
    args: { id: t.arg.id({ required: true }), workspaceId: t.arg.id() },
    resolve: (_root, args, { ctx, actor, options }) => invoke(ctx, actor, getPayout, given(args), options),
  }),
}))

builder.mutationFields((t) => ({
  requestPayout: t.field({
    type: Answer,
    args: { selfSubmit: t.arg.boolean(), recipient: t.arg.string(), idempotencyKey: t.arg.string() },
    resolve: (_root, { idempotencyKey, ...args }, { ctx, actor, options }) =>
      invoke(ctx, actor, requestPayout, given(args), withKey(options, idempotencyKey)),
  }),
}))
