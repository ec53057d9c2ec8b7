import httpProxy from '@fastify/http-proxy'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { CORS_HEADERS } from './http-reply.ts'
import { CONTROL_PREFIXES } from './routes.ts'

/** Headers that the control plane must not believe from outside, because this process stands before it. */
const NOT_PASSED = ['x-request-id', 'forwarded', 'x-real-ip'] as const

/** Answers a request itself, or leaves it to be passed on. */
export type AnswerFirst = (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>

/**
 * Passes the control plane's paths on, so that one address serves a small deployment. Of `/v1/requests` it gets what
 * `lookUp` did not answer: the list, and calls that Redis has forgotten.
 */
export async function mountControlPaths(app: FastifyInstance, upstream: string, lookUp: AnswerFirst): Promise<void> {
  for (const prefix of [...CONTROL_PREFIXES, '/v1/requests']) {
    await app.register(httpProxy, {
      upstream,
      prefix,
      rewritePrefix: prefix,
      websocket: false,
      ...(prefix === '/v1/requests' ? { preHandler: lookUp } : {}),
      replyOptions: {
        rewriteRequestHeaders: (_request, headers) => {
          const passed = { ...headers }
          for (const name of NOT_PASSED) delete passed[name]
          return passed
        },
        rewriteHeaders: (headers) => ({ ...CORS_HEADERS, ...headers }),
      },
    })
  }
}
