import type { AccountId } from '#shared/ids.ts'

type AccountRule = {
  /**
   * The owner of such accounts: a user or organisation by its wallet, or the platform, which has one of each of its
   * kinds.
   */
  readonly owner: 'user' | 'platform'
  /** The side that the money belongs to in the books. `world` is money from outside or sent outside. */
  readonly side: 'buyer' | 'seller' | 'platform' | 'world'
  /** The bound of its balance: never below zero, never above zero, or none. */
  readonly bound: 'not_below_zero' | 'not_above_zero' | 'none'
  /**
   * The place of the balance: the account's row, or the sum of its entries. Every call touches a summed account, and
   * calls would queue for a row of it.
   */
  readonly balance: 'row' | 'sum'
  /**
   * True when the spending gate has its balance. The gate compares doubles, so the balance stays below 100 million USD.
   */
  readonly isGated: boolean
  /** The id of the platform's one account, which the schema brings with it. */
  readonly id: AccountId | null
}

const OWNED = { owner: 'user', bound: 'not_below_zero', balance: 'row', isGated: false, id: null } as const
const SUMMED = { owner: 'platform', bound: 'none', balance: 'sum', isGated: false } as const

/** The kinds of accounts. The constraints of the table `account` are the same, and a test compares the two. */
export const ACCOUNT_KINDS = {
  buyer_credit: { ...OWNED, side: 'buyer', isGated: true },
  /** The quotes of a buyer's running long jobs. */
  job_escrow: { ...OWNED, side: 'buyer' },
  seller_pending: { ...OWNED, side: 'seller' },
  seller_available: { ...OWNED, side: 'seller' },
  payout_in_flight: { ...OWNED, side: 'seller' },
  /** Credit that was advanced to a buyer whose wallet pays afterwards. */
  wallet_advance: { ...OWNED, side: 'platform', bound: 'not_above_zero' },
  platform_fee: { ...SUMMED, side: 'platform', id: 'acc_platform_fee' },
  /** The cost of served calls that could not be taken from the payer. */
  platform_shortfall: {
    owner: 'platform',
    side: 'platform',
    bound: 'not_above_zero',
    balance: 'row',
    isGated: false,
    id: 'acc_platform_shortfall',
  },
  /** The operator's own tokens in the treasury. */
  platform_capital: {
    owner: 'platform',
    side: 'platform',
    bound: 'not_below_zero',
    balance: 'row',
    isGated: false,
    id: 'acc_platform_capital',
  },
  external_usdc: { ...SUMMED, side: 'world', id: 'acc_external_usdc' },
  external_fiat: { ...SUMMED, side: 'world', id: 'acc_external_fiat' },
  promo: { ...SUMMED, side: 'world', id: 'acc_promo' },
} as const satisfies Record<string, AccountRule>

export type AccountKind = keyof typeof ACCOUNT_KINDS

/** The platform's accounts by their purpose. */
export const PLATFORM_ACCOUNTS = {
  fee: ACCOUNT_KINDS.platform_fee.id,
  shortfall: ACCOUNT_KINDS.platform_shortfall.id,
  capital: ACCOUNT_KINDS.platform_capital.id,
  externalUsdc: ACCOUNT_KINDS.external_usdc.id,
  externalFiat: ACCOUNT_KINDS.external_fiat.id,
  promo: ACCOUNT_KINDS.promo.id,
} as const
