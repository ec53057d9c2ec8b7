import type { CreatedKey } from '#control-plane/services/keys/key-views.ts'
import { KeyTermsViewSchema, KeyViewSchema } from '#control-plane/services/keys/key-views.ts'
import {
  createBuyerKey,
  createSellerKey,
  listBuyerKeys,
  listSellerKeys,
  revokeBuyerKey,
  revokeSellerKey,
} from '#control-plane/services/keys/keys.ts'
import { builder } from './builder.ts'
import { inputOf } from './inputs.ts'
import { objectOf } from './objects.ts'
import { fieldOf, pageOf } from './operation-fields.ts'

const KeyTerms = objectOf('KeyTerms', KeyTermsViewSchema, {
  description: 'The permissions and limits of a buyer key.',
  ints: ['minDiscountPct', 'rateLimitRpm'],
})

export const ApiKey = objectOf('ApiKey', KeyViewSchema, {
  description: 'A key without the key itself. Instants are Unix milliseconds.',
  types: { terms: KeyTerms },
})

export const CreatedApiKey = builder.objectRef<CreatedKey>('CreatedApiKey').implement({
  description: 'A new key. `key` is shown in the first answer only.',
  fields: (t) => ({
    key: t.string({ nullable: true, resolve: ({ secret }) => secret?.reveal() ?? null }),
    wallet: t.exposeString('wallet', { nullable: true }),
    record: t.field({ type: ApiKey, resolve: (created) => created }),
  }),
})

const CreateBuyerKeyInput = inputOf('CreateBuyerKeyInput', createBuyerKey.input, {
  ints: ['minDiscountPct', 'rateLimitRpm'],
  defaults: { providersBlocked: [] },
})

builder.queryFields((t) => ({
  sellerKeys: t.connection({
    type: ApiKey,
    ...pageOf(listSellerKeys, {}, ({ keys, ...page }) => ({ ...page, items: keys })),
  }),
  buyerKeys: t.connection({
    type: ApiKey,
    ...pageOf(listBuyerKeys, {}, ({ keys, ...page }) => ({ ...page, items: keys })),
  }),
}))

builder.mutationFields((t) => ({
  createSellerKey: t.field({ type: CreatedApiKey, ...fieldOf(createSellerKey) }),
  createBuyerKey: t.field({
    type: CreatedApiKey,
    ...fieldOf(createBuyerKey, { groups: { input: CreateBuyerKeyInput } }),
  }),
  revokeSellerKey: t.field({ type: ApiKey, ...fieldOf(revokeSellerKey) }),
  revokeBuyerKey: t.field({ type: ApiKey, ...fieldOf(revokeBuyerKey) }),
}))
