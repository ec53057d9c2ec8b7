import { invoke } from '#control-plane/operation/invoke.ts'
import type { Caps, CapView, KeyCaps } from '#control-plane/services/keys/key-caps.ts'
import { CapsSchema, KeyCapsSchema, listCaps } from '#control-plane/services/keys/key-caps.ts'
import { MAX_ACTIVE_KEYS } from '#control-plane/services/keys/keys.ts'
import { builder } from './builder.ts'
import { membersOf } from './members.ts'

const Cap = builder.objectRef<CapView>('Cap').implement({
  description: 'A cap in the UTC day or month that counts now. Micro-USD as plain digits, instants Unix milliseconds.',
  fields: (t) => ({
    capUsdc: t.exposeString('capUsdc'),
    usedUsdc: t.exposeString('usedUsdc'),
    leftUsdc: t.exposeString('leftUsdc'),
    isRefusing: t.exposeBoolean('isRefusing'),
    resetsAt: t.exposeFloat('resetsAt'),
    runsOutAt: t.exposeFloat('runsOutAt', {
      nullable: true,
      description: 'When it is used up at the pace of this period so far; null when it lasts.',
    }),
  }),
})

const Binds = builder.enumType('BindingCap', { values: ['daily', 'monthly', 'balance'] as const })

const OfKey = builder.objectRef<KeyCaps>('KeyCaps').implement({
  description: 'The bounds of a key, and which of its caps, or of the balance, has least left.',
  fields: (t) => ({
    ...membersOf(t, KeyCapsSchema, { without: ['binds'], ints: ['rateLimitRpm'] }),
    daily: t.expose('daily', { type: Cap, nullable: true }),
    monthly: t.expose('monthly', { type: Cap, nullable: true }),
    binds: t.expose('binds', { type: Binds }),
  }),
})

const CapsType = builder.objectRef<Caps>('Caps').implement({
  description: 'What bounds spending now: the balance, and the caps of each key that may spend.',
  authScopes: { buyer: true },
  fields: (t) => ({
    ...membersOf(t, CapsSchema),
    keys: t.field({
      type: [OfKey],
      complexity: { field: 1, multiplier: MAX_ACTIVE_KEYS },
      resolve: ({ keys }) => [...keys],
    }),
  }),
})

builder.queryFields((t) => ({
  caps: t.field({
    type: CapsType,
    resolve: (_root, _args, { ctx, actor, options }) => invoke(ctx, actor, listCaps, {}, options),
  }),
}))
