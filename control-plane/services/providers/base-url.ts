import { listProviders } from '#control-plane/db/catalog.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { createHostList } from '#shared/catalog/provider-hosts.ts'
import type { Provider } from '#shared/catalog/providers.ts'
import { baseUrlsOf, hostsOf } from '#shared/catalog/providers.ts'
import { AppError } from '#shared/errors.ts'
import { checkOutboundUrl } from '#shared/outbound-guard.ts'

/** A base URL that calls may use, in normal form, with the provider that owns its host. */
export type CheckedBaseUrl = {
  readonly url: URL
  /** The URL without a trailing slash. Offers are compared by it. */
  readonly text: string
  /** The host to which a key for it is bound, also where the provider's record has a pattern. */
  readonly host: string
  readonly provider: Provider
}

/**
 * Checks a seller's base URL. Throws `invalid_base_url` for a host outside the allow-list, and for a path that the
 * provider's record does not have.
 */
export async function checkBaseUrl(ctx: Pick<Ctx, 'db' | 'settings'>, raw: string): Promise<CheckedBaseUrl> {
  const providers = await listProviders(ctx.db)
  const url = checkOutboundUrl(raw, createHostList(providers.flatMap(hostsOf)), ctx.settings.outbound)
  const host = url?.host.toLowerCase() ?? ''
  const provider = url && providers.find((each) => createHostList(hostsOf(each)).has(host))
  if (url === undefined || provider === undefined || url.search !== '') {
    throw new AppError('invalid_base_url', { param: 'sellerBaseUrl' })
  }
  // An address has a single spelling. Another spelling could hide a second offer with the same key.
  const text = url.origin + url.pathname.replace(/\/{2,}/g, '/').replace(/\/+$/, '')
  if (!baseUrlsOf(provider, [host]).includes(text)) {
    const baseUrls = baseUrlsOf(provider, hostsOf(provider))
    const message = `The base URL of ${provider.name} must be ${baseUrls.join(' or ')}.`
    throw new AppError('invalid_base_url', { message, param: 'sellerBaseUrl' })
  }
  return { url: new URL(text), text, host, provider }
}
