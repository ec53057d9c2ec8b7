import type { RawRequest } from '#data-plane/call.ts'
import type { Payment } from '#data-plane/rails/rail.ts'
import { AppError } from '#shared/errors.ts'
import type { CallRoute } from './call-plane.ts'

/**
 * The credential of a call: each rail of the route looks at the headers, the first that recognises one wins. Throws
 * `payment_required` with every rail's challenge, or `authentication_required` where the route does not sell to strangers.
 */
export function authenticate(
  route: Pick<CallRoute, 'rails' | 'withoutCredential'>,
  raw: RawRequest,
  apiBaseUrl: string,
): Payment {
  for (const rail of route.rails) {
    const payment = rail.recognize(raw)
    if (payment !== undefined) return payment
  }
  if (route.withoutCredential === 'reject') throw new AppError('authentication_required')
  const challenges = route.rails.map((rail) => rail.challenge(undefined)).filter((challenge) => challenge !== undefined)
  throw new AppError('payment_required', {
    detail: {
      accepts: challenges.flatMap(({ accepts }) => accepts),
      headers: Object.assign({}, ...challenges.map(({ headers }) => headers)),
      resource: {
        url: apiBaseUrl + raw.path,
        description: 'Inference, paid by the request',
        mimeType: 'application/json',
      },
    },
  })
}
