import { updateBuyerKey } from '#control-plane/services/keys/key-limits.ts'
import type { RotatedKey } from '#control-plane/services/keys/key-rotation.ts'
import { rotateBuyerKey } from '#control-plane/services/keys/key-rotation.ts'
import { builder } from './builder.ts'
import { inputOf } from './inputs.ts'
import { ApiKey } from './keys.ts'
import { fieldOf } from './operation-fields.ts'

const RotatedApiKey = builder.objectRef<RotatedKey>('RotatedApiKey').implement({
  description: 'A key with a new secret. `key` is shown in the first answer only.',
  fields: (t) => ({
    key: t.string({ nullable: true, resolve: ({ secret }) => secret?.reveal() ?? null }),
    wallet: t.exposeString('wallet', { nullable: true }),
    formerExpiresAt: t.exposeFloat('formerExpiresAt'),
    record: t.field({ type: ApiKey, resolve: (rotated) => rotated }),
  }),
})

const UpdateBuyerKeyInput = inputOf('UpdateBuyerKeyInput', updateBuyerKey.input, {
  description: 'A limit that you leave out stays; null removes a limit.',
  ints: ['minDiscountPct', 'rateLimitRpm'],
})

builder.mutationFields((t) => ({
  updateBuyerKey: t.field({
    type: ApiKey,
    ...fieldOf(updateBuyerKey, { groups: { input: UpdateBuyerKeyInput } }),
  }),
  rotateBuyerKey: t.field({ type: RotatedApiKey, ...fieldOf(rotateBuyerKey, { ints: ['windowSeconds'] }) }),
}))
