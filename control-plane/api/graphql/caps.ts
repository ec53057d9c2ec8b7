import { CapsSchema, CapViewSchema, KeyCapsSchema, listCaps } from '#control-plane/services/keys/key-caps.ts'
import { MAX_ACTIVE_KEYS } from '#control-plane/services/keys/keys.ts'
import { builder } from './builder.ts'
import { objectOf } from './objects.ts'
import { fieldOf } from './operation-fields.ts'

const Cap = objectOf('Cap', CapViewSchema, {
  description: 'A cap in the present UTC day or month. Micro-USD as plain digits, instants Unix milliseconds.',
  descriptions: {
    runsOutAt: 'The time at which the cap is used up, at the pace of this period so far. Null when the cap lasts.',
  },
})

const OfKey = objectOf('KeyCaps', KeyCapsSchema, {
  description: 'The limits of a key, and the limit with the least left: one of the caps, or the balance.',
  ints: ['rateLimitRpm'],
  types: { daily: Cap, monthly: Cap, binds: 'BindingCap' },
})

const Caps = objectOf('Caps', CapsSchema, {
  description: 'The limits of spending now: the balance, and the caps of each key that may spend.',
  authScopes: { buyer: true },
  types: { keys: OfKey },
  costs: { keys: { field: 1, multiplier: MAX_ACTIVE_KEYS } },
})

builder.queryFields((t) => ({
  caps: t.field({ type: Caps, ...fieldOf(listCaps) }),
}))
