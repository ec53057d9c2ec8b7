/** The kinds of ledger lines that buyers meet, and their names on the page. */
export const LEDGER_KINDS = {
  settle: 'call',
  escrow: 'job',
  job_end: 'job refund',
  grant: 'grant',
  deposit: 'deposit',
  adjust: 'adjustment',
  reverse: 'reversal',
  advance: 'advance',
  recall: 'advance returned',
} as const

export type LedgerKind = keyof typeof LEDGER_KINDS

export const isLedgerKind = (kind: string): kind is LedgerKind => Object.hasOwn(LEDGER_KINDS, kind)
