import httpProxy from '@fastify/http-proxy'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { LookupRecord } from '#shared/contract/lookup.ts'
import { LookupRecordSchema } from '#shared/contract/lookup.ts'
import { AppError } from '#shared/errors.ts'
import type { RequestGate } from './gate.ts'
import { CORS_HEADERS } from './http-reply.ts'

/** Headers that the control plane must not believe from outside, because this process is its proxy. */
const NOT_PASSED = ['x-request-id', 'forwarded', 'x-real-ip'] as const

/** A prefix whose paths are passed on. */
export type PassedOn = {
  readonly prefix: string
  /** The first check of a request. */
  readonly gate?: RequestGate
  /** Answers a request itself, or leaves it to be passed on. */
  readonly first?: (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>
}

/** Passes the control plane's paths on, so that one address can serve a small deployment. */
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
            // The control plane believes the entries that its trusted hops have added. This process is one of these
            // hops.
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
 * Fetches the record of a call that Redis has forgotten from the control plane; undefined when this caller has no such
 * call. Throws `service_unavailable` while the control plane is out of reach.
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
