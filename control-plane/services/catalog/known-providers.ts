import { listProviders } from '#control-plane/db/catalog.ts'
import type { Database, Trx } from '#control-plane/db/database.ts'
import { createProviderFinder } from '#shared/catalog/providers.ts'
import { unknownName } from './unknown-name.ts'

/** Names of providers in stored rules, and the input that holds them. */
type NamedProviders = {
  readonly names: readonly string[] | null | undefined
  /** Names that the rule has already. A provider may leave the market after it was blocked. */
  readonly held: readonly string[]
  readonly param: string
}

/**
 * Throws `invalid_request` for a new name that means no provider of the market, with the nearest id as a suggestion.
 * Names are read as calls name providers: by id, name or host.
 */
export async function requireKnownProviders(db: Database | Trx, { names, held, param }: NamedProviders): Promise<void> {
  const added = (names ?? []).filter((name) => !held.includes(name))
  if (added.length === 0) return
  const providers = await listProviders(db)
  const find = createProviderFinder(providers)
  const unknown = added.find((name) => find(name) === undefined)
  if (unknown === undefined) return
  throw unknownName({ noun: 'provider', name: unknown, ids: providers.map(({ id }) => id), param })
}
