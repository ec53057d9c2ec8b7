import { invoke } from '#control-plane/operation/invoke.ts'
import type { PreferencesView } from '#control-plane/services/buyers/buyer-policy.ts'
import { getPreferences, PreferencesViewSchema, putPreferences } from '#control-plane/services/buyers/buyer-policy.ts'
import type { OwnProviderView } from '#control-plane/services/buyers/own-providers.ts'
import {
  createOwnProvider,
  listBuyerProviders,
  OwnProviderViewSchema,
  removeOwnProvider,
} from '#control-plane/services/buyers/own-providers.ts'
import { DEFAULT_PROTOCOL } from '#shared/protocols/index.ts'
import { builder } from './builder.ts'
import { membersOf } from './members.ts'
import { withKey } from './offers.ts'

const OwnProvider = builder.objectRef<OwnProviderView>('OwnProvider').implement({
  description: "A provider key of the buyer's own, without the key. `model` null serves every model.",
  authScopes: { buyer: true },
  fields: (t) => membersOf(t, OwnProviderViewSchema, { ints: ['priority'] }),
})

const Preferences = builder.objectRef<PreferencesView>('Preferences').implement({
  description: 'What the account wants of every call.',
  authScopes: { buyer: true },
  fields: (t) => membersOf(t, PreferencesViewSchema, { ints: ['minDiscountPct'] }),
})

const CreateOwnProviderInput = builder.inputType('CreateOwnProviderInput', {
  fields: (t) => ({
    model: t.string(),
    baseUrl: t.string({ required: true }),
    apiKey: t.string({ required: true }),
    priority: t.int({ required: true, defaultValue: 0 }),
    apiFormat: t.string({ required: true, defaultValue: DEFAULT_PROTOCOL }),
    providerModel: t.string(),
    label: t.string(),
  }),
})

/** The longest list, for its cost. */
const LIST_COST = { field: 1, multiplier: 50 }

builder.queryFields((t) => ({
  ownProviders: t.field({
    type: [OwnProvider],
    complexity: LIST_COST,
    resolve: async (_root, _args, { ctx, actor, options }) =>
      (await invoke(ctx, actor, listBuyerProviders, {}, options)).providers,
  }),
  preferences: t.field({
    type: Preferences,
    resolve: (_root, _args, { ctx, actor, options }) => invoke(ctx, actor, getPreferences, {}, options),
  }),
}))

builder.mutationFields((t) => ({
  createOwnProvider: t.field({
    type: OwnProvider,
    args: { input: t.arg({ type: CreateOwnProviderInput, required: true }), idempotencyKey: t.arg.string() },
    resolve: (_root, { input, idempotencyKey }, { ctx, actor, options }) =>
      invoke(ctx, actor, createOwnProvider, { ...input, model: input.model ?? null }, withKey(options, idempotencyKey)),
  }),
  removeOwnProvider: t.field({
    type: OwnProvider,
    args: { id: t.arg.id({ required: true }) },
    resolve: (_root, { id }, { ctx, actor, options }) => invoke(ctx, actor, removeOwnProvider, { id }, options),
  }),
  putPreferences: t.field({
    type: Preferences,
    args: {
      allowUntrusted: t.arg.boolean({ required: true, defaultValue: false }),
      providersBlocked: t.arg.stringList({ required: true, defaultValue: [] }),
      minDiscountPct: t.arg.int(),
    },
    resolve: (_root, { minDiscountPct, ...rest }, { ctx, actor, options }) =>
      invoke(ctx, actor, putPreferences, { ...rest, minDiscountPct: minDiscountPct ?? null }, options),
  }),
}))
