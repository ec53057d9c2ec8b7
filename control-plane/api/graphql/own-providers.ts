import { getPreferences, PreferencesViewSchema, putPreferences } from '#control-plane/services/routing/buyer-policy.ts'
import {
  createOwnProvider,
  listBuyerProviders,
  OwnProviderViewSchema,
  removeOwnProvider,
} from '#control-plane/services/routing/own-providers.ts'
import { DEFAULT_PROTOCOL } from '#shared/protocols/index.ts'
import { builder } from './builder.ts'
import { inputOf } from './inputs.ts'
import { objectOf } from './objects.ts'
import { fieldOf } from './operation-fields.ts'
import { LIST_COST } from './page.ts'

const OwnProvider = objectOf('OwnProvider', OwnProviderViewSchema, {
  description: "A provider key of the buyer's own, without the key. `model` null serves every model.",
  authScopes: { buyer: true },
  ints: ['priority'],
})

const Preferences = objectOf('Preferences', PreferencesViewSchema, {
  description: 'The routing preferences of the account, for every call.',
  authScopes: { buyer: true },
  ints: ['minDiscountPct'],
})

const CreateOwnProviderInput = inputOf('CreateOwnProviderInput', createOwnProvider.input, {
  ints: ['priority'],
  defaults: { priority: 0, apiFormat: DEFAULT_PROTOCOL },
})

builder.queryFields((t) => ({
  ownProviders: t.field({
    type: [OwnProvider],
    complexity: LIST_COST,
    ...fieldOf(listBuyerProviders, {}, ({ providers }) => providers),
  }),
  preferences: t.field({ type: Preferences, ...fieldOf(getPreferences) }),
}))

builder.mutationFields((t) => ({
  createOwnProvider: t.field({
    type: OwnProvider,
    ...fieldOf(createOwnProvider, { groups: { input: CreateOwnProviderInput } }),
  }),
  removeOwnProvider: t.field({ type: OwnProvider, ...fieldOf(removeOwnProvider) }),
  putPreferences: t.field({
    type: Preferences,
    ...fieldOf(putPreferences, {
      ints: ['minDiscountPct'],
      defaults: { allowUntrusted: false, providersBlocked: [] },
    }),
  }),
}))
