import type { BuyerReply, Payer, RawRequest } from '#data-plane/call.ts'
import type { RateStanding } from '#data-plane/store/rate-limits.ts'
import type { Envelope } from '#data-plane/wires/wire.ts'
import { toAppError } from '#shared/errors.ts'
import { authenticate } from './authenticate.ts'
import type { CallPlane, CallRoute } from './call-plane.ts'
import { refusalHeaders } from './reply-headers.ts'

/** Who asks, and what an answer may be made of. */
export type LocalCaller = { readonly payer: Payer; readonly plane: CallPlane }

/** A free call that needs a key and a body, and asks no provider. */
export type LocalRoute = Pick<CallRoute, 'rails' | 'withoutCredential'> & {
  readonly envelope: Envelope
  /** The answer as JSON text. Throws AppError. */
  answer(raw: RawRequest, caller: LocalCaller): string
}

/** Answers a free call for who has a key, within the key's rate. Never rejects. */
export async function answerLocally(
  plane: CallPlane,
  route: LocalRoute,
  raw: RawRequest,
  reply: BuyerReply,
): Promise<void> {
  let standing: RateStanding | undefined
  let scope: string | undefined
  try {
    const payer = await authenticate(route, raw, plane.apiBaseUrl).identify()
    const { limits } = plane.market()
    const payerScope = payer.keyId ?? payer.account
    standing = plane.rates.enter(payerScope, payer.ratePerMinute ?? limits.keyRatePerMinute, limits.keyInFlight)
    scope = payerScope
    const body = route.answer(raw, { payer, plane })
    const headers = { ...refusalHeaders(0, standing), 'x-mkt-marketplace-status': 'served' }
    reply.whole(200, { ...headers, 'content-type': 'application/json' }, body)
  } catch (thrown) {
    const { status, headers, body } = route.envelope(toAppError(thrown), raw.requestId)
    reply.whole(status, { ...refusalHeaders(0, standing), ...headers }, body)
  } finally {
    if (scope !== undefined) plane.rates.leave(scope)
  }
}
