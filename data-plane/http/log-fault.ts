import type { FastifyRequest } from 'fastify'
import type { AppError } from '#shared/errors.ts'
import { describeCause } from '#shared/errors.ts'

type Logging = { readonly calls: { readonly log: { error(line: object, text: string): void } } }

/**
 * Logs an `internal_error` under the pattern of its path, because the path itself may hold ids of a buyer. Nothing is
 * logged for a client that has left.
 */
export function logFault({ calls }: Logging, request: FastifyRequest, error: AppError): void {
  if (error.code !== 'internal_error' || request.raw.socket.destroyed) return
  const { routeOptions, method, id } = request
  const path = routeOptions.url ?? ''
  calls.log.error({ rid: id, method, path, cause: describeCause(error.cause) }, 'a request failed on our side')
}
