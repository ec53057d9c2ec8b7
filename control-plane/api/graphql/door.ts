import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { GraphQLError, NoSchemaIntrospectionCustomRule } from 'graphql'
import type { Plugin } from 'graphql-yoga'
import { createYoga, useExecutionCancellation } from 'graphql-yoga'
import { z } from 'zod'
import { idempotencyKeyOf, isByCookie, openActorOf } from '#control-plane/api/caller.ts'
import { retryHeaders, toGraphQLExtensions } from '#control-plane/api/errors.ts'
import { LIMIT_HEADER, sendLimit } from '#control-plane/api/limit-headers.ts'
import { peerOf } from '#control-plane/api/peer.ts'
import { causeOf } from '#control-plane/api/strangers.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import type { Updates } from '#control-plane/ports/updates/updates.ts'
import { SECOND } from '#shared/clock.ts'
import { AppError, ERROR_CODES, toAppError } from '#shared/errors.ts'
import { isRecord } from '#shared/json-members.ts'
import { unitsOfBody, unitsOfDocument } from '#shared/refused-work.ts'
import type { GraphQLContext } from './builder.ts'
import { countDocuments } from './counting.ts'
import { answerEvents, EVENT_STREAM, resultEvents, wantsEvents, wantsOnlyEvents } from './event-stream.ts'
import { DOCUMENT_LIMITS, parseDocument, validateDocument } from './limits.ts'
import { createLive } from './live.ts'
import { READY_QUERIES } from './ready-queries.ts'
import { schema } from './schema.ts'
import { createStreams } from './streams.ts'

export const GRAPHQL_PATH = '/graphql'
const GRAPHQL_JSON = 'application/graphql-response+json'
/** The default time limit of one document. */
const MAX_QUERY_MS = 10 * SECOND

/** The status for a subscription without an event stream. */
const NOT_ACCEPTABLE = 406
const BY_POST_ALONE = new AppError('method_not_allowed', { message: 'A mutation must be sent by POST.' })
const ASK_FOR_EVENTS = new AppError('invalid_request', { message: 'A subscription must accept text/event-stream.' })

/** The page sends everything by POST, because a document may be longer than a URL. */
const GRAPHIQL = { title: 'Surplus', defaultQuery: READY_QUERIES, method: 'POST' } as const

/** No site may frame the page, and browsers read it as HTML only. Its own script and style are in it. */
const PAGE_HEADERS = {
  'content-security-policy': "base-uri 'none'; object-src 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
}

type Yoga = ReturnType<typeof createYoga<GraphQLContext>>

type Options = {
  /** True serves the schema, and a page to try queries on. */
  readonly allowsIntrospection: boolean
  /** The time limit of one document. */
  readonly maxQueryMs?: number
}

/**
 * Mounts the GraphQL door: JSON over POST, one operation a request, every document within its limits. Queries may also
 * come by GET, which changes nothing. Subscriptions are server-sent events.
 */
export function mountGraphQL(
  server: FastifyInstance,
  ctx: Ctx & { readonly updates: Updates },
  options: Options,
): void {
  const { allowsIntrospection, maxQueryMs = MAX_QUERY_MS } = options
  const yoga = createYoga<GraphQLContext>({
    schema,
    graphqlEndpoint: GRAPHQL_PATH,
    batching: false,
    graphiql: allowsIntrospection ? GRAPHIQL : false,
    // The page comes from our own origin, and is loaded on first use.
    renderGraphiQL: async (page) => (await import('@graphql-yoga/render-graphiql')).renderGraphiQL(page),
    landingPage: false,
    multipart: false,
    cors: false,
    logging: false,
    maskedErrors: {
      maskError: (error) => (allowsIntrospection ? maskError(ctx, error) : withoutSuggestion(maskError(ctx, error))),
    },
    plugins: [documentLimits(allowsIntrospection), countDocuments(ctx.telemetry), useExecutionCancellation()],
  })
  const live = createLive(ctx)
  const streams = createStreams(() => performance.now())
  const recheck = () => streams.recheck()
  const endRechecks = [ctx.updates.listen('keys', recheck, recheck), ctx.updates.listen('sessions', recheck, recheck)]
  server.addHook('preClose', async () => {
    for (const end of endRechecks) end()
    streams.close()
  })
  const serve = async (request: FastifyRequest, reply: FastifyReply) => {
    let context: GraphQLContext
    try {
      const query = askedBy(request)
      requireOneDocument(query)
      context = { ...(await contextOf(ctx, request, reply)), live }
      if (wantsEvents(request) && (await answerEvents(yoga, streams, { request, reply, context, query }))) return reply
    } catch (thrown) {
      const error = toAppError(thrown)
      if (error.code === 'internal_error') throw error
      return refuse(reply, chargeDocument(ctx, request, error))
    }
    return answer(yoga, { request, reply, context, maxQueryMs })
  }
  server.post(GRAPHQL_PATH, serve)
  server.get(GRAPHQL_PATH, async (request, reply) => {
    if (allowsIntrospection && request.headers.accept?.includes('text/html')) return sendGraphiQL(yoga, reply)
    if (hasQuery(request)) return serve(request, reply)
    reply.header('allow', 'POST')
    throw new AppError('method_not_allowed')
  })
}

function hasQuery({ query }: FastifyRequest): boolean {
  return isRecord(query) && query['query'] !== undefined
}

/** The members of a document that a URL carries as texts. */
const GraphqlParams = z.looseObject({
  query: z.string(),
  operationName: z.string().optional(),
  variables: z.string().optional(),
})

/** The parameters of a request: its body, or the query of a GET. */
function askedBy(request: FastifyRequest): unknown {
  if (request.method !== 'GET') return request.body
  const { data } = GraphqlParams.safeParse(request.query)
  if (data === undefined)
    throw new AppError('invalid_request', { message: 'A query field of the address may be given only once.' })
  try {
    return { ...data, ...(data.variables === undefined ? {} : { variables: JSON.parse(data.variables) }) }
  } catch (cause) {
    throw new AppError('invalid_json', { message: 'The variables are not valid JSON.', cause })
  }
}

type Exchange = {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly context: GraphQLContext
  readonly maxQueryMs: number
}

async function answer(yoga: Yoga, { request, reply, context, maxQueryMs }: Exchange): Promise<FastifyReply> {
  const end = new AbortController()
  const timer = setTimeout(() => end.abort(), maxQueryMs)
  const late = new Promise<undefined>((resolve) => {
    end.signal.addEventListener('abort', () => resolve(undefined))
  })
  // Only the newer media type gives refused documents a status of their own.
  const headers = { 'content-type': 'application/json', accept: GRAPHQL_JSON }
  const body = request.method === 'GET' ? {} : { body: JSON.stringify(request.body) }
  const init = { method: request.method, headers, ...body, signal: end.signal }
  // The library refuses a mutation by GET.
  const answering = Promise.resolve(yoga.fetch(new URL(request.url, 'http://control-plane'), init, context))
  try {
    const fastAnswer = await Promise.race([answering, late])
    if (fastAnswer === undefined) {
      answering.catch(() => undefined)
      return refuse(reply, new AppError('service_unavailable', { message: `A query takes at most ${maxQueryMs} ms.` }))
    }
    if (fastAnswer.status === NOT_ACCEPTABLE) return refuse(reply, ASK_FOR_EVENTS, NOT_ACCEPTABLE)
    if (fastAnswer.status === BY_POST_ALONE.status) {
      return refuse(reply.header('allow', 'POST'), chargeDocument(context.ctx, request, BY_POST_ALONE))
    }
    const text = await fastAnswer.text()
    const refusal = refusalOf(text)
    // No other limit has counted a document that ran no operation.
    const isFree = !reply.hasHeader(LIMIT_HEADER)
    const appError = refusal !== undefined || isFree ? chargeDocument(context.ctx, request) : undefined
    if (refusal !== undefined && appError !== undefined) return refuse(reply, appError)
    if (fastAnswer.status === 200 && refusal === undefined && wantsOnlyEvents(request)) {
      return reply.type(EVENT_STREAM).send(resultEvents(text))
    }
    reply.status(fastAnswer.status === 200 && refusal !== undefined ? 400 : fastAnswer.status)
    const type = request.headers.accept?.includes(GRAPHQL_JSON) ? GRAPHQL_JSON : 'application/json'
    reply.header('content-type', `${type}; charset=utf-8`)
    return reply.send(refusal ?? text)
  } finally {
    clearTimeout(timer)
  }
}

/** The page to try queries on, with one ready-made query for each kind of reader. */
async function sendGraphiQL(yoga: Yoga, reply: FastifyReply): Promise<FastifyReply> {
  const page = await yoga.fetch(new URL(GRAPHQL_PATH, 'http://control-plane'), { headers: { accept: 'text/html' } })
  reply.headers(PAGE_HEADERS)
  return reply.type('text/html; charset=utf-8').send(await page.text())
}

const Refusal = z.strictObject({
  errors: z.array(z.looseObject({ extensions: z.looseObject({ code: z.string() }).optional() })),
})

/**
 * The text of an answer with errors alone: a document or variables that were refused before execution. Each error has
 * our code.
 */
function refusalOf(text: string): string | undefined {
  if (!text.startsWith('{"errors"')) return undefined
  const { data } = Refusal.safeParse(JSON.parse(text))
  if (data === undefined) return undefined
  const errors = data.errors.map((error) => {
    const isOurs = ERROR_CODES.some((code) => code === error.extensions?.code)
    return isOurs ? error : { ...error, extensions: { ...error.extensions, code: 'invalid_request', status: 400 } }
  })
  return JSON.stringify({ errors })
}

/** Refuses lists of operations and documents that are too long, before anything parses them. */
function requireOneDocument(body: unknown): void {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw new AppError('invalid_request', { message: 'A request must be one object with a query.' })
  }
  const query = 'query' in body ? body.query : undefined
  if (typeof query === 'string' && Buffer.byteLength(query) > DOCUMENT_LIMITS.bytes) {
    throw new AppError('invalid_request', { message: `A document must have at most ${DOCUMENT_LIMITS.bytes} bytes.` })
  }
}

const SCRIPT_HEADER = 'graphql-require-preflight'

async function contextOf(
  ctx: Ctx,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<Omit<GraphQLContext, 'live'>> {
  const actor = await openActorOf(ctx, request)
  ctx.refusedWork.refuseSpent(causeOf(ctx, request))
  // A form of another site cannot send this header, and a script of another site cannot without a preflight.
  if (isByCookie(actor) && request.headers[SCRIPT_HEADER] === undefined) {
    throw new AppError('forbidden', { message: `A request with a session needs the header ${SCRIPT_HEADER}.` })
  }
  return {
    ctx,
    requestId: request.id,
    actor,
    options: {
      idempotencyKey: idempotencyKeyOf(request),
      peer: peerOf(request),
      onLimit: (state) => sendLimit(reply, state),
    },
  }
}

function refuse(reply: FastifyReply, error: AppError, status = error.status): FastifyReply {
  return reply
    .status(status)
    .headers(retryHeaders(error))
    .send({ errors: [describe(error)] })
}

/**
 * Charges a document that ran no operation to its credential or network address. Returns the error to send: `error`, or
 * `rate_limited` for a caller that has used up its limit.
 */
function chargeDocument(ctx: Ctx, request: FastifyRequest): AppError | undefined
function chargeDocument(ctx: Ctx, request: FastifyRequest, error: AppError): AppError
function chargeDocument(ctx: Ctx, request: FastifyRequest, error?: AppError): AppError | undefined {
  const bytes = Number(request.headers['content-length'] ?? request.url.length)
  const units = unitsOfDocument(Math.min(bytes, DOCUMENT_LIMITS.bytes)) + unitsOfBody(bytes)
  return ctx.refusedWork.charge(causeOf(ctx, request), units) ?? error
}

function describe(error: AppError): object {
  return { message: error.message, extensions: toGraphQLExtensions(error) }
}

/** Our own errors show their code, and GraphQL's own refusals of a document pass. Everything else is hidden. */
function maskError(ctx: Ctx, error: unknown): Error {
  if (!(error instanceof GraphQLError)) return hidden(ctx, error)
  const { originalError, nodes, path } = error
  if (originalError === undefined) return error
  if (originalError instanceof GraphQLError) return originalError
  if (!(originalError instanceof AppError) || originalError.code === 'internal_error') {
    return hidden(ctx, originalError, error)
  }
  const place = { ...(nodes === undefined ? {} : { nodes }), ...(path === undefined ? {} : { path }) }
  return new GraphQLError(originalError.message, { ...place, extensions: toGraphQLExtensions(originalError) })
}

function hidden(ctx: Ctx, cause: unknown, at?: GraphQLError): Error {
  const error = toAppError(cause)
  ctx.log.error({ err: error, path: at?.path }, 'a GraphQL field failed')
  const { code, status } = error
  return new GraphQLError(new AppError('internal_error').message, {
    ...(at?.path === undefined ? {} : { path: at.path }),
    extensions: { code, status },
  })
}

/** Bounds documents while they are parsed and validated. */
function documentLimits(allowsIntrospection: boolean): Plugin {
  return {
    onParse: ({ setParseFn }) => setParseFn(parseDocument),
    onValidate: ({ addValidationRule, setValidationFn }) => {
      setValidationFn(validateDocument)
      if (allowsIntrospection) return undefined
      addValidationRule(NoSchemaIntrospectionCustomRule)
      // A suggestion would reveal names of a schema that is not public.
      return ({ result, setResult }) => {
        if (Array.isArray(result)) setResult(result.map(withoutSuggestion))
      }
    },
  }
}

/** The same error without the names that GraphQL suggests. */
function withoutSuggestion<Thrown>(error: Thrown): Thrown | GraphQLError {
  if (!(error instanceof GraphQLError)) return error
  const message = error.message.replace(/ Did you mean .*$/s, '')
  return message === error.message
    ? error
    : new GraphQLError(message, error.nodes === undefined ? {} : { nodes: error.nodes })
}
