import type { Mutant } from './mutant.ts'
import { mutant, tests } from './mutant.ts'

const BILLS_TEST = tests('services/provider-bills')
const ROWS_TEST = tests('unit/drift-rows')

/** Mistakes in comparing what providers bill with what the market lists. */
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
  mutant('another-currency-is-a-dollar', BILLS_TEST, 'control-plane/services/drift/read-bill.ts#requireDollars', {
    "!== 'usd'": "=== ''",
  }),
  mutant('a-day-that-is-not-over-is-stored', BILLS_TEST, 'control-plane/services/drift/fetch-report.ts#isWithin', {
    ' && day < utcDay(to)': '',
  }),
  mutant('what-no-class-explains-is-lost', ROWS_TEST, 'control-plane/services/drift/drift-rows.ts#listByClass', {
    "put('other', rest)": '',
  }),
]
