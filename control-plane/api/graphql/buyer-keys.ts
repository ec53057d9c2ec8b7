import { invoke } from '#control-plane/operation/invoke.ts'
import { updateBuyerKey } from '#control-plane/services/keys/key-limits.ts'
import type { RotatedKey } from '#control-plane/services/keys/key-rotation.ts'
import { rotateBuyerKey } from '#control-plane/services/keys/key-rotation.ts'
import { builder } from './builder.ts'
import { ApiKey } from './keys.ts'
import { withKey } from './offers.ts'

const RotatedApiKey = builder.objectRef<RotatedKey>('RotatedApiKey').implement({
  description: 'A key with a new secret. `key` is shown in the first answer only.',
  fields: (t) => ({
    key: t.string({ nullable: true, resolve: ({ secret }) => secret?.reveal() ?? null }),
    wallet: t.exposeString('wallet'),
    formerExpiresAt: t.exposeFloat('formerExpiresAt'),
    record: t.field({ type: ApiKey, resolve: (rotated) => rotated }),
  }),
})

const UpdateBuyerKeyInput = builder.inputType('UpdateBuyerKeyInput', {
  description: 'What is left out stays, null takes a limit away.',
  fields: (t) => ({
    label: t.string(),
    expiresAt: t.float(),
    minDiscountPct: t.int(),
    providersBlocked: t.stringList(),
    allowUntrusted: t.boolean(),
    capDailyUsd: t.float(),
    capMonthlyUsd: t.float(),
    rateLimitRpm: t.int(),
    modelsAllowed: t.stringList(),
  }),
})

builder.mutationFields((t) => ({
  updateBuyerKey: t.field({
    type: ApiKey,
    args: { id: t.arg.id({ required: true }), input: t.arg({ type: UpdateBuyerKeyInput, required: true }) },
    resolve: (_root, { id, input }, { ctx, actor, options }) =>
      invoke(ctx, actor, updateBuyerKey, { ...input, id }, options),
  }),
  rotateBuyerKey: t.field({
    type: RotatedApiKey,
    args: { id: t.arg.id({ required: true }), windowSeconds: t.arg.int(), idempotencyKey: t.arg.string() },
    resolve: (_root, { id, windowSeconds, idempotencyKey }, { ctx, actor, options }) => {
      const input = { id, ...(windowSeconds == null ? {} : { windowSeconds }) }
      return invoke(ctx, actor, rotateBuyerKey, input, withKey(options, idempotencyKey))
    },
  }),
}))
