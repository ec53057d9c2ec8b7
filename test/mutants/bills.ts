import type { Mutant } from './mutant.ts'
import { mutant, tests } from './mutant.ts'

const BILLS_TEST = tests('services/provider-bills')
const ROWS_TEST = tests('unit/drift-rows')
const READ_TEST = tests('unit/read-bill')

/** Mistakes in comparing the bills of providers with the prices of the market. */
export const BILL_MUTANTS: readonly Mutant[] = [
  mutant('an-import-keeps-the-lines-before', BILLS_TEST, 'control-plane/db/provider-bills.ts#replaceBill', {
    'l.line = b.line or ': '',
  }),
  mutant('lines-of-one-report-replace-each-other', BILLS_TEST, 'control-plane/services/drift/read-bill.ts#addLines', {
    'const billedPico = left.billedPico + right.billedPico': 'const billedPico = left.billedPico',
  }),
  mutant('parts-stand-beside-their-whole', BILLS_TEST, 'control-plane/db/provider-bills.ts#replaceBill', {
    " or l.line = '' or b.line = ''": '',
  }),
  mutant('a-bill-is-shown-to-another-seller', BILLS_TEST, 'control-plane/db/provider-bills.ts#listBilled', {
    'seller_account = ${seller} and ': '',
  }),
  mutant('calls-of-another-seller-are-compared', BILLS_TEST, 'control-plane/db/drift.ts#sumBilledCalls', {
    's.seller_account = ${seller} and ': '',
  }),
  mutant('failed-calls-have-a-list-cost', BILLS_TEST, 'control-plane/db/drift.ts#sumBilledCalls', {
    "\n        and s.outcome <> 'failed'": '',
  }),
  mutant('cents-are-dollars', BILLS_TEST, 'control-plane/services/drift/read-bill.ts', {
    'const CENTS = -2': 'const CENTS = 0',
  }),
  mutant('another-currency-is-a-dollar', READ_TEST, 'control-plane/services/drift/read-bill.ts#requireDollars', {
    "!== 'usd'": "=== ''",
  }),
  mutant('a-day-that-is-not-over-is-stored', BILLS_TEST, 'control-plane/services/drift/fetch-report.ts#isWithin', {
    ' && day < utcDay(to)': '',
  }),
  mutant('a-class-in-other-words-stands-twice', BILLS_TEST, 'control-plane/db/provider-bills.ts#replaceBill', {
    ' or l.part = ${parts}::jsonb ->> b.line': '',
  }),
  mutant('a-removal-takes-bills-of-another-seller', BILLS_TEST, 'control-plane/db/provider-bills.ts#deleteBills', {
    'where seller_account = ${seller}\n    and': 'where',
  }),
  mutant('a-bucket-of-another-zone-is-a-day', READ_TEST, 'control-plane/services/drift/read-bill.ts#dayOfBucket', {
    '|| !isWithin': '',
  }),
  mutant('other-work-of-a-key-is-drift-of-its-provider', BILLS_TEST, 'control-plane/db/drift.ts#sumBilledByProvider', {
    '${isSoldOnly ? sql`where c.calls > 0` : sql``}': '',
  }),
  mutant('an-hour-of-a-cache-costs-as-minutes', ROWS_TEST, 'control-plane/services/drift/drift-rows.ts#usageByClass', {
    '{ cacheWriteLong: count(row.cacheWriteLong) }': '{ cacheWrite: count(row.cacheWriteLong) }',
  }),
  mutant('failed-calls-are-no-cause', BILLS_TEST, 'control-plane/db/drift.ts#countFailedCalls', {
    'h.rid is not null': 'h.rid is null',
  }),
  mutant('what-no-class-explains-is-lost', ROWS_TEST, 'control-plane/services/drift/drift-rows.ts#listByClass', {
    "put('other', rest)": '',
  }),
]
