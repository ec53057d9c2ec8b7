import type { Balance } from '#control-plane/db/accounts.ts'
import type { ChainPayment } from '#control-plane/db/chain-payments.ts'
import type { Job, JobEndRow } from '#control-plane/db/jobs.ts'
import type { Entry } from '#control-plane/db/ledger.ts'
import type { LedgerFooting, MoneyRecord } from '#control-plane/db/money-epoch.ts'
import type { Conflict, Poison, SettledRow } from '#control-plane/db/settlements.ts'
import type { WalletUser } from '#control-plane/db/users.ts'
import type { SignedTransaction } from '#control-plane/ports/facilitator/transaction-store.ts'
import type { AccountKind } from '#shared/ledger/account-kinds.ts'

/** The stored record of the epoch. */
type MoneyRecordRow = { -readonly [Field in keyof MoneyRecord]: MoneyRecord[Field] }

export type PaymentRow = ChainPayment & { readonly isContract: boolean }
export type AccountRow = Balance & { readonly kind: AccountKind }
export type SettlementRow = SettledRow & {
  readonly sellerAccount: string | null
  readonly keyId: string | null
  readonly offer: string | null
  readonly charge: bigint
  readonly hold: bigint
}

/** A signed transaction, with Unix milliseconds of the world. */
export type TransactionRow = Omit<SignedTransaction, 'ageMs' | 'sentMs'> & {
  readonly signedAt: number
  readonly sentAt: number | null
}

/** The timeline of the database, and the recorded one. A restore begins a new timeline. */
type Timelines = { readonly here: number; known: number }

/** The tables of the money path in Postgres. */
export type LedgerTables = {
  readonly accounts: Map<string, AccountRow>
  readonly settlements: Map<string, SettlementRow>
  readonly transactions: Set<string>
  readonly ledgerKeys: Map<string, string>
  readonly entries: Entry[]
  readonly jobs: Map<string, Job>
  /** The inbox of job ends, by the request id of the job. */
  readonly jobEnds: Map<string, JobEndRow>
  readonly changes: Map<string, Balance>
  readonly conflicts: Conflict[]
  readonly poison: Poison[]
  readonly nodes: Map<string, { readonly seenAt: number; readonly isRetired: boolean }>
  readonly epoch: MoneyRecordRow
  readonly identity: Timelines
  /** The accounts of keys with a cap and of offers with a cap. */
  readonly cappedKeys: Map<string, string>
  readonly cappedOffers: Map<string, string>
  /** The keys whose calls count for each budget. */
  readonly budgets: Map<string, readonly string[]>
  /** Users by wallet. */
  readonly users: Map<string, WalletUser>
  /** Payments by wallet, by request id. */
  readonly payments: Map<string, PaymentRow>
  /** Payments that were searched for after their time and had not arrived. */
  readonly sought: Set<string>
  /** Signed transactions by hash, in the order of their signing, and the next nonce of each key. */
  readonly signed: Map<string, TransactionRow>
  readonly nonces: Map<string, bigint>
  /** The earnings of each offer. */
  readonly earned: Map<string, bigint>
}

export function createTables(): LedgerTables {
  return {
    accounts: new Map(),
    settlements: new Map(),
    transactions: new Set(),
    ledgerKeys: new Map(),
    entries: [],
    jobs: new Map(),
    jobEnds: new Map(),
    changes: new Map(),
    conflicts: [],
    poison: [],
    nodes: new Map(),
    epoch: {
      epoch: 0,
      harvested: 0,
      beat: 0,
      beatAt: 0,
      restore: undefined,
      isRestoreNew: false,
      heldAt: undefined,
      joinedAt: undefined,
    },
    identity: { here: 1, known: 1 },
    cappedKeys: new Map(),
    cappedOffers: new Map(),
    budgets: new Map(),
    users: new Map(),
    payments: new Map(),
    sought: new Set(),
    signed: new Map(),
    nonces: new Map(),
    earned: new Map(),
  }
}

/** Copies the tables for a transaction. The committed tables stay as they are. */
export function copyTables(tables: LedgerTables): LedgerTables {
  return {
    accounts: new Map(tables.accounts),
    settlements: new Map(tables.settlements),
    transactions: new Set(tables.transactions),
    ledgerKeys: new Map(tables.ledgerKeys),
    entries: [...tables.entries],
    jobs: new Map(tables.jobs),
    jobEnds: new Map(tables.jobEnds),
    changes: new Map(tables.changes),
    conflicts: [...tables.conflicts],
    poison: [...tables.poison],
    nodes: tables.nodes,
    epoch: tables.epoch,
    identity: tables.identity,
    cappedKeys: tables.cappedKeys,
    cappedOffers: tables.cappedOffers,
    budgets: tables.budgets,
    users: new Map(tables.users),
    payments: new Map(tables.payments),
    sought: new Set(tables.sought),
    signed: new Map(tables.signed),
    nonces: new Map(tables.nonces),
    earned: new Map(tables.earned),
  }
}

/** Copies all tables, for a restore. */
export function backUpTables(tables: LedgerTables): LedgerTables {
  return { ...copyTables(tables), nodes: new Map(tables.nodes), epoch: { ...tables.epoch } }
}

/** The relation of the ledger to a beat of the gate, and the time of the last recorded restore. */
export function footingOf({ epoch, identity }: LedgerTables, beat = 0): LedgerFooting {
  const restoredAt = epoch.restore?.at ?? null
  if (epoch.beat < beat || identity.known !== identity.here) return { standing: 'behind', restoredAt }
  if (epoch.heldAt === undefined) return { standing: 'sound', restoredAt }
  return { standing: epoch.joinedAt === undefined ? 'joining' : 'held', restoredAt }
}
