import type { AccountId, UserId } from '#shared/ids.ts'
import type { Database, Trx } from './database.ts'

/** The owner of a wallet, with its account on each side of the market. */
export type User = {
  readonly id: UserId
  readonly wallet: string
  readonly buyerAccount: AccountId
  readonly sellerAccount: AccountId
}

const COLUMNS = ['id', 'wallet', 'buyer_account as buyerAccount', 'seller_account as sellerAccount'] as const

/** Wallets are stored in lower case. */
export async function findUserByWallet(db: Database | Trx, wallet: string): Promise<User | undefined> {
  return db.selectFrom('app_user').select(COLUMNS).where('wallet', '=', wallet).executeTakeFirst()
}

/** Adds a user. False when the wallet has one by now. */
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

/** Lets one change to a user's keys at a time through. */
export async function lockUser(trx: Trx, id: UserId): Promise<void> {
  await trx.selectFrom('app_user').select('id').where('id', '=', id).forUpdate().executeTakeFirst()
}
