import type { FastifyRequest } from 'fastify'
import type { Actor } from '#control-plane/actor.ts'
import type { Ctx } from '#control-plane/operation.ts'
import { authenticate } from '#control-plane/services/authenticate.ts'
import { AppError } from '#shared/errors.ts'

/**
 * The actor behind a request, by its `Authorization: Bearer` header: the only place a key is taken from. Throws
 * `invalid_request` for two such headers, `invalid_api_key` for another scheme or a bad key.
 */
export async function actorOf(ctx: Ctx, request: FastifyRequest): Promise<Actor> {
  const { rawHeaders } = request.raw
  const given = rawHeaders.filter((name, at) => at % 2 === 0 && name.toLowerCase() === 'authorization').length
  if (given > 1) throw new AppError('invalid_request', { message: 'One Authorization header is accepted.' })
  const header = request.headers.authorization
  if (header === undefined) return authenticate(ctx, undefined)
  const key = /^Bearer +(\S+)$/i.exec(header.trim())?.[1]
  if (key === undefined) throw new AppError('invalid_api_key')
  return authenticate(ctx, key)
}

/** The Idempotency-Key header of a request. */
export function idempotencyKeyOf(request: FastifyRequest): string | undefined {
  const value = request.headers['idempotency-key']
  if (Array.isArray(value)) throw new AppError('invalid_request', { message: 'One Idempotency-Key is accepted.' })
  return value
}
