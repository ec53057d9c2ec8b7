import type { AccountsTables } from './accounts.ts'
import type { AuditTables } from './audit.ts'
import type { IdempotencyTables } from './idempotency.ts'
import type { LedgerTables } from './ledger.ts'
import type { SettlementsTables } from './settlements.ts'

/** Every table, put together from the noun files that own them. A new noun adds its interface here. */
export type Tables = AccountsTables & AuditTables & IdempotencyTables & LedgerTables & SettlementsTables
