import { nameMe, namePreferences } from '#control-plane/api/buyer-synonyms.ts'
import { updateBuyerKey } from '#control-plane/services/keys/key-limits.ts'
import { rotateBuyerKey } from '#control-plane/services/keys/key-rotation.ts'
import {
  createBuyerKey,
  createSellerKey,
  listBuyerKeys,
  listSellerKeys,
  revokeBuyerKey,
  revokeSellerKey,
} from '#control-plane/services/keys/keys.ts'
import { grantCredit } from '#control-plane/services/ledger/ledger.ts'
import { getPreferences, putPreferences } from '#control-plane/services/routing/buyer-policy.ts'
import {
  createOwnProvider,
  listBuyerProviders,
  removeOwnProvider,
} from '#control-plane/services/routing/own-providers.ts'
import { simulateRouting } from '#control-plane/services/routing/simulate-routing.ts'
import { getBalance, getMe, listCreditEntries } from '#control-plane/services/usage/buyer-account.ts'
import { createUser } from '#control-plane/services/users/users.ts'
import { allowance } from './allowances.ts'
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
import {
  conflict,
  deposit,
  invariants,
  journal,
  ledger,
  payments,
  payoutHold,
  payouts,
  poison,
  refund,
  shortfall,
  treasury,
} from './money.ts'
import { bill, config, drift, earnings, offer, operation, payout, probe } from './offers.ts'
import {
  audit,
  budget,
  invitation,
  inviteLink,
  member,
  organization,
  organizationKey,
  workspace,
  workspaceKey,
} from './organizations.ts'
import { mutationOf, queryOf, router } from './procedure.ts'
import { request } from './requests.ts'
import { lentOffer, resource } from './resources.ts'
import { savedView } from './saved-views.ts'
import { withKey, withKeys } from './secrets.ts'
import { signIn } from './sign-in.ts'
import { figures, settings, support } from './support.ts'

const sellerKey = router({
  create: mutationOf(createSellerKey, withKey),
  list: queryOf(listSellerKeys),
  revoke: mutationOf(revokeSellerKey),
})

const buyerKey = router({
  create: mutationOf(createBuyerKey, withKey),
  list: queryOf(listBuyerKeys),
  update: mutationOf(updateBuyerKey),
  rotate: mutationOf(rotateBuyerKey, withKey),
  revoke: mutationOf(revokeBuyerKey),
})

const ownProvider = router({
  create: mutationOf(createOwnProvider),
  list: queryOf(listBuyerProviders),
  remove: mutationOf(removeOwnProvider),
})

const preferences = router({
  get: queryOf(getPreferences, namePreferences),
  put: mutationOf(putPreferences, namePreferences),
})

const routing = router({
  simulate: queryOf(simulateRouting),
})

const buyer = router({
  me: queryOf(getMe, nameMe),
})

const credit = router({
  grant: mutationOf(grantCredit),
  balance: queryOf(getBalance),
  entries: queryOf(listCreditEntries),
})

const user = router({
  create: mutationOf(createUser, withKeys),
})

/** The tRPC door: operators' operations, and those of sellers and buyers with their own keys. */
export const appRouter = router({
  offer,
  operation,
  probe,
  config,
  earnings,
  bill,
  drift,
  signIn,
  organization,
  budget,
  member,
  invitation,
  workspace,
  workspaceKey,
  inviteLink,
  organizationKey,
  audit,
  sellerKey,
  buyerKey,
  ownProvider,
  preferences,
  routing,
  buyer,
  usage,
  job,
  cap,
  savings,
  savedView,
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
  payout,
  deposit,
  allowance,
  refund,
  ledger,
  poison,
  conflict,
  shortfall,
  invariants,
  journal,
  payoutHold,
  payouts,
  treasury,
  payments,
  market,
  resource,
  lentOffer,
  support,
  figures,
  settings,
})
export type AppRouter = typeof appRouter
