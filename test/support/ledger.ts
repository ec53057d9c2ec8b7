import type { AccountKind } from '#control-plane/db/accounts.ts'
import { findBalances, openAccount } from '#control-plane/db/accounts.ts'
import type { Database } from '#control-plane/db/database.ts'
import { transact } from '#control-plane/db/database.ts'
import { createMoneyLedger } from '#control-plane/db/money-ledger.ts'
import { postTransaction } from '#control-plane/services/ledger.ts'
import { systemClock } from '#shared/clock.ts'
import type { AccountId } from '#shared/ids.ts'
import { createIds } from '#shared/ids.ts'

const ids = createIds(systemClock)

/** Opens an account and, where an amount is given, grants it that many micro-USD. */
export async function newAccount(db: Database, kind: AccountKind, grantMicro = 0): Promise<AccountId> {
  const account = ids.make('acc')
  await transact(db, (trx) => openAccount(trx, { id: account, kind, owner: 'usr_test' }))
  if (grantMicro > 0) await grant(db, account, grantMicro)
  return account
}

/** Puts micro-USD on an account out of promotion. */
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
