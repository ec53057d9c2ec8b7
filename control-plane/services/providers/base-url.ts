import { listProviders } from '#control-plane/db/catalog.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import type { Provider } from '#shared/catalog/providers.ts'
import { AppError } from '#shared/errors.ts'
import { checkOutboundUrl } from '#shared/outbound-guard.ts'

/** A base URL that may be dialled: in one spelling, with the provider whose host it is. */
export type CheckedBaseUrl = {
  readonly url: URL
  /** Without a trailing slash: what offers are compared by. */
  readonly text: string
  readonly provider: Provider
}

/** Checks a base URL that a seller named. Throws `invalid_base_url` for any but a host of the allow-list. */
export async function checkBaseUrl(ctx: Pick<Ctx, 'db' | 'settings'>, raw: string): Promise<CheckedBaseUrl> {
  const providers = await listProviders(ctx.db)
  const byHost = new Map(providers.map((provider) => [provider.host, provider]))
  const url = checkOutboundUrl(raw, new Set(byHost.keys()), ctx.settings.outbound)
  const provider = url === undefined ? undefined : byHost.get(url.host.toLowerCase())
  if (url === undefined || provider === undefined || url.search !== '') {
    throw new AppError('invalid_base_url', { param: 'sellerBaseUrl' })
  }
  // One address, one spelling: or a second offer with the same key could hide behind a slash.
  const path = url.pathname.replace(/\/{2,}/g, '/').replace(/\/+$/, '')
  const text = url.origin + path
  return { url: new URL(text), text, provider }
}
