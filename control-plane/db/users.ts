import type { AccountId, UserId } from '#shared/ids.ts'
import { openAccount } from './accounts.ts'
import type { Database, Trx } from './database.ts'

/** A user: a wallet with an account on each side of the market. */
export type User = {
  readonly id: UserId
  readonly wallet: string
  readonly buyerAccount: AccountId
  readonly sellerAccount: AccountId
}

const COLUMNS = ['id', 'wallet', 'buyer_account as buyerAccount', 'seller_account as sellerAccount'] as const

/** Finds a user by wallet. Wallets are stored in lower case. */
export async function findUserByWallet(db: Database | Trx, wallet: string): Promise<User | undefined> {
  return db.selectFrom('app_user').select(COLUMNS).where('wallet', '=', wallet).executeTakeFirst()
}

/** The users of wallets, which are in lower case. */
export async function listUsersByWallet(db: Database | Trx, wallets: readonly string[]): Promise<User[]> {
  if (wallets.length === 0) return []
  return db.selectFrom('app_user').select(COLUMNS).where('wallet', 'in', wallets).execute()
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

/** Finds the user of a wallet, or adds `fresh` with its accounts. Undefined when a rival has just added one. */
export async function ensureUser(trx: Trx, fresh: User, at: number): Promise<User | undefined> {
  const known = await findUserByWallet(trx, fresh.wallet)
  if (known !== undefined) return known
  await openAccount(trx, { id: fresh.buyerAccount, kind: 'buyer_credit', owner: fresh.id })
  await openAccount(trx, { id: fresh.sellerAccount, kind: 'seller_available', owner: fresh.id })
  return (await insertUser(trx, fresh, at)) ? fresh : undefined
}

/** Locks a user, so that one change to his keys runs at a time. */
export async function lockUser(trx: Trx, id: UserId): Promise<void> {
  await trx.selectFrom('app_user').select('id').where('id', '=', id).forUpdate().executeTakeFirst()
}
