import type { SettleResponse, SupportedResponse, VerifyResponse } from '@x402/core/types'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { actorOf } from '#control-plane/api/caller.ts'
import { sendLimit } from '#control-plane/api/limit-headers.ts'
import { peerOf } from '#control-plane/api/peer.ts'
import { DATA_PLANE, noteCaller } from '#control-plane/api/strangers.ts'
import { countCall, countStranger } from '#control-plane/operation/call-limits.ts'
import type { Ctx, LimitKind } from '#control-plane/operation/ctx.ts'
import { parseInput } from '#control-plane/operation/parse-input.ts'
import {
  FacilitateSchema,
  settleOutside,
  supportedPayments,
  verifyPayment,
} from '#control-plane/services/payments/facilitate.ts'
import { withPayments } from '#control-plane/services/payments/payment-ctx.ts'
import { INTERNAL_TOKEN_HEADER } from '#shared/contract/chain-payments.ts'
import { AppError } from '#shared/errors.ts'
import { internalToken, isInternalToken } from '#shared/internal-token.ts'

/** Bytes of the longest body. A payment with a permit and extensions takes about 4,000. */
const BODY_LIMIT = 64 * 1_024
const PATH = '/facilitator'

/**
 * The standard paths of an x402 facilitator, so that a stock facilitator client fits. Any caller may ask whether a
 * payment to this market is valid. Only an operator and the data planes settle one.
 */
export function mountFacilitator(server: FastifyInstance, plane: Ctx): void {
  const ctx = withPayments(plane)
  const secret = internalToken(plane.settings.keyPepper)
  const isPlane = ({ headers }: FastifyRequest): boolean => {
    const header = headers[INTERNAL_TOKEN_HEADER]
    return typeof header === 'string' && isInternalToken(secret, header)
  }

  /** Throws unless the caller may make this call now. */
  async function enter(
    request: FastifyRequest,
    reply: FastifyReply,
    kind: LimitKind,
  ): Promise<NonNullable<typeof ctx>> {
    if (ctx === undefined) throw new AppError('not_found')
    if (isPlane(request)) {
      noteCaller(plane, request, DATA_PLANE)
      return ctx
    }
    const actor = await actorOf(plane, request)
    const options = {
      peer: peerOf(request),
      onLimit: (state: Parameters<typeof sendLimit>[1]) => sendLimit(reply, state),
    }
    const counting = { ctx: plane, kind, options }
    // The page has more reads than a client of the facilitator.
    await (actor.kind === 'nobody' ? countStranger(counting) : countCall(counting, actor))
    if (kind !== 'write' || actor.kind === 'operator') return ctx
    throw new AppError(actor.kind === 'nobody' ? 'invalid_api_key' : 'forbidden')
  }

  const limits = { bodyLimit: BODY_LIMIT }
  server.get(`${PATH}/supported`, async (request, reply): Promise<SupportedResponse> => {
    return supportedPayments(await enter(request, reply, 'read'))
  })
  server.post(`${PATH}/verify`, limits, async (request, reply): Promise<VerifyResponse> => {
    return verifyPayment(await enter(request, reply, 'read'), parseInput(FacilitateSchema, request.body))
  })
  server.post(`${PATH}/settle`, limits, async (request, reply): Promise<SettleResponse> => {
    return settleOutside(await enter(request, reply, 'write'), parseInput(FacilitateSchema, request.body))
  })
}
