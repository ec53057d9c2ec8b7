import { listProviders } from '#control-plane/db/catalog.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import type { Provider } from '#shared/catalog/providers.ts'
import { baseUrlsOf } from '#shared/catalog/providers.ts'
import { AppError } from '#shared/errors.ts'
import { checkOutboundUrl } from '#shared/outbound-guard.ts'

/** A base URL that calls may use, in normal form, with the provider that owns its host. */
export type CheckedBaseUrl = {
  readonly url: URL
  /** The URL without a trailing slash. Offers are compared by it. */
  readonly text: string
  readonly provider: Provider
}

/**
 * Checks a seller's base URL. Throws `invalid_base_url` for a host outside the allow-list, and for a path that the
 * provider's record does not have.
 */
export async function checkBaseUrl(ctx: Pick<Ctx, 'db' | 'settings'>, raw: string): Promise<CheckedBaseUrl> {
  const providers = await listProviders(ctx.db)
  const byHost = new Map(providers.map((provider) => [provider.host, provider]))
  const url = checkOutboundUrl(raw, new Set(byHost.keys()), ctx.settings.outbound)
  const provider = url === undefined ? undefined : byHost.get(url.host.toLowerCase())
  if (url === undefined || provider === undefined || url.search !== '') {
    throw new AppError('invalid_base_url', { param: 'sellerBaseUrl' })
  }
  // An address has a single spelling. Otherwise another one would hide a second offer with the same key.
  const text = url.origin + url.pathname.replace(/\/{2,}/g, '/').replace(/\/+$/, '')
  const known = baseUrlsOf(provider)
  if (!known.includes(text)) {
    const message = `The base URL of ${provider.name} is ${known.join(' or ')}.`
    throw new AppError('invalid_base_url', { message, param: 'sellerBaseUrl' })
  }
  return { url: new URL(text), text, provider }
}
