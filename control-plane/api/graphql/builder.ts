import SchemaBuilder from '@pothos/core'
import ComplexityPlugin from '@pothos/plugin-complexity'
import DataloaderPlugin from '@pothos/plugin-dataloader'
import RelayPlugin from '@pothos/plugin-relay'
import ScopeAuthPlugin from '@pothos/plugin-scope-auth'
import type { Actor } from '#control-plane/operation/actor.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import type { InvokeOptions } from '#control-plane/operation/invoke.ts'
import { AppError } from '#shared/errors.ts'
import { refuseDocument } from './limits.ts'
import type { LiveTopics } from './live.ts'

/** The facts of a request that resolvers need. */
export type GraphQLContext = {
  readonly ctx: Ctx
  readonly actor: Actor
  readonly requestId: string
  readonly options: InvokeOptions
  /** The changes that can be watched in this process. */
  readonly live: LiveTopics
}

/**
 * The highest cost of a query. An object costs 1, its numbers and texts nothing, and the content of a list counts once
 * for each item.
 */
const MAX_COST = 1_000
/** The rules of `limits.ts` bound depth and breadth before anything runs. */
const MAX_BREADTH = 500

type Types = {
  Context: GraphQLContext
  DefaultFieldNullability: false
  AuthScopes: { seller: boolean; buyer: boolean; operator: boolean }
  Scalars: { CatalogRow: { Input: unknown; Output: unknown } }
}

export const builder = new SchemaBuilder<Types>({
  plugins: [ScopeAuthPlugin, RelayPlugin, DataloaderPlugin, ComplexityPlugin],
  defaultFieldNullability: false,
  scopeAuth: {
    authScopes: ({ actor: { kind } }) => ({
      seller: kind === 'seller' || kind === 'session',
      buyer: kind === 'buyer' || kind === 'session',
      operator: kind === 'operator',
    }),
    unauthorizedError: (_parent, { actor }) =>
      new AppError(actor.kind === 'nobody' ? 'authentication_required' : 'wrong_key_type'),
  },
  relay: {
    // Our ids contain their kind, so they are global ids as they are, and the same at every door.
    encodeGlobalID: (_typename, id) => String(id),
    decodeGlobalID: (globalId) => ({ typename: typenameOf(globalId), id: globalId }),
  },
  complexity: {
    defaultComplexity: 1,
    defaultListMultiplier: 1,
    limit: { complexity: MAX_COST, breadth: MAX_BREADTH },
    complexityError: () => refuseDocument(`The query costs more than ${MAX_COST}.`),
  },
})

const TYPENAMES: Readonly<Record<string, string>> = { ofr: 'Offer' }

function typenameOf(id: string): string {
  const typename = TYPENAMES[id.split('_', 1)[0] ?? '']
  if (typename === undefined) throw new AppError('not_found')
  return typename
}
