import { z } from 'zod'
import type { RotatedKey } from '#control-plane/services/keys/key-rotation.ts'
import type { CreatedKey, KeyTermsView, KeyView } from '#control-plane/services/keys/key-views.ts'
import { KeyTermsViewSchema, KeyViewSchema } from '#control-plane/services/keys/key-views.ts'
import type { KeyList } from '#control-plane/services/keys/keys.ts'
import { UnixMs } from '#control-plane/services/view-fields.ts'
import { writtenAs } from './route.ts'

const KeyFacts = KeyViewSchema.omit({ keyType: true, expiresAt: true, terms: true }).extend({
  expiresAt: UnixMs.optional().describe('Set for a key with an end.'),
})
const Shown = z.object({
  key: z.string().optional().describe('The key itself: shown once, never in a replayed answer.'),
  apiKey: z.string().optional().describe('The same value as `key`, for older clients.'),
})
const SellerKey = KeyFacts.meta({ id: 'SellerKey', description: 'A seller key. The key itself is not shown again.' })
const BuyerKey = KeyFacts.extend(KeyTermsViewSchema.shape).meta({
  id: 'BuyerKey',
  description: 'A buyer key with its limits. The key itself is not shown again.',
})
const SellerKeyCreated = Shown.extend(KeyFacts.shape)
  .extend({ keyType: z.literal('seller'), wallet: z.string().nullable() })
  .meta({ id: 'SellerKeyCreated', description: 'A new seller key. This answer alone has the key itself.' })
const BuyerKeyMade = Shown.extend(KeyFacts.shape)
  .extend(KeyTermsViewSchema.shape)
  .extend({ keyType: z.literal('buyer'), wallet: z.string().nullable() })
const BuyerKeyCreated = BuyerKeyMade.meta({
  id: 'BuyerKeyCreated',
  description: 'A new buyer key. This answer alone has the key itself.',
})
const BuyerKeyRotated = BuyerKeyMade.extend({
  formerExpiresAt: UnixMs.describe('The time until which the former secret works, in Unix milliseconds.'),
}).meta({
  id: 'BuyerKeyRotated',
  description: 'A buyer key with a new secret, and the time at which the former secret ends.',
})

/** The token of the next page. Such a list normally fits one page, and then has none. */
export const NextTokenIfAny = z.string().optional().describe('Send it as next_token to get the next page.')

export function nextIfAny(nextToken: string | null): { nextToken?: string } {
  return nextToken === null ? {} : { nextToken }
}

export const SELLER_KEYS = writtenAs(
  z.object({ keys: z.array(SellerKey), nextToken: NextTokenIfAny }),
  ({ keys, nextToken }: KeyList) => ({ keys: keys.map(factsOf), ...nextIfAny(nextToken) }),
)

export const BUYER_KEYS = writtenAs(
  z.object({ keys: z.array(BuyerKey), nextToken: NextTokenIfAny }),
  ({ keys, nextToken }: KeyList) => ({ keys: keys.map(buyerKeyOf), ...nextIfAny(nextToken) }),
)

export const BUYER_KEY = writtenAs(BuyerKey, buyerKeyOf)

export const NEW_SELLER_KEY = writtenAs(SellerKeyCreated, (created: CreatedKey) => ({
  ...shownOf(created),
  ...factsOf(created),
  keyType: 'seller',
  wallet: created.wallet,
}))

export const NEW_BUYER_KEY = writtenAs(BuyerKeyCreated, newBuyerKeyOf)

export const ROTATED_KEY = writtenAs(BuyerKeyRotated, (rotated: RotatedKey) => ({
  ...newBuyerKeyOf(rotated),
  formerExpiresAt: rotated.formerExpiresAt,
}))

function newBuyerKeyOf(created: CreatedKey): z.output<typeof BuyerKeyCreated> {
  return { ...shownOf(created), ...buyerKeyOf(created), keyType: 'buyer', wallet: created.wallet }
}

function factsOf(key: KeyView): z.output<typeof KeyFacts> {
  const { id, kind, keyPrefix, label, createdAt, lastUsedAt, revokedAt, frozenAt, expiresAt } = key
  const facts = { id, kind, keyPrefix, label, createdAt, lastUsedAt, revokedAt, frozenAt }
  return { ...facts, ...(expiresAt === null ? {} : { expiresAt }) }
}

/** A buyer's key with its terms as further members. */
function buyerKeyOf(key: KeyView): z.output<typeof BuyerKey> {
  return { ...factsOf(key), ...requireTerms(key) }
}

function requireTerms({ id, terms }: KeyView): KeyTermsView {
  if (terms === null) throw new Error(`buyer key ${id} has no terms`)
  return terms
}

/** The key itself under both of its names, in the first answer only. */
function shownOf({ secret }: CreatedKey): z.output<typeof Shown> {
  return secret === null ? {} : { key: secret.reveal(), apiKey: secret.reveal() }
}
