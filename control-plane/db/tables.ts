import type { AccountsTables } from './accounts.ts'
import type { AuditTables } from './audit.ts'
import type { CatalogTables } from './catalog.ts'
import type { CatalogHistoryTables } from './catalog-history.ts'
import type { ControlsTables } from './controls.ts'
import type { CredentialsTables } from './credentials.ts'
import type { DebitsTables } from './debits.ts'
import type { DeclaredIncidentsTables } from './declared-incidents.ts'
import type { HealthLogTables } from './health-log.ts'
import type { IdempotencyTables } from './idempotency.ts'
import type { JobsTables } from './jobs.ts'
import type { KeyChangesTables } from './key-changes.ts'
import type { KeyUsesTables } from './key-uses.ts'
import type { KeysTables } from './keys.ts'
import type { LeasesTables } from './leases.ts'
import type { LedgerTables } from './ledger.ts'
import type { MoneyEpochTables } from './money-epoch.ts'
import type { MoneyWatchTables } from './money-watch.ts'
import type { OfferProbesTables } from './offer-probes.ts'
import type { OffersTables } from './offers.ts'
import type { OrganizationsTables } from './organizations.ts'
import type { OwnProvidersTables } from './own-providers.ts'
import type { SellerOperationsTables } from './seller-operations.ts'
import type { SessionsTables } from './sessions.ts'
import type { SettlementsTables } from './settlements.ts'
import type { SnapshotTables } from './snapshot.ts'
import type { UsersTables } from './users.ts'
import type { WebhooksTables } from './webhooks.ts'

/** Every table, put together from the noun files that own them. A new noun adds its interface here. */
export type Tables = AccountsTables &
  AuditTables &
  CatalogTables &
  CatalogHistoryTables &
  ControlsTables &
  CredentialsTables &
  DebitsTables &
  DeclaredIncidentsTables &
  HealthLogTables &
  IdempotencyTables &
  JobsTables &
  KeyChangesTables &
  KeysTables &
  KeyUsesTables &
  LeasesTables &
  LedgerTables &
  MoneyEpochTables &
  MoneyWatchTables &
  OfferProbesTables &
  OffersTables &
  OrganizationsTables &
  OwnProvidersTables &
  SessionsTables &
  SellerOperationsTables &
  SettlementsTables &
  SnapshotTables &
  UsersTables &
  WebhooksTables
