import type { PublicModelsQuery } from '#control-plane/dashboard/data/documents/public-models.ts'
import { compact, milliseconds, percent } from '#control-plane/dashboard/data/format.ts'
import type { Column } from '#control-plane/dashboard/ui/table.tsx'

type Market = NonNullable<PublicModelsQuery['markets']>['edges'][number]['node']

/** Columns that several tables of models and of sellers share. */

/** The discount of the best offer on sale now. The share that buyers have saved has the name "Saved". */
export const DISCOUNT: Column<Pick<Market, 'bestDiscountPct'>> = {
  label: 'Discount',
  isNumber: true,
  cell: ({ bestDiscountPct }) => percent(bestDiscountPct),
  text: ({ bestDiscountPct }) => bestDiscountPct,
  unit: 'percent',
  order: 'discount',
}

export const SELLERS: Column<Pick<Market, 'healthySellerCount'>> = {
  label: 'Sellers',
  isNumber: true,
  cell: ({ healthySellerCount }) => healthySellerCount,
  text: ({ healthySellerCount }) => healthySellerCount,
  order: 'sellers',
}

export const FIRST_TOKEN: Column<Pick<Market, 'ttftP50Ms'>> = {
  label: 'First token 24 h',
  isNumber: true,
  cell: ({ ttftP50Ms }) => milliseconds(ttftP50Ms),
  text: ({ ttftP50Ms }) => ttftP50Ms,
  unit: 'ms',
  order: 'ttft',
  isLowFirst: true,
}

/**
 * The share of a model's calls that a provider answered. When one provider fails, the next one may answer the same
 * call.
 */
export const ANSWERED: Column<Pick<Market, 'uptimePct'>> = {
  label: 'Answered 24 h',
  isNumber: true,
  cell: ({ uptimePct }) => percent(uptimePct, 2),
  text: ({ uptimePct }) => uptimePct,
  unit: 'percent',
  order: 'uptime',
}

export const CALLS_24H: Column<Pick<Market, 'requests24h'>> = {
  label: 'Calls 24 h',
  isNumber: true,
  cell: ({ requests24h }) => compact(requests24h),
  text: ({ requests24h }) => requests24h,
  order: 'requests',
}
