import { z } from 'zod'
import type { Trx } from '#control-plane/db/database.ts'
import { refusalOf } from '#control-plane/db/database.ts'
import { insertKeyChangesOf } from '#control-plane/db/key-store.ts'
import { findUserByWallet, updateUserWallet } from '#control-plane/db/users.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { Wallet } from '#control-plane/services/input-fields.ts'
import { publishKeysSoon } from '#control-plane/services/keys/key-store.ts'
import { notePayee } from '#control-plane/services/offers/new-payee.ts'
import { AppError } from '#shared/errors.ts'
import { proveCounted, SignedInput } from './prove-counted.ts'
import { lockSignedIn, requireRecentSignIn } from './recent-sign-in.ts'
import type { SignInMessage } from './siwe.ts'
import { makeChallenge, SignInMessageSchema, toLink } from './siwe.ts'

/** Makes the message that links a wallet to the account that is signed in, once the wallet has signed it. */
export const readLinkChallenge = defineOperation({
  name: 'wallet.challenge',
  summary: 'Get a message that links a wallet',
  about:
    'The message names the account. Send the message back with its signature before it expires. The message does not sign you in.',
  access: 'session',
  input: z.strictObject({ address: Wallet }),
  limit: 'challenge',
  isAudited: false,
  idempotency: 'none',
  output: SignInMessageSchema,
  run: async (ctx, { user }, { address }): Promise<SignInMessage> => makeChallenge(ctx, address, toLink(user)),
})

export const LinkedWalletSchema = z
  .object({ user: z.string(), wallet: z.string() })
  .meta({ id: 'LinkedWallet', description: 'The wallet that an account has from now on.' })

/**
 * Links a wallet to the signed-in account, for good: payouts go to it, and its transfers are credited. Throws
 * `conflict` for an account that has a wallet, and for a wallet that has an account.
 */
export const linkWallet = defineOperation({
  name: 'wallet.link',
  summary: 'Link a wallet to the account',
  about:
    'Needs a message of `wallet.challenge`, signed by the wallet. The wallet can then sign in, we credit its transfers, and payouts go to it. You cannot unlink a wallet.',
  access: 'session',
  input: SignedInput,
  limit: 'write',
  isCountedByRun: true,
  idempotency: 'none',
  output: LinkedWalletSchema,
  run: async (ctx, actor, signed) => {
    requireRecentSignIn(ctx, actor)
    const { user, sellerAccount: seller } = actor
    const wallet = await proveCounted(ctx, signed, toLink(user))
    const link = async (trx: Trx) => {
      await lockSignedIn(trx, actor)
      const owner = await findUserByWallet(trx, wallet)
      if (owner !== undefined && owner.id !== user) throw ofAnother()
      const since = await notePayee(ctx, trx, { seller, offer: null, from: null, to: wallet })
      if (!(await updateUserWallet(trx, user, wallet, since))) {
        throw new AppError('conflict', { message: 'This account already has a wallet.' })
      }
      await insertKeyChangesOf(trx, user)
    }
    await linkOnce(() => ctx.change(link, () => ({ subject: user, before: { wallet: null }, after: { wallet } })))
    await publishKeysSoon(ctx)
    ctx.announce('sessions', [user])
    return { user, wallet }
  },
})

/** Runs a link. A concurrent link of the wallet gives the same conflict as an earlier one. */
async function linkOnce(run: () => Promise<void>): Promise<void> {
  try {
    await run()
  } catch (error) {
    if (refusalOf(error)?.constraint !== 'app_user_one_wallet') throw error
    throw ofAnother(error)
  }
}

function ofAnother(cause?: unknown): AppError {
  return new AppError('conflict', { message: 'This wallet has an account of its own. Sign in with it.', cause })
}
