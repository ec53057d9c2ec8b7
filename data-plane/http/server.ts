import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import fastify from 'fastify'
import { answerLocally } from '#data-plane/pipeline/answer-locally.ts'
import type { CallPlane } from '#data-plane/pipeline/call-plane.ts'
import type { JobPlane } from '#data-plane/pipeline/job-plane.ts'
import { refusalHeaders } from '#data-plane/pipeline/reply-headers.ts'
import { serveCall } from '#data-plane/pipeline/serve-call.ts'
import type { KeySources } from '#data-plane/reads/key.ts'
import { readKey } from '#data-plane/reads/key.ts'
import type { ReadSources } from '#data-plane/reads/read.ts'
import { readHeaders } from '#data-plane/reads/read.ts'
import type { LookupSources } from '#data-plane/reads/requests.ts'
import { findRequest, generationOf } from '#data-plane/reads/requests.ts'
import type { CallRow, LocalRow, ReadRow } from '#data-plane/routes.ts'
import { messagesEnvelope } from '#data-plane/wires/envelopes/messages.ts'
import { openAiEnvelope } from '#data-plane/wires/envelopes/openai.ts'
import type { Clock } from '#shared/clock.ts'
import { SECOND } from '#shared/clock.ts'
import { AppError, toAppError } from '#shared/errors.ts'
import type { Ids, RequestId } from '#shared/ids.ts'
import { parseRequestId } from '#shared/ids.ts'
import type { Admission } from './admission.ts'
import { overloaded } from './admission.ts'
import { readWholeBody } from './body-spool.ts'
import type { SlowBodies } from './connection-limits.ts'
import { limitConnections } from './connection-limits.ts'
import { mountForms } from './form-calls.ts'
import { COMPAT, CORS_HEADERS, createHttpReply, idHeaders, isCompat } from './http-reply.ts'
import type { JobRow } from './job-routes.ts'
import { mountJobs } from './job-routes.ts'
import { fetchRecord, mountControlPaths } from './pass-on.ts'
import type { Hosts } from './raw-request.ts'
import { checkFraming, checkJsonHeaders, isOtherHost, readRawRequest } from './raw-request.ts'
import { refuseBrokenRequest, refuseSlowBody } from './socket-errors.ts'

const MAX_HEADER_BYTES = 16_384
/** Node gives names and values one after another: a hundred lines are two hundred entries. */
const MAX_RAW_HEADERS = 200
const MAX_URL_CHARS = 8_192
const MAX_PATH_PARAMETER_CHARS = 400
const HEADERS_TIMEOUT_MS = 10 * SECOND
/** How often Node looks for connections past these limits. */
const TIMEOUT_LOOK_MS = SECOND
const REQUEST_TIMEOUT_MS = 300 * SECOND
const KEEP_ALIVE_MS = 65 * SECOND
const PREFLIGHT_SECONDS = 86_400

/** What the surface stands on. */
export type Surface = {
  readonly calls: CallPlane
  readonly callRows: readonly CallRow[]
  readonly localRows: readonly LocalRow[]
  readonly readRows: readonly ReadRow[]
  readonly jobs: JobPlane
  readonly jobRows: readonly JobRow[]
  readonly reads: ReadSources
  readonly lookups: LookupSources
  readonly keys: KeySources
  readonly clock: Clock
  readonly ids: Ids
  readonly hosts: Hosts
  readonly controlPlaneUrl: string | undefined
  readonly maxOpenCalls: number
  readonly maxConnectionsPerAddress: number
  readonly admission: Admission
  readonly slowBodies: SlowBodies
  /** Calls under way. */
  readonly open: { count: number }
  isReady(): boolean
  /** True while money may be held: not during a rebuild of the gate. */
  takesPaidCalls(): boolean
  readonly metrics: { text(): Promise<string>; readonly contentType: string }
}

/** The HTTP surface: framing, limits, CORS, the one error boundary, and the rows of routes.ts. */
export async function createServer(surface: Surface): Promise<FastifyInstance> {
  const app = fastify({
    logger: false,
    genReqId: () => surface.ids.requestId(),
    requestIdHeader: false,
    bodyLimit: 1_048_576,
    routerOptions: { maxParamLength: MAX_PATH_PARAMETER_CHARS },
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    forceCloseConnections: 'idle',
    frameworkErrors: (error, request, reply) => void sendError(reply, request, fromFramework(error)),
    clientErrorHandler: refuseBrokenRequest(surface.ids),
    http: {
      maxHeaderSize: MAX_HEADER_BYTES,
      headersTimeout: HEADERS_TIMEOUT_MS,
      connectionsCheckingInterval: TIMEOUT_LOOK_MS,
    },
  })
  limitConnections(app.server, surface.maxConnectionsPerAddress)
  const worked = new Set([...surface.callRows.flatMap(pathsOf), ...surface.localRows.map(({ path }) => path)])
  app.addHook('onRequest', (request, reply, done) => {
    guardRequest(surface, request, reply, () => {
      admit(surface, worked, request, reply)
      done()
    })
  })
  app.setErrorHandler((error, request, reply) => void sendError(reply, request, fromFramework(error)))
  app.setNotFoundHandler((request, reply) => {
    const allow = allowedMethods(surface, request)
    if (allow !== undefined) reply.header('allow', allow)
    sendError(reply, request, missing(request, allow !== undefined))
  })
  await app.register((scope, _options, done) => {
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('*', readBody)
    for (const row of surface.callRows) if (row.takes !== 'form') mountCall(scope, surface, row)
    for (const row of surface.localRows) mountLocal(scope, surface, row)
    for (const row of surface.readRows) mountRead(scope, surface, row)
    const { jobs: plane, clock, open } = surface
    const enter = () => enterCall(surface)
    const leave = () => void open.count--
    mountJobs(scope, { plane, clock, idOf: readRequestId, enter, leave }, surface.jobRows)
    mountLookups(scope, surface)
    mountHealth(scope, surface)
    done()
  })
  await app.register((scope, _options, done) => {
    const { calls, clock, open } = surface
    const enter = () => enterCall(surface)
    const leave = () => void open.count--
    mountForms(
      scope,
      { calls, clock, idOf: readRequestId, pathsOf, enter, leave, refuse: refuseUnread },
      surface.callRows,
    )
    done()
  })
  if (surface.controlPlaneUrl !== undefined) {
    await mountControlPaths(app, surface.controlPlaneUrl, (request, reply) => lookUpFirst(surface, request, reply))
  }
  return app
}

/** The bytes of a body, at most as many as its route takes. */
function readBody(request: FastifyRequest): Promise<Buffer> {
  return readWholeBody(request.raw, request.routeOptions.bodyLimit)
}

function requestIdOf(request: FastifyRequest): RequestId {
  return readRequestId(request.id)
}

function readRequestId(text: string): RequestId {
  const id = parseRequestId(text)
  if (id === undefined) throw new AppError('internal_error')
  return id
}

/** What is checked before anything is routed, and the answer to every preflight. */
function guardRequest(surface: Surface, request: FastifyRequest, reply: FastifyReply, done: () => void): void {
  const { raw } = request
  const url = raw.url ?? '/'
  if (raw.method === 'OPTIONS') {
    reply
      .code(204)
      .headers({
        ...CORS_HEADERS,
        'x-request-id': request.id,
        'access-control-allow-methods': 'GET, POST, PUT, PATCH, DELETE, OPTIONS',
        'access-control-allow-headers': raw.headers['access-control-request-headers'] ?? '*',
        'access-control-max-age': String(PREFLIGHT_SECONDS),
      })
      .send()
    return
  }
  if (raw.rawHeaders.length > MAX_RAW_HEADERS) {
    sendError(reply, request, new AppError('request_too_large', { message: 'Too many header lines.' }), 431)
    return
  }
  const fault = url.length > MAX_URL_CHARS ? tooLongUrl() : checkFraming(raw.rawHeaders, url)
  if (fault !== undefined || isOtherHost(surface.hosts, raw.headers.host, url)) {
    sendError(reply, request, fault ?? new AppError('not_found'))
    return
  }
  done()
}

/** Paths that load balancers and operators watch: answered whatever else there is to do. */
const ALWAYS_ANSWERED = /^\/(?:health\/|metrics$)/

/**
 * Takes a request on before anything of its body is read. Work (what `worked` names) is refused while the process has too
 * much of it; all else has a quota of its own. Throws `overloaded`.
 */
function admit(surface: Surface, worked: ReadonlySet<string>, request: FastifyRequest, reply: FastifyReply): void {
  const { admission, slowBodies, ids } = surface
  const { raw } = request
  const hasBody = raw.headers['transfer-encoding'] !== undefined || Number(raw.headers['content-length'] ?? 0) > 0
  if (hasBody) slowBodies.watch(raw, () => refuseSlowBody(ids, raw.socket))
  if (worked.has(request.routeOptions.url ?? '')) {
    admission.admitCall()
    raw.on('close', admission.readingBody())
  } else if (!ALWAYS_ANSWERED.test(pathOf(request))) reply.raw.on('close', admission.admitRead())
}

function tooLongUrl(): AppError {
  return new AppError('invalid_request', { message: `The request target has at most ${MAX_URL_CHARS} characters.` })
}

function mountCall(scope: FastifyInstance, surface: Surface, row: CallRow): void {
  const { calls, clock, open } = surface
  const handler = (request: FastifyRequest, reply: FastifyReply): void => {
    const requestId = requestIdOf(request)
    const raw = readRawRequest(request, requestId, clock)
    checkJsonHeaders(raw.headers)
    enterCall(surface)
    reply.hijack()
    void serveCall(calls, row.route, raw, createHttpReply(reply.raw, requestId)).finally(() => {
      open.count--
    })
  }
  const { method, bodyLimitBytes: bodyLimit } = row
  for (const url of pathsOf(row)) scope.route({ method, url, bodyLimit, handler, errorHandler: refuseUnread })
}

/** Refuses a call before it is read: like every refusal it tried nobody and cost nothing. */
function refuseUnread(thrown: unknown, request: FastifyRequest, reply: FastifyReply): void {
  reply.headers(refusalHeaders(0, undefined))
  sendError(reply, request, fromFramework(thrown))
}

function pathsOf(row: CallRow): readonly string[] {
  if (!row.takesFloor) return [row.path]
  const prefix = row.path.startsWith(COMPAT) ? COMPAT : ''
  return [row.path, `${prefix}/min:floor${row.path.slice(prefix.length)}`]
}

/** A free call with a body: read like a paid one, answered at once. */
function mountLocal(scope: FastifyInstance, { calls, clock }: Surface, row: LocalRow): void {
  const handler = (request: FastifyRequest, reply: FastifyReply): void => {
    const requestId = requestIdOf(request)
    const raw = readRawRequest(request, requestId, clock)
    checkJsonHeaders(raw.headers)
    reply.hijack()
    void answerLocally(calls, row.route, raw, createHttpReply(reply.raw, requestId))
  }
  scope.route({ method: row.method, url: row.path, bodyLimit: row.bodyLimitBytes, handler })
}

/** Counts a call in. Throws `overloaded` when as many are open as may be. */
function enterCall({ open, maxOpenCalls }: Surface): void {
  if (open.count >= maxOpenCalls) throw overloaded('process')
  open.count++
}

function mountRead(scope: FastifyInstance, surface: Surface, row: ReadRow): void {
  scope.get<{ Params: Record<string, string> }>(row.path, async (request, reply) => {
    const at = request.url.indexOf('?')
    const query = new URLSearchParams(at < 0 ? '' : request.url.slice(at + 1))
    const params = row.rest === undefined ? {} : { [row.rest]: request.params['*'] ?? '' }
    const answer = await row.read(surface.reads, { params, query })
    const headers = readHeaders(answer)
    const ids = idHeaders(row.path, request.id)
    reply.headers({ ...CORS_HEADERS, ...ids, ...headers, 'content-type': 'application/json' })
    if (request.headers['if-none-match'] === headers.etag) return reply.code(304).send()
    return reply.send(answer.json)
  })
}

function mountLookups(scope: FastifyInstance, surface: Surface): void {
  scope.get<{ Querystring: { id?: string } }>('/v1/generation', async (request, reply) => {
    const id = request.query.id ?? ''
    const { authorization } = request.headers
    const { controlPlaneUrl: upstream } = surface
    const recent = await findRequest(surface.lookups, authorization, id)
    const record = recent ?? (upstream === undefined ? undefined : await fetchRecord(upstream, authorization, id))
    if (record === undefined) throw noSuchRequest()
    return sendRecord(request, reply, generationOf(record))
  })
  scope.get('/v1/key', async (request, reply) =>
    sendRecord(request, reply, await readKey(surface.keys, request.headers.authorization)),
  )
  // With a control plane behind it, that mount looks here first and passes on what Redis does not have.
  if (surface.controlPlaneUrl !== undefined) return
  scope.get('/v1/requests/:id', async (request, reply) => {
    await lookUpFirst(surface, request, reply)
    if (!reply.sent) throw noSuchRequest()
    return reply
  })
}

/** Answers a lookup of a call that Redis still knows. */
async function lookUpFirst(surface: Surface, request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
  const id = /^\/v1\/requests\/([^/?]+)(?:\?|$)/.exec(request.url)?.[1]
  if (id === undefined || request.method !== 'GET') return undefined
  const record = await findRequest(surface.lookups, request.headers.authorization, id)
  return record === undefined ? undefined : sendRecord(request, reply, record)
}

function sendRecord(request: FastifyRequest, reply: FastifyReply, record: object): FastifyReply {
  reply.headers({ ...CORS_HEADERS, 'x-request-id': request.id, 'cache-control': 'no-store' })
  return reply.header('content-type', 'application/json').send(JSON.stringify(record))
}

function noSuchRequest(): AppError {
  return new AppError('not_found', { message: 'There is no such request.' })
}

function mountHealth(scope: FastifyInstance, surface: Surface): void {
  scope.get('/health/live', (_request, reply) => reply.send({ status: 'live' }))
  scope.get('/health/ready', (_request, reply) => {
    const isReady = surface.isReady()
    return reply.code(isReady ? 200 : 503).send({ status: isReady ? 'ready' : 'not ready' })
  })
  // Apart from readiness: while the gate is rebuilt, reads and running calls go on here.
  scope.get('/health/paid', (_request, reply) => {
    const isOpen = surface.takesPaidCalls()
    return reply.code(isOpen ? 200 : 503).send({ status: isOpen ? 'open' : 'closed' })
  })
  scope.get('/metrics', async (_request, reply) =>
    reply.header('content-type', surface.metrics.contentType).send(await surface.metrics.text()),
  )
}

/** The methods that the path of an unanswered request takes; undefined when there is no such path. */
function allowedMethods(surface: Surface, request: FastifyRequest): string | undefined {
  const { callRows, jobRows, localRows, readRows } = surface
  const whole = pathOf(request)
  // A floor stands behind /compat, never before it.
  const path = whole.replace(/^(\/compat)?\/min[^/]*(?=\/(?!compat\/))/, '$1')
  const call =
    callRows.find((row) => row.path === path && (row.takesFloor || path === whole)) ??
    localRows.find((row) => row.path === whole)
  if (call) return `${call.method}, OPTIONS`
  if (jobRows.some((row) => path === row.path)) return 'POST, OPTIONS'
  if (jobRows.some((row) => path.startsWith(`${row.path}/`))) return 'GET, DELETE, OPTIONS'
  const isRead = readRows.some((row) =>
    row.path.endsWith('*') ? path.startsWith(row.path.slice(0, -1)) : row.path === path,
  )
  return isRead ? 'GET, HEAD, OPTIONS' : undefined
}

/** Why a path is not answered: a segment that is no floor, a method it does not take, or nothing there. */
function missing(request: FastifyRequest, isKnown: boolean): AppError {
  const floor = /^(?:\/compat)?\/min([^/]*)(\/.*)$/.exec(pathOf(request))
  if (floor && !/^(?:0|[1-9]\d?|100)$/.test(floor[1] ?? '')) return new AppError('invalid_minimum_discount')
  if (floor?.[2]?.startsWith('/min')) return new AppError('invalid_minimum_discount')
  return new AppError(isKnown ? 'method_not_allowed' : 'not_found')
}

function pathOf(request: FastifyRequest): string {
  return (request.raw.url ?? '/').split('?', 1)[0] ?? '/'
}

/** What the framework throws, in our words. */
function fromFramework(thrown: unknown): AppError {
  if (thrown instanceof AppError) return thrown
  const code = thrown instanceof Error && 'code' in thrown ? String(thrown.code) : ''
  switch (code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return new AppError('request_too_large')
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
    case 'FST_ERR_BAD_URL':
    case 'FST_ERR_ASYNC_CONSTRAINT':
      return new AppError('invalid_request')
    case 'FST_ERR_MAX_PARAM_LENGTH':
      return new AppError('not_found')
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
    case 'FST_ERR_CTP_INVALID_TYPE':
      return new AppError('unsupported_media_type')
    case 'FST_REPLY_FROM_SERVICE_UNAVAILABLE':
    case 'FST_REPLY_FROM_GATEWAY_TIMEOUT':
    case 'FST_REPLY_FROM_INTERNAL_SERVER_ERROR':
    case 'FST_REPLY_FROM_UND_ERR':
      return new AppError('service_unavailable', { cause: thrown, retryAfterSeconds: 2 })
    default:
      return toAppError(thrown)
  }
}

function sendError(reply: FastifyReply, request: FastifyRequest, error: AppError, status?: number): void {
  const path = pathOf(request)
  const envelope = isCompat(path) ? messagesEnvelope : openAiEnvelope
  const { headers, body, ...refusal } = envelope(error, requestIdOf(request))
  // What is still being sent is let come, unread: a client that still sends would not hear the refusal.
  if (error.code === 'request_too_large') reply.header('connection', 'close')
  reply
    .code(status ?? refusal.status)
    .headers({ ...CORS_HEADERS, ...idHeaders(path, request.id), ...headers })
    .send(body)
}
