import type { WalletUser } from '#control-plane/db/users.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { AppError } from '#shared/errors.ts'

/** A user of a wallet, with new ids. */
export function newUser({ ids }: Pick<Ctx, 'ids'>, wallet: string): WalletUser {
  return { id: ids.make('usr'), wallet, buyerAccount: ids.make('acc'), sellerAccount: ids.make('acc') }
}

/** Throws `conflict` when a concurrent transaction has made the user and committed. A new attempt finds the user. */
export function unrivalled(user: WalletUser | undefined): WalletUser {
  if (user === undefined) throw new AppError('conflict', { retryAfterSeconds: 1 })
  return user
}
