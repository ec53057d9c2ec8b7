import type { FastifyReply, FastifyRequest } from 'fastify'
import type { DocumentNode, ExecutionResult } from 'graphql'
import { GraphQLError, getOperationAST, Kind } from 'graphql'
import type { createYoga } from 'graphql-yoga'
import { z } from 'zod'
import { openActorOf } from '#control-plane/api/caller.ts'
import { peerOf } from '#control-plane/api/peer.ts'
import { credentialOf } from '#control-plane/operation/actor.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { AppError } from '#shared/errors.ts'
import type { GraphQLContext } from './builder.ts'
import type { Caller, Results, Streams } from './streams.ts'
import { STREAM_LIMITS } from './streams.ts'
import { PUBLIC_SUBSCRIPTIONS } from './subscriptions.ts'

export const EVENT_STREAM = 'text/event-stream'

export function wantsEvents(request: FastifyRequest): boolean {
  return request.headers.accept?.includes(EVENT_STREAM) ?? false
}

/** True for a caller that accepts nothing but events, as clients of GraphQL over SSE do for every document. */
export function wantsOnlyEvents(request: FastifyRequest): boolean {
  return wantsEvents(request) && !/json|\*\/\*/.test(request.headers.accept ?? '')
}

/** The one result of a query or mutation as events: the result, and the end. */
export function resultEvents(result: string): string {
  return `event: next\ndata: ${result}\n\nevent: complete\ndata:\n\n`
}

const Params = z.object({
  query: z.string(),
  operationName: z.string().nullish(),
  variables: z.record(z.string(), z.unknown()).nullish(),
})
type Query = z.output<typeof Params>
type Yoga = ReturnType<typeof createYoga<GraphQLContext>>
type Exchange = {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly context: GraphQLContext
  /** The document, its variables and its operation name, as the request holds them. */
  readonly query: unknown
}

/**
 * Serves a subscription as server-sent events (the distinct connections of GraphQL over SSE). Returns false for any
 * other document, which the door then serves as usual. Throws for a subscription that may not be opened.
 */
export async function answerEvents(yoga: Yoga, streams: Streams, exchange: Exchange): Promise<boolean> {
  const { request, reply, context } = exchange
  const params = Params.safeParse(exchange.query)
  if (!params.success) return false
  const document = subscriptionIn(yoga, context, params.data)
  if (document === undefined) return false
  const caller = callerOf(context.ctx, exchange)
  const place = streams.admit(caller)
  // The source is opened before anything is sent, so that a refusal has a status.
  const results = await open(yoga, context, { ...params.data, document }).catch((error: unknown) => {
    place.leave()
    throw error
  })
  reply.hijack()
  // A client that has left meanwhile sends no second close event.
  if (reply.raw.destroyed) {
    place.leave()
    void results.return?.()
    return true
  }
  reply.raw.writeHead(200, {
    'content-type': EVENT_STREAM,
    'cache-control': 'no-store',
    'x-accel-buffering': 'no',
    'x-request-id': request.id,
    // The end of our stream ends its connection, too: a stopping server has nothing to wait for.
    connection: 'close',
  })
  const isPublic = isPublicSubscription(document, params.data.operationName)
  const key = isPublic ? JSON.stringify(params.data) : request.id
  let isUsed = false
  streams.serve(reply.raw, {
    place,
    key,
    open: async () => {
      isUsed = true
      return results
    },
  })
  // An earlier caller has the same subscription, and its source serves both.
  if (!isUsed) void results.return?.()
  return true
}

/** The document, when it parses and holds a subscription. The usual way reports every other fault. */
function subscriptionIn(yoga: Yoga, context: GraphQLContext, query: Query): DocumentNode | undefined {
  const { parse, validate, schema } = yoga.getEnveloped(context)
  try {
    const document: DocumentNode = parse(query.query)
    if (getOperationAST(document, query.operationName)?.operation !== 'subscription') return undefined
    return validate(schema, document).length === 0 ? document : undefined
  } catch (error) {
    if (error instanceof GraphQLError) return undefined
    throw error
  }
}

async function open(yoga: Yoga, context: GraphQLContext, query: Query & { document: DocumentNode }): Promise<Results> {
  const { schema, contextFactory, subscribe } = yoga.getEnveloped(context)
  const result: AsyncIterable<ExecutionResult> | ExecutionResult = await subscribe({
    schema,
    document: query.document,
    contextValue: await contextFactory(),
    variableValues: query.variables ?? {},
    operationName: query.operationName ?? undefined,
  })
  if (Symbol.asyncIterator in result) return result[Symbol.asyncIterator]()
  const [error] = result.errors ?? []
  if (error?.originalError instanceof AppError) throw error.originalError
  throw refusalOf(error)
}

/** The refusal before the first byte, as an error of the door. */
function refusalOf(error: GraphQLError | undefined): AppError {
  const code = Code.safeParse(error?.extensions['code']).data ?? 'invalid_request'
  return new AppError(code, error === undefined ? {} : { message: error.message })
}
const Code = z.enum([
  'authentication_required',
  'forbidden',
  'internal_error',
  'invalid_request',
  'not_found',
  'rate_limited',
  'service_unavailable',
  'wrong_key_type',
])

function isPublicSubscription(document: DocumentNode, operationName: string | null | undefined): boolean {
  const selections = getOperationAST(document, operationName)?.selectionSet.selections ?? []
  return selections.every((part) => part.kind === Kind.FIELD && PUBLIC_SUBSCRIPTIONS.has(part.name.value))
}

function callerOf(ctx: Ctx, { request, context: { actor } }: Exchange): Caller {
  if (actor.kind === 'nobody') {
    return { name: `address:${peerOf(request)}`, most: STREAM_LIMITS.perAddress, isStillGood: undefined }
  }
  const name = credentialOf(actor)
  const isStillGood = () =>
    openActorOf(ctx, request).then(
      (now) => now.kind !== 'nobody' && credentialOf(now) === name,
      // While the database is away, the check has no result. Only a credential that is certainly gone ends a stream.
      (error: unknown) => error instanceof AppError && error.code === 'service_unavailable',
    )
  return { name, most: STREAM_LIMITS.perCaller, isStillGood }
}
