import type { AccountId } from '#shared/ids.ts'

type AccountRule = {
  /** Who has accounts of this kind: a wallet user or organisation, or the platform, which has one of each of its kinds. */
  readonly owner: 'user' | 'platform'
  /** Whose money it is, as the books see it; `world` is what came in from outside and what went out again. */
  readonly side: 'buyer' | 'seller' | 'platform' | 'world'
  /** The bound of its balance: never below zero, never above zero, or none. */
  readonly bound: 'not_below_zero' | 'not_above_zero' | 'none'
  /**
   * How its balance is kept: in the account's row, or as the sum of its entries. Every call touches a summed account, so
   * a row of it would be fought over.
   */
  readonly balance: 'row' | 'sum'
  /** The spending gate hears of its balance, and compares it as a double: it stays below 100 million USD. */
  readonly isGated: boolean
  /** The id of the platform's one account, which the schema brings with it. */
  readonly id: AccountId | null
}

const OWNED = { owner: 'user', bound: 'not_below_zero', balance: 'row', isGated: false, id: null } as const
const SUMMED = { owner: 'platform', bound: 'none', balance: 'sum', isGated: false } as const

/** What an account can stand for. The constraints of the table `account` say the same; a test compares the two. */
export const ACCOUNT_KINDS = {
  buyer_credit: { ...OWNED, side: 'buyer', isGated: true },
  /** The quotes of a buyer's long jobs that run. */
  job_escrow: { ...OWNED, side: 'buyer' },
  seller_pending: { ...OWNED, side: 'seller' },
  seller_available: { ...OWNED, side: 'seller' },
  payout_in_flight: { ...OWNED, side: 'seller' },
  platform_fee: { ...SUMMED, side: 'platform', id: 'acc_platform_fee' },
  /** What was served and could not be taken from its payer. */
  platform_shortfall: {
    ...{ owner: 'platform', side: 'platform', bound: 'not_above_zero', balance: 'row', isGated: false },
    id: 'acc_platform_shortfall',
  },
  external_usdc: { ...SUMMED, side: 'world', id: 'acc_external_usdc' },
  external_fiat: { ...SUMMED, side: 'world', id: 'acc_external_fiat' },
  promo: { ...SUMMED, side: 'world', id: 'acc_promo' },
} as const satisfies Record<string, AccountRule>

export type AccountKind = keyof typeof ACCOUNT_KINDS

/** The platform's accounts by what they are for. */
export const PLATFORM_ACCOUNTS = {
  fee: ACCOUNT_KINDS.platform_fee.id,
  shortfall: ACCOUNT_KINDS.platform_shortfall.id,
  externalUsdc: ACCOUNT_KINDS.external_usdc.id,
  externalFiat: ACCOUNT_KINDS.external_fiat.id,
  promo: ACCOUNT_KINDS.promo.id,
} as const
