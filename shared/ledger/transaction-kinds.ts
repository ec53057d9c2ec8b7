/**
 * The rule of a reversal by an operator, for each kind of transaction:
 *
 * - `alone`: by the opposite of its own lines.
 * - `fiat_only`: by the opposite of its lines, when the money came from a payment provider. A transfer on the chain is
 *   final, and the treasury keeps its tokens.
 * - `with_job`: only together with the other transaction of its job, once the job has ended. The quote and the end of a
 *   job are one charge in two parts, and an escrow account holds the quotes of running jobs and nothing else.
 * - `never`: another record follows the transaction (a payment by wallet, a payout, an advance, a transfer of the
 *   treasury), or the transaction is a reversal.
 */
export type Reversal = 'alone' | 'fiat_only' | 'with_job' | 'never'

/** The kinds of the ledger's transactions. */
export const TRANSACTION_KINDS = {
  /** The charge of a call. */
  settle: 'alone',
  /** The quote of a long job, which moves to escrow. */
  escrow: 'with_job',
  /** The end of a long job, which splits its escrow. */
  job_end: 'with_job',
  deposit: 'fiat_only',
  grant: 'alone',
  refund: 'alone',
  withdrawal: 'alone',
  adjust: 'alone',
  reverse: 'never',
  /** The transfer of a payment by wallet. */
  payment: 'never',
  /** The amount of a payment by wallet that the platform covers. */
  write_off: 'never',
  advance: 'never',
  recall: 'never',
  repaid: 'never',
  payout: 'never',
  payout_paid: 'never',
  payout_returned: 'never',
  payout_cover: 'never',
  /** The operator's own tokens in and out of the treasury. */
  fund: 'never',
  withdraw: 'never',
} as const satisfies Record<string, Reversal>

export type TransactionKind = keyof typeof TRANSACTION_KINDS

export const TRANSACTION_KIND_NAMES = Object.keys(TRANSACTION_KINDS) as readonly TransactionKind[]

export const isTransactionKind = (kind: string): kind is TransactionKind => Object.hasOwn(TRANSACTION_KINDS, kind)
