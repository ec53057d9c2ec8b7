import { ACCOUNT_TABLES } from './tables/accounts.ts'
import { ALLOWANCE_TABLES } from './tables/allowances.ts'
import { CATALOG_TABLES } from './tables/catalog.ts'
import { CHAIN_PAYMENT_TABLES } from './tables/chain-payments.ts'
import type { TablesOf } from './tables/column.ts'
import { DEPOSIT_TABLES } from './tables/deposits.ts'
import { EMAIL_TABLES } from './tables/emails.ts'
import { KEY_TABLES } from './tables/keys.ts'
import { LEDGER_TABLES } from './tables/ledger.ts'
import { MARKET_TABLES } from './tables/market.ts'
import { MONTH_TABLES, MONTH_VIEWS } from './tables/months.ts'
import { OFFER_TABLES } from './tables/offers.ts'
import { OPERATION_TABLES } from './tables/operations.ts'
import { ORGANIZATION_TABLES } from './tables/organizations.ts'
import { PASSKEY_TABLES } from './tables/passkeys.ts'
import { PROVIDER_BILL_TABLES } from './tables/provider-bills.ts'
import { RESOURCE_TABLES } from './tables/resources.ts'
import { SAVED_VIEW_TABLES } from './tables/saved-views.ts'
import { SETTLEMENT_TABLES } from './tables/settlements.ts'
import { TREASURY_TABLES } from './tables/treasury.ts'
import { USAGE_DAY_TABLES } from './tables/usage-days.ts'
import { WEBHOOK_TABLES } from './tables/webhooks.ts'

/** Every table and view with its columns, in one file for each migration. A test compares them with the real schema. */
export const TABLES = {
  ...ACCOUNT_TABLES,
  ...ORGANIZATION_TABLES,
  ...KEY_TABLES,
  ...PASSKEY_TABLES,
  ...EMAIL_TABLES,
  ...SAVED_VIEW_TABLES,
  ...CATALOG_TABLES,
  ...OFFER_TABLES,
  ...LEDGER_TABLES,
  ...SETTLEMENT_TABLES,
  ...USAGE_DAY_TABLES,
  ...MONTH_TABLES,
  ...MONTH_VIEWS,
  ...MARKET_TABLES,
  ...WEBHOOK_TABLES,
  ...OPERATION_TABLES,
  ...CHAIN_PAYMENT_TABLES,
  ...RESOURCE_TABLES,
  ...TREASURY_TABLES,
  ...DEPOSIT_TABLES,
  ...ALLOWANCE_TABLES,
  ...PROVIDER_BILL_TABLES,
}

/** The types of every table for kysely. */
export type Tables = TablesOf<typeof TABLES>
