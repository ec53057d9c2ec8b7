import type { Mutant } from './mutant.ts'
import { mutant, tests } from './mutant.ts'

const EARNINGS_TEST = tests('services/earnings')
const DAYS_TEST = tests('services/usage-days')
const OFFERS_TEST = tests('services/offer-figures')
const SERIES_TEST = tests('services/market-rollup')

/** Mistakes in the sums of sales that sellers and visitors read. */
export const SALES_MUTANTS: readonly Mutant[] = [
  mutant('a-fee-is-the-whole-charge', EARNINGS_TEST, 'control-plane/services/earnings/earnings.ts#moneyOf', {
    'Number(gross - earned)': 'Number(gross)',
  }),
  mutant('an-unknown-charge-is-zero', DAYS_TEST, 'control-plane/services/earnings/earnings.ts#moneyOf', {
    'sum === null || charged === null ? null : sum + charged': 'sum === null ? null : sum + (charged ?? 0n)',
  }),
  mutant('an-offer-pays-no-fee', OFFERS_TEST, 'control-plane/services/offers/sales.ts#shownMoney', {
    'Number(gross - net)': 'Number(gross - gross)',
  }),
  mutant('waiting-hours-are-no-sales', OFFERS_TEST, 'control-plane/db/offer-figures.ts#listOfferSums', {
    "${knownSum('net_micro')} as net": 'coalesce(sum(net_micro), 0) as net',
  }),
  mutant('a-forgotten-hour-of-an-offer-is-empty', OFFERS_TEST, 'control-plane/db/offer-figures.ts#findFirstOfferHour', {
    'h.starts_at < kept.starts_at': 'h.starts_at < kept.starts_at and false',
  }),
  mutant(
    'a-waiting-hour-of-an-offer-earns-nothing',
    OFFERS_TEST,
    'control-plane/db/offer-figures.ts#listOfferBuckets',
    {
      "(${knownSum('net_micro')})::bigint": 'coalesce(sum(net_micro), 0)::bigint',
    },
  ),
  mutant('an-offer-earns-the-whole-charge', OFFERS_TEST, 'control-plane/db/market-rollup.ts#insertOfferHours', {
    'sum(seller_net) as net_micro': 'sum(charge) as net_micro',
  }),
  mutant('a-buyers-fault-is-a-failure-of-an-offer', OFFERS_TEST, 'control-plane/db/market-rollup.ts#insertOfferHours', {
    " and ${isFault(sql`a ->> 'errorClass'`)}": " and a ->> 'errorClass' is not null",
  }),
  mutant('an-unknown-failure-is-none', OFFERS_TEST, 'control-plane/db/operator-offers.ts#listMarketOffers', {
    "(${knownSum('failed')})::float8": 'coalesce(sum(failed), 0)::float8',
  }),
  mutant('a-running-day-is-its-stored-row', SERIES_TEST, 'control-plane/services/market/market-series.ts#partsOf', {
    'Math.min(span.to, now - HOUR)': '(span.to + DAY)',
  }),
]
