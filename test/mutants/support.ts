import type { Mutant } from './mutant.ts'
import { mutant, tests } from './mutant.ts'

const LEDGER_OPERATIONS = 'control-plane/services/ledger/ledger-operations.ts'
const REVERSAL = 'control-plane/services/ledger/reversal.ts'
const REVERSAL_TEST = tests('services/reversal')
const LEDGER_SEARCH = 'control-plane/db/ledger-search.ts'
const LEDGER_SEARCH_TEST = tests('doors/ledger-search')
const SUPPORT_ROWS = 'control-plane/db/support.ts'

const STATEMENT = 'control-plane/services/usage/monthly-statement.ts'
const STATEMENT_TEST = tests('services/monthly-statement')
const LINES = 'control-plane/db/statements.ts'
const LINES_TEST = tests('doors/buyer-reads')
const SUPPORT_TEST = tests('doors/support')

const FIGURES = 'control-plane/db/operator-figures.ts'
const FIGURES_TEST = tests('doors/operator-figures')

/** Mistakes in operators' changes to the money of a customer, and in the figures that they see. */
export const SUPPORT_MUTANTS: readonly Mutant[] = [
  mutant('a-transaction-is-reversed-under-each-of-its-names', REVERSAL_TEST, REVERSAL, {
    'const key = names?.key ?? keyOrId': 'const key = names === undefined ? keyOrId : keyOrId',
  }),
  mutant('a-reversal-of-a-job-takes-its-quote-out-of-escrow', REVERSAL_TEST, `${REVERSAL}#findJobCharge`, {
    'bookedEntries: [...quote, ...end]': 'bookedEntries: end.length === 0 ? [] : quote',
  }),
  mutant('a-job-is-reversed-under-each-of-its-names', REVERSAL_TEST, `${REVERSAL}#findJobCharge`, {
    'key: rid,': 'key: END_KEY + rid,',
  }),
  mutant('a-running-job-is-reversed', REVERSAL_TEST, `${REVERSAL}#findJobCharge`, {
    'if (end.length === 0)': 'if (end.length > 1_000)',
  }),
  mutant('a-deposit-on-the-chain-is-reversed', REVERSAL_TEST, `${REVERSAL}#findReversible`, {
    'account === PLATFORM_ACCOUNTS.externalUsdc': 'account === PLATFORM_ACCOUNTS.externalFiat && account !== account',
  }),
  mutant('a-call-that-no-wallet-paid-for-is-refunded', REVERSAL_TEST, `${REVERSAL}#requireArrival`, {
    "payment.state !== 'confirmed' || payment.bookedAt === null": "payment.state === 'claimed'",
  }),
  mutant('a-refund-leaves-no-reason-in-the-audit', SUPPORT_TEST, LEDGER_OPERATIONS, {
    'kind: move.kind, lines, ...reason }': 'kind: move.kind, lines, ...(reason && {}) }',
  }),
  mutant('the-ledger-is-in-the-order-of-ids', LEDGER_SEARCH_TEST, `${LEDGER_SEARCH}#searchTransactions`, {
    'order by t.at desc, t.id desc limit': 'order by t.id desc limit',
  }),
  mutant('a-page-of-the-ledger-skips-the-rest-of-an-instant', LEDGER_SEARCH_TEST, `${LEDGER_SEARCH}#conditionsOf`, {
    '(t.at, t.id) < (': "(t.at, t.id) < (-interval '1 millisecond' + ",
  }),
  mutant('a-refunded-call-looks-charged', SUPPORT_TEST, SUPPORT_ROWS, {
    "where r.key = 'reverse:' || s.rid)": "where r.key = 'refund:' || s.rid)",
  }),
  mutant('a-customer-is-shown-the-calls-of-others', SUPPORT_TEST, `${SUPPORT_ROWS}#listSupportCalls`, {
    'where s.account = ': 'where s.account <> ',
  }),
  mutant('a-statement-begins-with-nothing', STATEMENT_TEST, `${STATEMENT}#balancedLines`, {
    'let balance = opening': 'let balance = opening - opening',
  }),
  mutant('a-balance-of-one-kind-leaves-out-the-others', LINES_TEST, `${LINES}#listStatementLines`, {
    'tx >= (select min(tx) from chosen)': 'tx in (select tx from chosen)',
  }),
  mutant('a-day-of-one-kind-sums-all-kinds', LINES_TEST, `${LINES}#sumStatementSpans`, {
    'ofKind(kind)': 'ofKind(undefined)',
  }),
  mutant('a-statement-leaves-out-what-comes-in', STATEMENT_TEST, `${STATEMENT}#balancedLines`, {
    'balance += line.amount': 'balance += line.amount < 0n ? line.amount : 0n',
  }),
  mutant('a-part-of-a-prefix-matches-any-letter', SUPPORT_TEST, `${SUPPORT_ROWS}#listKeysNamed`, {
    "idOrBeginning.replaceAll('_', '\\\\_')": 'idOrBeginning',
  }),
  mutant('a-grant-needs-no-reason', SUPPORT_TEST, 'control-plane/services/ledger/ledger.ts', {
    "note: oneLine(500).trim().min(1, 'say why'),": "note: oneLine(500).default(''),",
  }),
  mutant('a-refund-needs-no-reason', SUPPORT_TEST, LEDGER_OPERATIONS, {
    "note: Note.trim().min(1, 'say why'),": "note: Note.default(''),",
  }),
  mutant('fees-do-not-fall-by-refunds', FIGURES_TEST, `${FIGURES}#sumFees`, {
    'sum(amount), 0': 'sum(amount) filter (where amount > 0), 0',
  }),
  mutant('free-calls-make-active-buyers', FIGURES_TEST, `${FIGURES}#countCallFigures`, {
    'count(distinct account) filter (where charge > 0)': 'count(distinct account) filter (where charge >= 0)',
  }),
  mutant('a-failed-call-counts-as-a-free-one', FIGURES_TEST, `${FIGURES}#countCallFigures`, {
    'where not ${IS_FAILED} and charge = 0': 'where charge = 0',
  }),
  mutant('a-charged-failure-counts-twice', FIGURES_TEST, `${FIGURES}#countCallFigures`, {
    'IS_FAILED} and charge > 0': 'IS_FAILED} and charge < 0',
  }),
  mutant('a-failed-call-counts-at-no-provider', FIGURES_TEST, `${FIGURES}#countErrors`, {
    "coalesce(${PROVIDER_OF_CALL}, '')": "coalesce(provider, '')",
  }),
  mutant('a-secret-setting-is-shown', tests('unit/environment'), 'shared/shown-settings.ts#shownSettings', {
    'value: isSecret ? null :': 'value: isSet ? given :',
  }),
]
