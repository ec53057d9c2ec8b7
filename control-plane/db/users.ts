import type { AccountId, UserId } from '#shared/ids.ts'
import { openAccount } from './accounts.ts'
import type { Database, Trx } from './database.ts'

/** A user: a person with an account on each side of the market. */
export type User = {
  readonly id: UserId
  /** Null until a wallet is linked. */
  readonly wallet: string | null
  readonly buyerAccount: AccountId
  readonly sellerAccount: AccountId
}

/** A user with a wallet. */
export type WalletUser = User & { readonly wallet: string }

const COLUMNS = ['id', 'wallet', 'buyer_account as buyerAccount', 'seller_account as sellerAccount'] as const

/** Finds a user by wallet. Wallets are stored in lower case. */
export async function findUserByWallet(db: Database | Trx, wallet: string): Promise<WalletUser | undefined> {
  const user = await db.selectFrom('app_user').select(COLUMNS).where('wallet', '=', wallet).executeTakeFirst()
  return user && { ...user, wallet }
}

/** The users of wallets, which are in lower case. */
export async function listUsersByWallet(db: Database | Trx, wallets: readonly string[]): Promise<WalletUser[]> {
  if (wallets.length === 0) return []
  const users = await db.selectFrom('app_user').select(COLUMNS).where('wallet', 'in', wallets).execute()
  return users.flatMap((user) => (user.wallet === null ? [] : [{ ...user, wallet: user.wallet }]))
}

export async function findUser(db: Database | Trx, id: UserId): Promise<User | undefined> {
  return db.selectFrom('app_user').select(COLUMNS).where('id', '=', id).executeTakeFirst()
}

/** Adds a user. Returns false when the wallet has one already. */
export async function insertUser(trx: Trx, user: User, at: number): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await trx
    .insertInto('app_user')
    .values({
      id: user.id,
      wallet: user.wallet,
      buyer_account: user.buyerAccount,
      seller_account: user.sellerAccount,
      created_at: new Date(at),
    })
    .onConflict((conflict) => conflict.column('wallet').doNothing())
    .executeTakeFirstOrThrow()
  return numInsertedOrUpdatedRows === 1n
}

/**
 * Finds the user of a wallet, or adds `fresh` with its accounts. Undefined when a concurrent transaction has just added
 * one.
 */
export async function ensureUser(trx: Trx, fresh: WalletUser, at: number): Promise<WalletUser | undefined> {
  const user = await findUserByWallet(trx, fresh.wallet)
  if (user !== undefined) return user
  return (await openUser(trx, fresh, at)) ? fresh : undefined
}

/** Adds a user with its accounts. Returns false when its wallet has a user already. */
export async function openUser(trx: Trx, fresh: User, at: number): Promise<boolean> {
  await openAccount(trx, { id: fresh.buyerAccount, kind: 'buyer_credit', owner: fresh.id })
  await openAccount(trx, { id: fresh.sellerAccount, kind: 'seller_available', owner: fresh.id })
  return insertUser(trx, fresh, at)
}

/** Links a wallet to a user without one. Returns false for a user that has one. `at` is Unix milliseconds. */
export async function updateUserWallet(trx: Trx, id: UserId, wallet: string, at: number): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .updateTable('app_user')
    .set({ wallet, wallet_since: new Date(at) })
    .where('id', '=', id)
    .where('wallet', 'is', null)
    .executeTakeFirst()
  return numUpdatedRows === 1n
}

/**
 * Locks a user, so that one change to the user's keys runs at a time. Rows that merely refer to the user do not wait: a
 * session that begins meanwhile holds a row that the change may need.
 */
export async function lockUser(trx: Trx, id: UserId): Promise<void> {
  await trx.selectFrom('app_user').select('id').where('id', '=', id).forNoKeyUpdate().executeTakeFirst()
}
