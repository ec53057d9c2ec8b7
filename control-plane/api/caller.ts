import type { FastifyRequest } from 'fastify'
import type { Actor } from '#control-plane/operation/actor.ts'
import { credentialOf, NOBODY } from '#control-plane/operation/actor.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { enterWorkspace } from '#control-plane/services/organizations/workspaces.ts'
import { authenticate, authenticateSession } from '#control-plane/services/sign-in/authenticate.ts'
import { AppError } from '#shared/errors.ts'
import { readSessionCookie, requireOwnOrigin } from './session-cookie.ts'
import { noteCaller, refuseSpentStranger } from './strangers.ts'

/**
 * Finds the actor of a request by its `Authorization: Bearer` header, or else by its session cookie. No other place may
 * hold a key. Throws `invalid_request` for two such headers, `invalid_api_key` for another scheme or a bad key,
 * `invalid_session` for a bad cookie, `forbidden` when a page of another site may have sent the cookie, and
 * `rate_limited` for a stranger whose network address has used up its refused work.
 */
export async function actorOf(ctx: Ctx, request: FastifyRequest): Promise<Actor> {
  const actor = await findActor(ctx, request)
  if (actor.kind === 'nobody') refuseSpentStranger(ctx, request)
  else noteCaller(ctx, request, credentialOf(actor))
  return actor
}

async function findActor(ctx: Ctx, request: FastifyRequest): Promise<Actor> {
  const { rawHeaders } = request.raw
  const credentials = rawHeaders.filter((name, at) => at % 2 === 0 && name.toLowerCase() === 'authorization').length
  if (credentials > 1) throw new AppError('invalid_request', { message: 'Send one Authorization header.' })
  const header = request.headers.authorization
  if (header !== undefined) {
    const key = /^Bearer +(\S+)$/i.exec(header.trim())?.[1]
    if (key === undefined) throw new AppError('invalid_api_key')
    return authenticate(ctx, key)
  }
  const token = readSessionCookie(ctx, request)
  if (token === undefined) return NOBODY
  requireOwnOrigin(ctx, request)
  const session = await authenticateSession(ctx, token)
  const workspace = request.headers[WORKSPACE_HEADER]
  return typeof workspace === 'string' && session.kind === 'session' ? enterWorkspace(ctx, session, workspace) : session
}

/** The workspace that a session acts in for one request, in place of its wallet's own accounts. */
const WORKSPACE_HEADER = 'x-mkt-workspace'

/** Finds the actor for a public operation. A caller with an invalid cookie counts as anonymous. */
export async function openActorOf(ctx: Ctx, request: FastifyRequest): Promise<Actor> {
  try {
    return await actorOf(ctx, request)
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'invalid_session') throw error
    refuseSpentStranger(ctx, request)
    return NOBODY
  }
}

/** True for an actor from a cookie, which a browser sends by itself. */
export function isByCookie(actor: Actor): boolean {
  return actor.kind === 'session' || ('keySession' in actor && actor.keySession !== undefined)
}

/** The Idempotency-Key header of a request. */
export function idempotencyKeyOf(request: FastifyRequest): string | undefined {
  const value = request.headers['idempotency-key']
  if (Array.isArray(value)) throw new AppError('invalid_request', { message: 'Send one Idempotency-Key.' })
  return value
}
