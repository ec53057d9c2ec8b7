import type { FastifyRequest } from 'fastify'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { INTERNAL_TOKEN_HEADER } from '#shared/contract/chain-payments.ts'
import type { AppError } from '#shared/errors.ts'
import { WORK_UNITS } from '#shared/refused-work.ts'
import { peerOf } from './peer.ts'

type Strangers = Pick<Ctx, 'callers' | 'refusedWork'>

/** The name of the data planes, which have a token of their own. */
export const DATA_PLANE = 'data-plane'

/**
 * Records that the credential of a request is valid. Refusals of the request are not charged to its network address.
 */
export function noteCaller({ callers }: Pick<Ctx, 'callers'>, { raw }: FastifyRequest, credential: string): void {
  callers.set(raw, credential)
}

/** Throws `rate_limited` for a stranger whose network address has used up its refused work; see refused-work.ts. */
export function refuseSpentStranger({ callers, refusedWork }: Strangers, request: FastifyRequest): void {
  if (!callers.has(request.raw)) refusedWork.refuseSpent(peerOf(request))
}

/**
 * Charges a refusal to the network address of a stranger. Returns the error to send, which is `rate_limited` for an
 * address that has used up its limit.
 */
export function chargeStranger(
  { callers, refusedWork }: Strangers,
  request: FastifyRequest,
  error: AppError,
): AppError {
  if (error.status >= 500 || callers.has(request.raw)) return error
  return refusedWork.charge(peerOf(request), WORK_UNITS.refusal) ?? error
}

/**
 * Throws `rate_limited`, before its body is read, for a request without any credential whose network address has used
 * up its refused work.
 */
export function refuseSpentSender({ refusedWork }: Strangers, request: FastifyRequest): void {
  const { headers } = request
  if (CREDENTIAL_HEADERS.every((name) => headers[name] === undefined)) refusedWork.refuseSpent(peerOf(request))
}

const CREDENTIAL_HEADERS = ['authorization', 'cookie', INTERNAL_TOKEN_HEADER] as const

/** The name to charge for work that no other limit counts: a valid credential, or else the network address. */
export function causeOf({ callers }: Strangers, request: FastifyRequest): string {
  return callers.get(request.raw) ?? peerOf(request)
}
