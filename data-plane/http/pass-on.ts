import httpProxy from '@fastify/http-proxy'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { LookupRecord } from '#shared/contract/lookup.ts'
import { LookupRecordSchema } from '#shared/contract/lookup.ts'
import { AppError } from '#shared/errors.ts'
import type { RequestGate } from './gate.ts'
import { CORS_HEADERS } from './http-reply.ts'

/** Headers that the control plane must not believe from outside, because this process stands before it. */
const NOT_PASSED = ['x-request-id', 'forwarded', 'x-real-ip'] as const

/** Paths under a prefix that are passed on. */
export type PassedOn = {
  readonly prefix: string
  /** What a request goes through before anything else. */
  readonly gate?: RequestGate
  /** Answers a request itself, or leaves it to be passed on. */
  readonly first?: (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>
}

/** Passes the control plane's paths on, so that one address serves a small deployment. */
export async function mountControlPaths(
  app: FastifyInstance,
  upstream: string,
  paths: readonly PassedOn[],
): Promise<void> {
  for (const { prefix, gate, first } of paths) {
    await app.register((scope, _options, done) => {
      if (gate !== undefined) scope.addHook('onRequest', gate)
      void scope.register(httpProxy, {
        upstream,
        prefix,
        rewritePrefix: prefix,
        websocket: false,
        ...(first === undefined ? {} : { preHandler: first }),
        replyOptions: {
          rewriteRequestHeaders: (request, headers) => {
            const passed = { ...headers }
            for (const name of NOT_PASSED) delete passed[name]
            // The control plane believes what the hops that it trusts have added, and this is one of them.
            const before = headers['x-forwarded-for']
            const hops = before === undefined ? [] : [before].flat()
            passed['x-forwarded-for'] = [...hops, request.socket.remoteAddress ?? 'unknown'].join(', ')
            return passed
          },
          rewriteHeaders: (headers) => ({ ...CORS_HEADERS, ...headers }),
        },
      })
      done()
    })
  }
}

const LOOKUP_TIMEOUT_MS = 5_000

/**
 * The record of a call that Redis has forgotten, from the control plane; undefined when it has none of this caller's.
 * Throws `service_unavailable` while the control plane is away.
 */
export async function fetchRecord(
  upstream: string,
  authorization: string | undefined,
  id: string,
): Promise<LookupRecord | undefined> {
  try {
    const answer = await fetch(`${upstream}/v1/requests/${encodeURIComponent(id)}`, {
      headers: authorization === undefined ? {} : { authorization },
      redirect: 'error',
      signal: AbortSignal.timeout(LOOKUP_TIMEOUT_MS),
    })
    if (answer.status === 404) return undefined
    if (answer.status === 200) return LookupRecordSchema.parse(await answer.json())
    throw new Error(`the control plane answered ${answer.status}`)
  } catch (cause) {
    throw new AppError('service_unavailable', { cause, retryAfterSeconds: 2 })
  }
}
