import {
  EarningsDaySchema,
  EarningsModelSchema,
  EarningsSchema,
  EarningsShareSchema,
  getEarnings,
} from '#control-plane/services/earnings/earnings.ts'
import { listSalesHistory, SaleViewSchema } from '#control-plane/services/earnings/sales.ts'
import { exportSellerUsage } from '#control-plane/services/earnings/seller-usage-export.ts'
import { ExportLinkSchema } from '#control-plane/services/exports/export-link.ts'
import { PayoutHoldViewSchema } from '#control-plane/services/payouts/payout-hold.ts'
import {
  getPayout,
  getPayoutPosition,
  PayoutPositionSchema,
  PayoutRecipientSchema,
  PayoutReportSchema,
} from '#control-plane/services/payouts/payout-position.ts'
import {
  PAYOUT_STATUSES,
  PayoutAuthorizationSchema,
  PayoutViewSchema,
} from '#control-plane/services/payouts/payout-views.ts'
import { PayoutAnswerSchema, requestPayout } from '#control-plane/services/payouts/request-payout.ts'
import { builder } from './builder.ts'
import { ShownUnitPriceType } from './market.ts'
import { objectOf } from './objects.ts'
import { fieldOf, pageOf } from './operation-fields.ts'

const Share = objectOf('EarningsShare', EarningsShareSchema, { ints: ['shareBps'] })

const Sale = objectOf('Sale', SaleViewSchema, {
  description:
    'One sale. Amounts are micro-USD as plain digits. Prices are US dollars per million tokens, and whole micro-USD per media unit.',
  types: { effectiveUnitPrices: ShownUnitPriceType },
  costs: { effectiveUnitPrices: { field: 1 } },
})

const Hold = objectOf('PayoutHold', PayoutHoldViewSchema)

/** The longest list of each kind. The cost of a query is computed with this length. */
const MOST_DAYS = 90
const MOST_MODELS = 50
const MOST_SALES = 20
const MOST_PAYOUTS = 100

const Earnings = objectOf('Earnings', EarningsSchema, {
  description: 'The earnings of a seller. Amounts called usdc are micro-USD as plain digits.',
  authScopes: { seller: true },
  types: {
    daily: objectOf('EarningsDay', EarningsDaySchema),
    byModel: objectOf('EarningsModel', EarningsModelSchema),
    share: Share,
    recentSales: Sale,
    payoutHold: Hold,
  },
  costs: { daily: { field: MOST_DAYS }, byModel: { field: MOST_MODELS }, recentSales: { field: MOST_SALES } },
})

const Link = objectOf('SalesExport', ExportLinkSchema, {
  description: 'An absolute URL that opens without a key, and its end in Unix milliseconds.',
})

const Recipient = objectOf('PayoutRecipient', PayoutRecipientSchema, {
  description: 'The money of a seller for one address. Amounts are micro-USD as plain digits.',
})

const Status = builder.enumType('PayoutStatus', { values: PAYOUT_STATUSES })

const Payout = objectOf('Payout', PayoutViewSchema, { types: { status: Status } })

const Authorization = objectOf('PayoutAuthorization', PayoutAuthorizationSchema, {
  description: 'A signed EIP-3009 authorization: a transaction of the recipient to `to` with `data`.',
  ints: ['chainId'],
})

const Report = objectOf('PayoutReport', PayoutReportSchema, {
  description: 'A payout, and its authorization as long as it can be submitted.',
  authScopes: { seller: true },
  types: { status: Status, authorization: Authorization },
})

const Answer = objectOf('PayoutAnswer', PayoutAnswerSchema, {
  description: 'The result of a request. Members that name one payout are those of the largest.',
  types: { status: Status, payouts: Payout, authorization: Authorization },
  costs: { payouts: { field: MOST_PAYOUTS } },
})

const Position = objectOf('PayoutPosition', PayoutPositionSchema, {
  authScopes: { seller: true },
  types: { recipients: Recipient, payouts: Payout, payoutHold: Hold },
  costs: { recipients: { field: MOST_MODELS }, payouts: { field: MOST_PAYOUTS } },
})

builder.queryFields((t) => ({
  earnings: t.field({ type: Earnings, ...fieldOf(getEarnings) }),
  sales: t.connection({
    type: Sale,
    ...pageOf(listSalesHistory, {}, ({ recentSales, ...page }) => ({ ...page, items: recentSales })),
  }),
  salesExport: t.field({ type: Link, ...fieldOf(exportSellerUsage, { without: ['format'] }) }),
  payouts: t.field({ type: Position, ...fieldOf(getPayoutPosition) }),
  payout: t.field({ type: Report, ...fieldOf(getPayout) }),
}))

builder.mutationFields((t) => ({
  requestPayout: t.field({ type: Answer, ...fieldOf(requestPayout) }),
}))
