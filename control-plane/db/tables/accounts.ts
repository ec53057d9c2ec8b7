import type { AccountKind } from '#shared/ledger/account-kinds.ts'
import { ACCOUNT_KINDS } from '#shared/ledger/account-kinds.ts'
import { bigint, boolean, id, made, nullable, oneOf, text, timestamp, withDefault } from './column.ts'

const KINDS: readonly AccountKind[] = Object.keys(ACCOUNT_KINDS).filter(
  (kind): kind is AccountKind => kind in ACCOUNT_KINDS,
)

/** Tables of `0001_accounts.sql`. Amounts are micro-USD. */
export const ACCOUNT_TABLES = {
  account: {
    id: id('acc'),
    kind: oneOf(KINDS),
    /** The `usr_` or `org_` id of its owner; null for the platform's own accounts. */
    owner: nullable(text()),
    currency: withDefault(text()),
    /** Stays 0 on summed accounts. Their balance is the sum of their entries. */
    balance: withDefault(bigint()),
    /** The number of entries that have changed the balance. */
    version: withDefault(bigint()),
    is_summed: made(boolean()),
    created_at: withDefault(timestamp()),
  },
  account_change: {
    account: id('acc'),
    balance: bigint(),
    version: bigint(),
    changed_at: withDefault(timestamp()),
  },
  app_user: {
    id: id('usr'),
    /** Lower-case `0x…`. Null until a wallet is linked. */
    wallet: nullable(text()),
    buyer_account: id('acc'),
    seller_account: id('acc'),
    created_at: timestamp(),
    /** Null for a user that signed up with its wallet. */
    wallet_since: nullable(timestamp()),
  },
}
