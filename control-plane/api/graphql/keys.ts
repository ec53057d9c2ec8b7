import { invoke } from '#control-plane/operation/invoke.ts'
import type { CreatedKey, KeyView } from '#control-plane/services/keys/key-views.ts'
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
import { membersOf } from './members.ts'
import { withKey } from './offers.ts'
import { costOfPage, readPage, toConnection } from './page.ts'

type Terms = NonNullable<KeyView['terms']>

const KeyTerms = builder.objectRef<Terms>('KeyTerms').implement({
  description: 'What a buyer key may do.',
  fields: (t) => membersOf(t, KeyTermsViewSchema, { ints: ['minDiscountPct', 'rateLimitRpm'] }),
})

export const ApiKey = builder.objectRef<KeyView>('ApiKey').implement({
  description: 'A key without the key itself. Instants are Unix milliseconds.',
  fields: (t) => ({
    ...membersOf(t, KeyViewSchema),
    terms: t.expose('terms', { type: KeyTerms, nullable: true }),
  }),
})

export const CreatedApiKey = builder.objectRef<CreatedKey>('CreatedApiKey').implement({
  description: 'A new key. `key` is shown in the first answer only.',
  fields: (t) => ({
    key: t.string({ nullable: true, resolve: ({ secret }) => secret?.reveal() ?? null }),
    wallet: t.exposeString('wallet'),
    record: t.field({ type: ApiKey, resolve: (created) => created }),
  }),
})

const CreateBuyerKeyInput = builder.inputType('CreateBuyerKeyInput', {
  fields: (t) => ({
    label: t.string({ required: true }),
    expiresAt: t.float(),
    minDiscountPct: t.int(),
    providersBlocked: t.stringList({ required: true, defaultValue: [] }),
    allowUntrusted: t.boolean(),
    capDailyUsd: t.float(),
    capMonthlyUsd: t.float(),
    rateLimitRpm: t.int(),
    modelsAllowed: t.stringList(),
  }),
})

builder.queryFields((t) => ({
  sellerKeys: t.connection({
    type: ApiKey,
    complexity: costOfPage,
    resolve: async (_root, args, { ctx, actor, options }) => {
      const { keys: items, ...page } = await invoke(ctx, actor, listSellerKeys, readPage(args), options)
      return toConnection({ ...page, items }, args)
    },
  }),
  buyerKeys: t.connection({
    type: ApiKey,
    complexity: costOfPage,
    resolve: async (_root, args, { ctx, actor, options }) => {
      const { keys: items, ...page } = await invoke(ctx, actor, listBuyerKeys, readPage(args), options)
      return toConnection({ ...page, items }, args)
    },
  }),
}))

builder.mutationFields((t) => ({
  createSellerKey: t.field({
    type: CreatedApiKey,
    args: {
      label: t.arg.string({ required: true }),
      expiresAt: t.arg.float(),
      idempotencyKey: t.arg.string(),
    },
    resolve: (_root, { idempotencyKey, ...input }, { ctx, actor, options }) =>
      invoke(ctx, actor, createSellerKey, input, withKey(options, idempotencyKey)),
  }),
  createBuyerKey: t.field({
    type: CreatedApiKey,
    args: { input: t.arg({ type: CreateBuyerKeyInput, required: true }), idempotencyKey: t.arg.string() },
    resolve: (_root, { input, idempotencyKey }, { ctx, actor, options }) =>
      invoke(ctx, actor, createBuyerKey, { ...input }, withKey(options, idempotencyKey)),
  }),
  revokeSellerKey: t.field({
    type: ApiKey,
    args: { id: t.arg.id({ required: true }) },
    resolve: (_root, { id }, { ctx, actor, options }) => invoke(ctx, actor, revokeSellerKey, { id }, options),
  }),
  revokeBuyerKey: t.field({
    type: ApiKey,
    args: { id: t.arg.id({ required: true }) },
    resolve: (_root, { id }, { ctx, actor, options }) => invoke(ctx, actor, revokeBuyerKey, { id }, options),
  }),
}))
