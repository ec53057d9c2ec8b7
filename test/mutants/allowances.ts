import type { Mutant } from './mutant.ts'
import { mutant, tests } from './mutant.ts'

const WEIGH_LINE = 'control-plane/services/allowances/weigh-line.ts'
const TEND_LINES = 'control-plane/services/allowances/tend-lines.ts'
const ADVANCE_CREDIT = 'control-plane/services/allowances/advance-credit.ts'
const SEND_DRAWS = 'control-plane/services/allowances/send-draws.ts'
const TAKE_MOVES = 'control-plane/services/deposits/take-moves.ts'
const SEND_PERMITS = 'control-plane/services/allowances/send-permits.ts'
const SIGN_ALLOWANCE = 'control-plane/services/allowances/sign-allowance.ts'
const LEDGER_DEBITS = 'control-plane/services/ledger/ledger-debits.ts'

const ALLOWANCES_TEST = tests('services/allowances')

/** Mistakes with credit that wallets pay afterwards. */
export const ALLOWANCE_MUTANTS: readonly Mutant[] = [
  mutant('credit-beyond-what-the-wallet-has', ALLOWANCES_TEST, `${WEIGH_LINE}#weighLine`, {
    'lowerBigint(lowerBigint(covered, lineMicro), line.advanced + room)':
      'lowerBigint(lineMicro, line.advanced + room)',
  }),
  mutant('no-bound-for-all-lines-together', ALLOWANCES_TEST, `${WEIGH_LINE}#weighLine`, {
    'lowerBigint(lowerBigint(covered, lineMicro), line.advanced + room)': 'lowerBigint(covered, lineMicro)',
  }),
  mutant('an-advance-is-made-again-at-each-turn', ALLOWANCES_TEST, `${WEIGH_LINE}#weighLine`, {
    'most > line.advanced ? most - line.advanced : 0n': 'most',
  }),
  mutant('a-line-that-is-stopped-keeps-its-credit', ALLOWANCES_TEST, `${TEND_LINES}#tendLine`, {
    'if (weighed.verdict.recall > 0n) await recallCredit(ctx, weighed.line, weighed.verdict.recall)':
      'void recallCredit',
  }),
  mutant('what-is-taken-back-stays-advanced', ALLOWANCES_TEST, `${ADVANCE_CREDIT}#recallCredit`, {
    '      { account, amount: -amount },\n      { account: advance, amount },':
      "      { account, amount: -amount },\n      { account: 'acc_promo', amount },",
  }),
  mutant('nobody-reviews-a-draw', ALLOWANCES_TEST, `${SEND_DRAWS}#approve`, {
    ' && draw.amount <= owedOf(line)': ' && owedOf(line) >= 0n',
  }),
  mutant('a-draw-is-sent-whatever-the-wallet-has', ALLOWANCES_TEST, `${SEND_DRAWS}#send`, {
    'if (reading.balance < amount || reading.allowance < amount) {': 'if (amount < 0n) {',
  }),
  mutant('each-worker-sends-a-draw-of-its-own', ALLOWANCES_TEST, `${SEND_DRAWS}#send`, {
    'await sender.send(drawRef(id), {': 'await sender.send(drawRef(id + performance.now()), {',
  }),
  mutant('wallets-pay-while-money-is-in-doubt', ALLOWANCES_TEST, `${SEND_DRAWS}#sendDraws`, {
    'isStopped ? undefined : await askForLeave(ctx)': 'isStopped && ctx === null ? undefined : await askForLeave(ctx)',
  }),
  mutant('what-a-draw-brought-is-nobodys', ALLOWANCES_TEST, `${TAKE_MOVES}#judgeArrival`, {
    '    if (draw?.wallet === party) {': '    if (draw?.wallet === own) {',
  }),
  mutant('a-wallet-takes-its-allowance-back-before-it-pays', ALLOWANCES_TEST, `${SEND_PERMITS}#isEarly`, {
    'owedOf(line) > value': 'owedOf(line) < 0n && value < 0n',
  }),
  mutant('anybody-signs-for-a-wallet', ALLOWANCES_TEST, `${SIGN_ALLOWANCE}#requireSigned`, {
    'if (signer?.toLowerCase() !== wallet)': 'if (signer === wallet)',
  }),
  mutant('what-is-lent-is-refunded', ALLOWANCES_TEST, `${LEDGER_DEBITS}#findLent`, {
    'return line.advanced + takenMicro - line.posted': 'return takenMicro - line.posted',
  }),
  mutant('what-calls-hold-is-refunded-out-of-what-is-lent', ALLOWANCES_TEST, `${LEDGER_DEBITS}#findLent`, {
    'return line.advanced + takenMicro - line.posted': 'return line.advanced + (takenMicro - takenMicro) - line.posted',
  }),
  mutant('a-line-of-another-treasury-goes-on', ALLOWANCES_TEST, `${TEND_LINES}#weighed`, {
    'const reading = isOfTreasury(ctx, line) ? walletReading : undefined': 'const reading = walletReading',
  }),
]
