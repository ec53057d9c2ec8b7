import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { GraphQLError, NoSchemaIntrospectionCustomRule, parse } from 'graphql'
import type { Plugin } from 'graphql-yoga'
import { createYoga } from 'graphql-yoga'
import type { Ctx } from '#control-plane/operation.ts'
import { AppError, toAppError } from '#shared/errors.ts'
import { idempotencyKeyOf, openActorOf } from '../caller.ts'
import { toGraphQLExtensions } from '../errors.ts'
import { sendLimit } from '../limit-headers.ts'
import type { GraphQLContext } from './builder.ts'
import { countDocuments } from './counting.ts'
import { DOCUMENT_LIMITS, limitDocument, refuseDocument } from './limits.ts'
import { schema } from './schema.ts'

export const GRAPHQL_PATH = '/graphql'

/** Mounts the GraphQL door: JSON over POST, one operation a request, every document within its limits. */
export function mountGraphQL(server: FastifyInstance, ctx: Ctx, options: { allowsIntrospection: boolean }): void {
  const yoga = createYoga<GraphQLContext>({
    schema,
    graphqlEndpoint: GRAPHQL_PATH,
    batching: false,
    graphiql: false,
    landingPage: false,
    multipart: false,
    cors: false,
    logging: false,
    maskedErrors: { maskError: (error) => maskError(ctx, error) },
    plugins: [documentLimits(options.allowsIntrospection), countDocuments(ctx.telemetry)],
  })

  server.post(GRAPHQL_PATH, async (request, reply) => {
    let context: GraphQLContext
    try {
      requireOneDocument(request.body)
      context = await contextOf(ctx, request, reply)
    } catch (thrown) {
      const error = toAppError(thrown)
      if (error.code === 'internal_error') throw error
      return reply.status(error.status).send({ errors: [describe(error)] })
    }
    const answer = await yoga.fetch(
      new URL(GRAPHQL_PATH, 'http://control-plane'),
      {
        method: 'POST',
        // The newer media type is the one whose refused documents have a status of their own.
        headers: { 'content-type': 'application/json', accept: 'application/graphql-response+json' },
        body: JSON.stringify(request.body),
      },
      context,
    )
    const text = await answer.text()
    reply.status(answer.status === 200 && isRefusal(text) ? 400 : answer.status)
    reply.header('content-type', 'application/json; charset=utf-8')
    return reply.send(text)
  })
}

/** True for an answer of errors alone: variables that do not fit are refused before anything runs. */
function isRefusal(text: string): boolean {
  if (!text.startsWith('{"errors"')) return false
  const body: unknown = JSON.parse(text)
  return typeof body === 'object' && body !== null && !('data' in body)
}

/** Refuses lists of operations and documents that are too long before anything reads them. */
function requireOneDocument(body: unknown): void {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw new AppError('invalid_request', { message: 'A request is one object with a query.' })
  }
  const query = 'query' in body ? body.query : undefined
  if (typeof query === 'string' && Buffer.byteLength(query) > DOCUMENT_LIMITS.bytes) {
    throw new AppError('invalid_request', { message: `A document has at most ${DOCUMENT_LIMITS.bytes} bytes.` })
  }
}

const SCRIPT_HEADER = 'graphql-require-preflight'

async function contextOf(ctx: Ctx, request: FastifyRequest, reply: FastifyReply): Promise<GraphQLContext> {
  const actor = await openActorOf(ctx, request)
  // A form of another site's page cannot send this header, nor can its script without asking first.
  if (actor.kind === 'session' && request.headers[SCRIPT_HEADER] === undefined) {
    throw new AppError('forbidden', { message: `A session sends the header ${SCRIPT_HEADER}.` })
  }
  return {
    ctx,
    requestId: request.id,
    actor,
    options: { idempotencyKey: idempotencyKeyOf(request), onLimit: (state) => sendLimit(reply, state) },
  }
}

function describe(error: AppError): object {
  return { message: error.message, extensions: toGraphQLExtensions(error) }
}

/** Our own errors show their code; GraphQL's own refusals of a document pass; all else stays inside. */
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
    onParse: ({ setParseFn }) => {
      setParseFn((source, options) => {
        try {
          return parse(source, { ...options, maxTokens: DOCUMENT_LIMITS.tokens })
        } catch (error) {
          throw error instanceof GraphQLError ? refuseDocument(error.message) : error
        }
      })
    },
    onValidate: ({ addValidationRule }) => {
      addValidationRule(limitDocument)
      if (allowsIntrospection) return undefined
      addValidationRule(NoSchemaIntrospectionCustomRule)
      // A suggestion tells names of a schema that may not be asked for.
      return ({ result, setResult }) => {
        if (Array.isArray(result)) setResult(result.map(withoutSuggestion))
      }
    },
  }
}

function withoutSuggestion(error: unknown): unknown {
  if (!(error instanceof GraphQLError)) return error
  const message = error.message.replace(/ Did you mean .*$/s, '')
  return message === error.message
    ? error
    : new GraphQLError(message, error.nodes === undefined ? {} : { nodes: error.nodes })
}
