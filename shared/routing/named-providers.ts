import type { FindProvider, Provider } from '#shared/catalog/providers.ts'
import { AppError } from '#shared/errors.ts'

/** A refusal repeats at most this many names. */
const MAX_NAMED = 50

/** The ids of the providers that have these names; undefined when none has. */
export function providerIds(
  find: FindProvider,
  lists: readonly (readonly string[])[],
): ReadonlySet<string> | undefined {
  let ids: Set<string> | undefined
  for (const names of lists) {
    for (const name of names) {
      const provider = find(name)
      if (!provider) continue
      ids ??= new Set()
      ids.add(provider.id)
    }
  }
  return ids
}

/** The place of each named provider, by id. Unknown names are skipped. */
export function providerOrder(find: FindProvider, names: readonly string[]): ReadonlyMap<string, number> {
  const order = new Map<string, number>()
  for (const name of names) {
    const provider = find(name)
    if (provider && !order.has(provider.id)) order.set(provider.id, order.size)
  }
  return order
}

/** The refusal of an allow-list without a known name. Its text lists the unknown names and the known ones. */
export function unsupportedProvider(providers: readonly Pick<Provider, 'id'>[], names: readonly string[]): AppError {
  return new AppError('unsupported_provider', {
    message: `None of these providers is known: ${names.slice(0, MAX_NAMED).join(', ').slice(0, 1_000)}.`,
    param: 'provider',
    detail: {
      unknown_providers: names.slice(0, MAX_NAMED).map((name) => name.slice(0, 200)),
      supported_providers: providers.map(({ id }) => id),
    },
  })
}
