import { sql } from 'kysely'
import { findBalances, openAccount } from '#control-plane/db/accounts.ts'
import type { Database } from '#control-plane/db/database.ts'
import { transact } from '#control-plane/db/database.ts'
import { createMoneyLedger } from '#control-plane/ports/ledger/postgres-money-ledger.ts'
import { postTransaction } from '#control-plane/services/ledger/ledger.ts'
import { systemClock } from '#shared/clock.ts'
import type { AccountId } from '#shared/ids.ts'
import { createIds } from '#shared/ids.ts'
import type { AccountKind } from '#shared/ledger/account-kinds.ts'

const ids = createIds(systemClock)

/** Opens an account and grants it `grantMicro` micro-USD. */
export async function newAccount(db: Database, kind: AccountKind, grantMicro = 0): Promise<AccountId> {
  const account = ids.make('acc')
  await transact(db, (trx) => openAccount(trx, { id: account, kind, owner: 'usr_test' }))
  if (grantMicro > 0) await grant(db, account, grantMicro)
  return account
}

/** Moves micro-USD from promotion to an account. */
export async function grant(db: Database, account: AccountId, amountMicro: number): Promise<void> {
  const amount = BigInt(amountMicro)
  const id = ids.ulid()
  const entries = [
    { account, amount },
    { account: 'acc_promo', amount: -amount },
  ] as const
  await createMoneyLedger(db).transact((trx) =>
    postTransaction(trx, { id, key: `grant:${id}`, kind: 'grant', entries }),
  )
}

/** The balance of an account as a number of micro-USD. */
export async function balanceOf(db: Database, account: string): Promise<number> {
  const [row] = await findBalances(db, [account])
  return Number(row?.balance)
}

/** Inserts an active offer with a daily cap in micro-USD. Its seller and credential need not exist. */
export async function insertCappedOffer(db: Database, id: string, capMicro: number): Promise<void> {
  await db.connection().execute(async (connection) => {
    await sql`set session_replication_role = replica`.execute(connection)
    await sql`insert into offer (id, seller_account, model, provider, credential_id, fingerprint, base_url, api_format,
      provider_model, pricing_mode, kept_bps, cap_daily_micro, status, created_at, updated_at)
      values (${id}, 'acc_seller', 'm', 'p', 'crd_x', ${id}, 'https://x/v1', 'openai', 'm', 'discount', 5000, ${capMicro},
      'active', now(), now())`.execute(connection)
    await sql`reset session_replication_role`.execute(connection)
  })
}
