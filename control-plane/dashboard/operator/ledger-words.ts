import { short, words } from '#control-plane/dashboard/data/format.ts'

/** The kinds of transactions, the most frequent first. */
export const LEDGER_KINDS = {
  settle: 'Call',
  escrow: 'Start of a job',
  job_end: 'End of a job',
  deposit: 'Deposit',
  payment: 'Payment by wallet',
  payout: 'Payout started',
  payout_paid: 'Payout paid',
  payout_returned: 'Payout returned',
  grant: 'Credit given',
  refund: 'Refund',
  withdrawal: 'Withdrawal',
  adjust: 'Correction',
  reverse: 'Call refunded',
  advance: 'Advance to a wallet',
  recall: 'Advance taken back',
  repaid: 'Advance repaid',
  write_off: 'Write-off',
  payout_cover: 'Payout covered',
  fund: 'Capital in',
  withdraw: 'Capital out',
} as const

const KINDS: ReadonlyMap<string, string> = new Map(Object.entries(LEDGER_KINDS))

/** The kind of a transaction in words. */
export const kindText = (kind: string): string => KINDS.get(kind) ?? words(kind)

/** The purpose of an account in words, by its kind. */
const ACCOUNTS: ReadonlyMap<string, string> = new Map([
  ['buyer_credit', 'credit'],
  ['job_escrow', 'held for jobs'],
  ['seller_pending', 'earnings, waiting'],
  ['seller_available', 'earnings'],
  ['payout_in_flight', 'payout on its way'],
  ['wallet_advance', 'advance'],
  ['platform_fee', 'Market fees'],
  ['platform_shortfall', 'Market shortfall'],
  ['platform_capital', 'Market capital'],
  ['external_usdc', 'USDC on the chain'],
  ['external_fiat', 'Bank and cards'],
  ['promo', 'Free credit'],
])

/** An account in words: its owner and its purpose, or the market's own account. */
export function accountText({ accountKind, holder }: { accountKind: string; holder: string | null }): string {
  const purpose = ACCOUNTS.get(accountKind) ?? words(accountKind)
  if (holder === null) return purpose
  return `${/^0x[0-9a-f]{40}$/.test(holder) ? short(holder) : holder}, ${purpose}`
}
