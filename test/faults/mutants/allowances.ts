import type { TreasuryMutant } from './treasury-mutant.ts'

const ALLOWANCES = 'control-plane/services/allowances'
const caughtBy = 'allowances'

/** Mistakes with credit that wallets pay afterwards. */
export const ALLOWANCE_MUTANTS: readonly TreasuryMutant[] = [
  {
    name: 'credit-beyond-what-the-wallet-has',
    file: `${ALLOWANCES}/weigh-line.ts`,
    find: 'lower(lower(covered, lineMicro), line.advanced + room)',
    replace: 'lower(lineMicro, line.advanced + room)',
    caughtBy,
  },
  {
    name: 'no-bound-for-all-lines-together',
    file: `${ALLOWANCES}/weigh-line.ts`,
    find: 'lower(lower(covered, lineMicro), line.advanced + room)',
    replace: 'lower(covered, lineMicro)',
    caughtBy,
  },
  {
    name: 'an-advance-is-made-again-at-each-turn',
    file: `${ALLOWANCES}/weigh-line.ts`,
    find: 'most > line.advanced ? most - line.advanced : 0n',
    replace: 'most',
    caughtBy,
  },
  {
    name: 'a-line-that-is-stopped-keeps-its-credit',
    file: `${ALLOWANCES}/tend-lines.ts`,
    find: 'if (done.verdict.recall > 0n) await recallCredit(ctx, done.line, done.verdict.recall)',
    replace: 'void recallCredit',
    caughtBy,
  },
  {
    name: 'what-is-taken-back-stays-advanced',
    file: `${ALLOWANCES}/advance-credit.ts`,
    find: '      { account, amount: -amount },\n      { account: advance, amount },',
    replace: "      { account, amount: -amount },\n      { account: 'acc_promo', amount },",
    caughtBy,
  },
  {
    name: 'nobody-reviews-a-draw',
    file: `${ALLOWANCES}/send-draws.ts`,
    find: ' && draw.amount <= owedOf(line)',
    replace: ' && owedOf(line) >= 0n',
    caughtBy,
  },
  {
    name: 'a-draw-is-sent-whatever-the-wallet-has',
    file: `${ALLOWANCES}/send-draws.ts`,
    find: 'if (reading.balance < amount || reading.allowance < amount) {',
    replace: 'if (amount < 0n) {',
    caughtBy,
  },
  {
    name: 'each-worker-sends-a-draw-of-its-own',
    file: `${ALLOWANCES}/send-draws.ts`,
    find: 'await sender.send(drawRef(id), {',
    replace: 'await sender.send(drawRef(id + performance.now()), {',
    caughtBy,
  },
  {
    name: 'wallets-pay-while-money-is-in-doubt',
    file: `${ALLOWANCES}/send-draws.ts`,
    find: 'isStopped ? undefined : await askForLeave(ctx)',
    replace: 'isStopped && ctx === null ? undefined : await askForLeave(ctx)',
    caughtBy,
  },
  {
    name: 'what-a-draw-brought-is-nobodys',
    file: 'control-plane/services/deposits/take-moves.ts',
    find: '    if (draw?.wallet === party) {',
    replace: '    if (draw?.wallet === own) {',
    caughtBy,
  },
  {
    name: 'a-wallet-takes-its-allowance-back-before-it-pays',
    file: `${ALLOWANCES}/send-permits.ts`,
    find: 'owedOf(line) > value',
    replace: 'owedOf(line) < 0n && value < 0n',
    caughtBy,
  },
  {
    name: 'anybody-signs-for-a-wallet',
    file: `${ALLOWANCES}/sign-allowance.ts`,
    find: 'if (signer?.toLowerCase() !== wallet)',
    replace: 'if (signer === wallet)',
    caughtBy,
  },
  {
    name: 'what-is-lent-is-refunded',
    file: 'control-plane/services/ledger/ledger-debits.ts',
    find: 'return line.advanced + taken - line.posted',
    replace: 'return taken - line.posted',
    caughtBy,
  },
  {
    name: 'what-calls-hold-is-refunded-out-of-what-is-lent',
    file: 'control-plane/services/ledger/ledger-debits.ts',
    find: 'return line.advanced + taken - line.posted',
    replace: 'return line.advanced + (taken - taken) - line.posted',
    caughtBy,
  },
  {
    name: 'a-line-of-another-treasury-goes-on',
    file: `${ALLOWANCES}/tend-lines.ts`,
    find: 'const reading = isOfTreasury(ctx, line) ? found : undefined',
    replace: 'const reading = found',
    caughtBy,
  },
]
