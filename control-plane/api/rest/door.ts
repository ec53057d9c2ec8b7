import type { FastifyInstance, FastifyRequest } from 'fastify'
import { actorOf, idempotencyKeyOf, openActorOf } from '#control-plane/api/caller.ts'
import type { RestEnvelope } from '#control-plane/api/errors.ts'
import { sendLimit } from '#control-plane/api/limit-headers.ts'
import { peerOf } from '#control-plane/api/peer.ts'
import { browserOf, requireOwnOrigin, sendSessionCookie } from '#control-plane/api/session-cookie.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { AppError } from '#shared/errors.ts'
import { isLoopbackAddress } from '#shared/outbound-guard.ts'
import { AUTH_ROWS } from './auth.ts'
import { BUYER_ROWS } from './buyer.ts'
import { BUYER_READ_ROWS } from './buyer-reads.ts'
import { EMAIL_ROWS } from './emails.ts'
import { EXPORT_ROWS } from './exports.ts'
import { ORGANIZATION_ROWS } from './organizations.ts'
import { PASSKEY_ROWS } from './passkeys.ts'
import { RESOURCE_ROWS } from './resources.ts'
import type { RestRow } from './route.ts'
import { SAVED_VIEW_ROWS } from './saved-views.ts'
import { SELLER_ROWS } from './seller.ts'
import { sendAnswer } from './send-answer.ts'
import { WEBHOOK_ROWS } from './webhooks.ts'

/** The whole REST surface. */
export const ROWS: readonly RestRow[] = [
  ...AUTH_ROWS,
  ...PASSKEY_ROWS,
  ...EMAIL_ROWS,
  ...ORGANIZATION_ROWS,
  ...SAVED_VIEW_ROWS,
  ...SELLER_ROWS,
  ...RESOURCE_ROWS,
  ...BUYER_ROWS,
  ...BUYER_READ_ROWS,
  ...WEBHOOK_ROWS,
  ...EXPORT_ROWS,
]

/** Mounts the REST door. Errors go to the server's one boundary. */
export function mountRest(server: FastifyInstance, ctx: Ctx): void {
  for (const row of ROWS) {
    server.route({
      method: row.method,
      url: row.path,
      handler: async (request, reply) => {
        if (row.isLocal && !isLoopbackAddress(request.ip)) throw new AppError('not_found')
        // This request decides which user the browser acts as. No page of another site may choose the user.
        if (row.isSignIn && request.headers.origin !== undefined) requireOwnOrigin(ctx, request)
        const answer = await row.serve(ctx, {
          actor: await (row.isPublic ? openActorOf : actorOf)(ctx, request),
          params: readParams(request),
          query: readQuery(request),
          body: request.body,
          idempotencyKey: idempotencyKeyOf(request),
          browser: row.isOfBrowser ? browserOf(ctx, request, reply) : undefined,
          peer: peerOf(request),
          onLimit: (state) => sendLimit(reply, state),
        })
        reply.status(row.status)
        if (answer.kind !== 'json') return sendAnswer(ctx, reply, answer)
        if (answer.sessionToken !== undefined) sendSessionCookie(ctx, reply, answer.sessionToken)
        return row.status === 204 ? null : answer.body
      },
    })
  }
}

/** The methods of a path, for a 405. Undefined for an unknown path. */
export function methodsOf(path: string): string[] | undefined {
  const segments = path.split('/')
  const methods = SHAPES.filter(({ parts }) => fits(parts, segments)).map(({ row }) => row.method)
  return methods.length === 0 ? undefined : [...new Set(methods)]
}

/** The envelope of errors on a path, known or not. */
export function envelopeOf(path: string): RestEnvelope {
  return path.startsWith('/v1/seller') || path.startsWith('/v1/resource') ? 'seller' : 'v1'
}

const SHAPES = ROWS.map((row) => ({ row, parts: row.path.split('/') }))

function fits(patternSegments: readonly string[], pathSegments: readonly string[]): boolean {
  return (
    patternSegments.length === pathSegments.length &&
    patternSegments.every((part, at) => (part.startsWith(':') ? pathSegments[at] !== '' : part === pathSegments[at]))
  )
}

function readParams({ params }: FastifyRequest): Record<string, string> {
  return Object.fromEntries(textEntries(params))
}

function readQuery({ query }: FastifyRequest): Record<string, string> {
  if (typeof query !== 'object' || query === null) return {}
  for (const [name, value] of Object.entries(query)) {
    if (typeof value !== 'string') {
      throw new AppError('invalid_request', { message: 'A query field may be given only once.', param: name })
    }
  }
  return Object.fromEntries(textEntries(query))
}

function textEntries(from: unknown): [string, string][] {
  if (typeof from !== 'object' || from === null) return []
  return Object.entries(from).filter((entry): entry is [string, string] => typeof entry[1] === 'string')
}
