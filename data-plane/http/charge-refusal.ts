import type { FastifyRequest } from 'fastify'
import type { AppError } from '#shared/errors.ts'
import { networkOf } from '#shared/network-address.ts'
import { WORK_UNITS } from '#shared/refused-work.ts'
import type { Surface } from './surface.ts'

/**
 * Charges a refusal outside of the flows of calls to its network address. The flows of calls charge their own. Returns
 * the refusal to send, which is `rate_limited` for an address that has used up its limit.
 */
export function chargeRefusal({ calls }: Surface, { ip }: FastifyRequest, error: AppError): AppError {
  if (error.status >= 500 || error.code === 'rate_limited') return error
  return calls.refusedWork.charge(networkOf(ip), WORK_UNITS.refusal) ?? error
}

/** True for a request whose refusal shows that its key is valid. */
export function hasGoodKey({ headers }: FastifyRequest, { status }: AppError): boolean {
  return status !== 401 && (headers.authorization !== undefined || headers['x-api-key'] !== undefined)
}
