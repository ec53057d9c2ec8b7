import httpProxy from '@fastify/http-proxy'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { LookupRecord } from '#shared/contract/lookup.ts'
import { LookupRecordSchema } from '#shared/contract/lookup.ts'
import { AppError } from '#shared/errors.ts'
import { networkOf } from '#shared/network-address.ts'
import { askControl } from './ask-control.ts'
import type { RequestGate } from './gate.ts'
import { CORS_HEADERS } from './http-reply.ts'
import type { PassedOnKind } from './passed-on-places.ts'
import { createPassedOnPlaces, PASS_ON_LIMITS } from './passed-on-places.ts'

/**
 * Headers that concern one connection only (RFC 9110, section 7.6.1). Other headers are passed on even where
 * `Connection` names them.
 */
const OF_ONE_CONNECTION = ['connection', 'keep-alive', 'proxy-connection', 'te', 'trailer', 'upgrade', 'http2-settings']

/**
 * Headers that are not passed on: those that the control plane trusts because this process is its proxy, and those that
 * are meant for this process.
 */
const NOT_PASSED = ['x-request-id', 'forwarded', 'x-real-ip', 'proxy-authorization', 'expect', ...OF_ONE_CONNECTION]

/** As many connections as there are places, so that no request waits for the end of another. */
const CONNECTIONS = PASS_ON_LIMITS.call.inAll + PASS_ON_LIMITS.stream.inAll

/** A prefix whose paths are passed on. */
export type PassedOnPrefix = {
  readonly prefix: string
  /** The first check of a request of each kind. */
  readonly gates?: Readonly<Record<PassedOnKind, RequestGate>>
  /** Responds to a request itself, or leaves it to be passed on. */
  readonly first?: (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>
}

/** Passes the control plane's paths on, so that one address can serve a small deployment. */
export async function mountControlPaths(
  app: FastifyInstance,
  upstream: string,
  paths: readonly PassedOnPrefix[],
): Promise<void> {
  const places = createPassedOnPlaces()
  for (const { prefix, gates, first } of paths) {
    await app.register((scope, _options, done) => {
      scope.addHook('onRequest', (request, _reply, passed) => {
        passed(isNamedBy(prefix, request.raw.url ?? '/') ? undefined : new AppError('not_found'))
      })
      scope.addHook('onRequest', (request, reply, passed) => {
        const gate = gates?.[kindOf(request.headers)]
        if (gate === undefined) passed()
        else gate(request, reply, passed)
      })
      scope.addHook('onRequest', (request, reply, passed) => {
        reply.raw.on('close', places.enter(kindOf(request.headers), networkOf(request.ip)))
        passed()
      })
      void scope.register(httpProxy, {
        upstream,
        undici: { connections: CONNECTIONS },
        // The root itself is passed on, but no path below it.
        ...(prefix === '/' ? { prefix: '', rewritePrefix: '', routes: ['/'] } : { prefix, rewritePrefix: prefix }),
        websocket: false,
        ...(first === undefined ? {} : { preHandler: first }),
        replyOptions: {
          rewriteRequestHeaders: (request, headers) => {
            // The library removes the headers that the Connection header names. Those may be the credential or the
            // body's length.
            const passedHeaders = { ...request.headers, ...headers }
            for (const name of NOT_PASSED) delete passedHeaders[name]
            // The control plane trusts the entries that its trusted hops have added. This process is one of these hops.
            const before = headers['x-forwarded-for']
            const hops = before === undefined ? [] : [before].flat()
            passedHeaders['x-forwarded-for'] = [...hops, request.socket.remoteAddress ?? 'unknown'].join(', ')
            return passedHeaders
          },
          rewriteHeaders: (headers) => {
            const passedHeaders = { ...CORS_HEADERS, ...headers }
            for (const name of OF_ONE_CONNECTION) delete passedHeaders[name]
            return passedHeaders
          },
        },
      })
      done()
    })
  }
}

/** A request whose `Accept` names an event stream takes a stream's place, whatever its path. */
function kindOf({ accept }: { readonly accept?: unknown }): PassedOnKind {
  return typeof accept === 'string' && accept.includes('text/event-stream') ? 'stream' : 'call'
}

/**
 * Characters that some parser of a path takes for a separator, for the beginning of something else, or for a second
 * encoding.
 */
const AMBIGUOUS = /[/\\%;#?\p{Cc}]/u

/**
 * True for a path that every parser finds under the prefix: in normal form, without dot segments, and without encoded
 * separators.
 */
export function isNamedBy(prefix: string, url: string): boolean {
  const [path = ''] = url.split('?', 1)
  if (path === prefix) return true
  if (!path.startsWith(`${prefix}/`)) return false
  const segments = path.slice(prefix.length + 1).split('/')
  return segments.every((segment, at) => (segment === '' ? at === segments.length - 1 : isPlain(segment)))
}

function isPlain(segment: string): boolean {
  let text: string
  try {
    text = decodeURIComponent(segment)
  } catch {
    return false
  }
  return text !== '.' && !text.startsWith('..') && !text.endsWith('..') && !AMBIGUOUS.test(text)
}

/**
 * Fetches the record of a call that Redis has dropped from the control plane; undefined when this caller has no such
 * call. Throws `service_unavailable` while the control plane is out of reach.
 */
export async function fetchRecord(
  upstream: string,
  authorization: string | undefined,
  id: string,
): Promise<LookupRecord | undefined> {
  try {
    const answer = await askControl(upstream, `/v1/requests/${encodeURIComponent(id)}`, authorization)
    if (answer.status === 404) return undefined
    if (answer.status === 200) return LookupRecordSchema.parse(await answer.json())
    throw new Error(`the control plane answered ${answer.status}`)
  } catch (cause) {
    throw new AppError('service_unavailable', { cause, retryAfterSeconds: 2 })
  }
}
