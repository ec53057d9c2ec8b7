import { invoke } from '#control-plane/operation.ts'
import { getPreferences, putPreferences } from '#control-plane/services/buyers/buyer-policy.ts'
import { getBalance, getMe, listCreditEntries } from '#control-plane/services/buyers/buyers.ts'
import {
  createOwnProvider,
  listBuyerProviders,
  removeOwnProvider,
} from '#control-plane/services/buyers/own-providers.ts'
import { updateBuyerKey } from '#control-plane/services/keys/key-limits.ts'
import { rotateBuyerKey } from '#control-plane/services/keys/key-rotation.ts'
import type { CreatedKey } from '#control-plane/services/keys/key-views.ts'
import {
  createBuyerKey,
  createSellerKey,
  listBuyerKeys,
  listSellerKeys,
  revokeBuyerKey,
  revokeSellerKey,
} from '#control-plane/services/keys/keys.ts'
import { grantCredit } from '#control-plane/services/money/ledger.ts'
import { createUser } from '#control-plane/services/users.ts'
import { cap, job, savings, statement, usage, webhook } from './buyer.ts'
import {
  alias,
  auditLog,
  catalog,
  feature,
  hold,
  incident,
  marketOffer,
  node,
  price,
  provider,
  queue,
  rateLimit,
  snapshot,
} from './market.ts'
import { market } from './market-figures.ts'
import { conflict, deposit, invariants, ledger, payoutHold, poison, refund, shortfall } from './money.ts'
import { config, earnings, offer, operation, probe } from './offers.ts'
import { audit, invitation, member, organization, organizationKey, workspace, workspaceKey } from './organizations.ts'
import { inputOf, procedure, router } from './procedure.ts'
import { request } from './requests.ts'
import { signIn } from './sign-in.ts'

/** A new key with the key itself as text: in the first answer only. */
function shown<Key extends CreatedKey>({ secret, ...key }: Key) {
  return { ...key, key: secret?.reveal() ?? null }
}

const sellerKey = router({
  create: procedure
    .input(inputOf(createSellerKey))
    .mutation(async ({ ctx, input }) =>
      shown(await invoke(ctx.ctx, await ctx.actor(), createSellerKey, input, ctx.options())),
    ),
  list: procedure
    .input(inputOf(listSellerKeys).optional())
    .query(async ({ ctx, input }) => invoke(ctx.ctx, await ctx.actor(), listSellerKeys, input ?? {}, ctx.options())),
  revoke: procedure
    .input(inputOf(revokeSellerKey))
    .mutation(async ({ ctx, input }) => invoke(ctx.ctx, await ctx.actor(), revokeSellerKey, input, ctx.options())),
})

const buyerKey = router({
  create: procedure
    .input(inputOf(createBuyerKey))
    .mutation(async ({ ctx, input }) =>
      shown(await invoke(ctx.ctx, await ctx.actor(), createBuyerKey, input, ctx.options())),
    ),
  list: procedure
    .input(inputOf(listBuyerKeys).optional())
    .query(async ({ ctx, input }) => invoke(ctx.ctx, await ctx.actor(), listBuyerKeys, input ?? {}, ctx.options())),
  update: procedure
    .input(inputOf(updateBuyerKey))
    .mutation(async ({ ctx, input }) => invoke(ctx.ctx, await ctx.actor(), updateBuyerKey, input, ctx.options())),
  rotate: procedure
    .input(inputOf(rotateBuyerKey))
    .mutation(async ({ ctx, input }) =>
      shown(await invoke(ctx.ctx, await ctx.actor(), rotateBuyerKey, input, ctx.options())),
    ),
  revoke: procedure
    .input(inputOf(revokeBuyerKey))
    .mutation(async ({ ctx, input }) => invoke(ctx.ctx, await ctx.actor(), revokeBuyerKey, input, ctx.options())),
})

const ownProvider = router({
  create: procedure
    .input(inputOf(createOwnProvider))
    .mutation(async ({ ctx, input }) => invoke(ctx.ctx, await ctx.actor(), createOwnProvider, input, ctx.options())),
  list: procedure.query(async ({ ctx }) => invoke(ctx.ctx, await ctx.actor(), listBuyerProviders, {}, ctx.options())),
  remove: procedure
    .input(inputOf(removeOwnProvider))
    .mutation(async ({ ctx, input }) => invoke(ctx.ctx, await ctx.actor(), removeOwnProvider, input, ctx.options())),
})

const preferences = router({
  get: procedure.query(async ({ ctx }) => invoke(ctx.ctx, await ctx.actor(), getPreferences, {}, ctx.options())),
  put: procedure
    .input(inputOf(putPreferences))
    .mutation(async ({ ctx, input }) => invoke(ctx.ctx, await ctx.actor(), putPreferences, input, ctx.options())),
})

const buyer = router({
  me: procedure.query(async ({ ctx }) => invoke(ctx.ctx, await ctx.actor(), getMe, {}, ctx.options())),
})

const credit = router({
  grant: procedure
    .input(inputOf(grantCredit))
    .mutation(async ({ ctx, input }) => invoke(ctx.ctx, await ctx.actor(), grantCredit, input, ctx.options())),
  balance: procedure.query(async ({ ctx }) => invoke(ctx.ctx, await ctx.actor(), getBalance, {}, ctx.options())),
  entries: procedure
    .input(inputOf(listCreditEntries))
    .query(async ({ ctx, input }) => invoke(ctx.ctx, await ctx.actor(), listCreditEntries, input ?? {}, ctx.options())),
})

const user = router({
  create: procedure.input(inputOf(createUser)).mutation(async ({ ctx, input }) => {
    const created = await invoke(ctx.ctx, await ctx.actor(), createUser, input, ctx.options())
    const { buyerKey: buyer, sellerKey: seller, ...facts } = created
    return { ...facts, buyerKey: buyer?.reveal() ?? null, sellerKey: seller?.reveal() ?? null }
  }),
})

/** The tRPC door: operators' operations, and those of sellers and buyers under their own keys. */
export const appRouter = router({
  offer,
  operation,
  probe,
  config,
  earnings,
  signIn,
  organization,
  member,
  invitation,
  workspace,
  workspaceKey,
  organizationKey,
  audit,
  sellerKey,
  buyerKey,
  ownProvider,
  preferences,
  buyer,
  usage,
  job,
  cap,
  savings,
  statement,
  request,
  webhook,
  credit,
  catalog,
  alias,
  price,
  provider,
  marketOffer,
  incident,
  hold,
  queue,
  node,
  snapshot,
  rateLimit,
  feature,
  auditLog,
  user,
  deposit,
  refund,
  ledger,
  poison,
  conflict,
  shortfall,
  invariants,
  payoutHold,
  market,
})
export type AppRouter = typeof appRouter
