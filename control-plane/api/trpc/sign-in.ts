import { invoke } from '#control-plane/operation.ts'
import type { CreatedKey } from '#control-plane/services/keys/key-views.ts'
import {
  readChallenge,
  readSession,
  signInForBuyerKey,
  signInForSellerKey,
} from '#control-plane/services/sign-in/sign-in.ts'
import { inputOf, procedure, router } from './procedure.ts'

function shown({ secret, ...key }: CreatedKey) {
  return { ...key, key: secret?.reveal() ?? null }
}

/** Signing in with a wallet. Sessions begin and end at the REST door, which alone handles cookies. */
export const signIn = router({
  challenge: procedure
    .input(inputOf(readChallenge))
    .query(async ({ ctx, input }) => invoke(ctx.ctx, await ctx.actor(), readChallenge, input, ctx.options())),
  session: procedure.query(async ({ ctx }) => invoke(ctx.ctx, await ctx.actor(), readSession, {}, ctx.options())),
  forSellerKey: procedure
    .input(inputOf(signInForSellerKey))
    .mutation(async ({ ctx, input }) =>
      shown(await invoke(ctx.ctx, await ctx.actor(), signInForSellerKey, input, ctx.options())),
    ),
  forBuyerKey: procedure
    .input(inputOf(signInForBuyerKey))
    .mutation(async ({ ctx, input }) =>
      shown(await invoke(ctx.ctx, await ctx.actor(), signInForBuyerKey, input, ctx.options())),
    ),
})
