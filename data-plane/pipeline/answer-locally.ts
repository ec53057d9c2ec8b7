import type { BuyerReply, Incoming, RawRequest } from '#data-plane/call.ts'
import type { Payer } from '#data-plane/payment.ts'
import type { Envelope } from '#data-plane/wires/wire.ts'
import { AppError, toAppError } from '#shared/errors.ts'
import { refuse } from './buyer-answer.ts'
import type { CallPlane, CallRoute } from './call-plane.ts'
import { enter, isPaying, leave, openVisit, settleRefusal, standingOf } from './entrance.ts'
import { refusalHeaders } from './reply-headers.ts'

/** The payer of the request, and the plane that answers it. */
export type LocalCaller = { readonly payer: Payer; readonly plane: CallPlane }

/** A free call that needs a key and a body and calls no provider. */
export type LocalRoute = Pick<CallRoute, 'rails' | 'withoutCredential'> & {
  readonly envelope: Envelope
  /** The answer as JSON text. Throws AppError. */
  answer(raw: RawRequest, caller: LocalCaller): string
}

/** Serves a free call for the holder of a key, within the key's rate. Never rejects. */
export async function answerLocally(
  plane: CallPlane,
  route: LocalRoute,
  incoming: Incoming,
  reply: BuyerReply,
): Promise<void> {
  const visit = openVisit(incoming)
  try {
    const guest = await enter(plane, route, visit)
    if (!isPaying(guest)) throw new AppError('authentication_required')
    const body = route.answer(guest.raw, { payer: guest.payer, plane })
    const headers = { ...refusalHeaders(0, visit.standing), 'x-mkt-marketplace-status': 'served' }
    reply.whole(200, { ...headers, 'content-type': 'application/json' }, body)
  } catch (thrown) {
    const error = settleRefusal(plane, visit, toAppError(thrown), 0)
    refuse(route, incoming.head, reply, { error, attempts: 0, standing: standingOf(plane, visit) })
  } finally {
    leave(plane, visit)
  }
}
