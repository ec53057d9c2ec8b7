type Route = {
  readonly offers: readonly { readonly provider: string; readonly estimateMicro: number }[]
  readonly attempts: readonly { readonly provider: string; readonly status: number }[]
}

const isServed = (status: number) => status >= 200 && status < 400

/**
 * The place of the offer that served a call, from 0; undefined when no offer did. Attempts follow the order of the
 * offers and name only a provider, which may have several of them; some offers are passed over.
 */
export function placeServed({ offers, attempts }: Route): number | undefined {
  const last = attempts.at(-1)
  if (last === undefined || !isServed(last.status)) return undefined
  const place = attempts.reduce(
    (before, { provider }) => offers.findIndex((offer, at) => at > before && offer.provider === provider),
    -1,
  )
  return place === -1 ? undefined : place
}

/** Why a call went where it went, in a sentence. */
export function routeReasonOf(route: Route): string {
  const place = placeServed(route)
  const { offers, attempts } = route
  const offer = place === undefined ? undefined : offers[place]
  if (place === undefined || offer === undefined) return 'No offer served the call.'
  if (attempts.length > 1) {
    const before = attempts.length - 1
    return `The call went to this offer after ${before} ${before === 1 ? 'attempt' : 'attempts'} at others failed.`
  }
  if (offers.length === 1) return 'The call went to the only offer that could serve it.'
  if (offers.every(({ estimateMicro }) => estimateMicro >= offer.estimateMicro))
    return `The call went to the lowest-priced of ${offers.length} offers that could serve it.`
  return `The call’s routing put this offer ahead of ${offers.length - 1} others.`
}
