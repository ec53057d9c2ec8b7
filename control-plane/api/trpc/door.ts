import type { TRPCError } from '@trpc/server'
import type { CreateFastifyContextOptions } from '@trpc/server/adapters/fastify'
import { fastifyTRPCPlugin } from '@trpc/server/adapters/fastify'
import { getHTTPStatusCodeFromError } from '@trpc/server/http'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { codeOfStatus, retryHeaders } from '#control-plane/api/errors.ts'
import { chargeStranger, refuseSpentSender } from '#control-plane/api/strangers.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { AppError } from '#shared/errors.ts'
import { createTrpcContext } from './procedure.ts'
import { appRouter } from './router.ts'

const PREFIX = '/trpc'
const MAX_BATCH = 10

/** Mounts the tRPC door. Queries may arrive in small batches, a mutation alone. */
export async function mountTrpc(server: FastifyInstance, ctx: Ctx): Promise<void> {
  await server.register((scope, _options, done) => {
    scope.addHook('preParsing', async (request) => {
      refuseSpentSender(ctx, request)
      // Calls are JSON. tRPC would also accept forms and files, which no operation takes.
      const type = request.headers['content-type'] ?? ''
      if (request.method !== 'GET' && !/^application\/json\b/i.test(type)) throw new AppError('unsupported_media_type')
      checkBatch(request)
    })
    scope.register(fastifyTRPCPlugin, {
      prefix: PREFIX,
      trpcOptions: {
        router: appRouter,
        createContext: ({ req, res }: CreateFastifyContextOptions) => createTrpcContext(ctx, req, res),
        maxBatchSize: MAX_BATCH,
        // Each refused call of a batch counts as work.
        onError: ({ req, error }: Failed) => void chargeStranger(ctx, req, causeIn(error)),
        responseMeta: ({ errors }: { readonly errors: readonly TRPCError[] }) => ({ headers: waitOf(errors) }),
        allowBatching: true,
        // A query that is too long for a URL may be sent as a body, and stays a query.
        allowMethodOverride: true,
      },
    })
    done()
  })
}

/** Throws `invalid_request` for a batch that is too large, holds a mutation, or does not say that it is a batch. */
export function checkBatch({ url, method }: Pick<FastifyRequest, 'url' | 'method'>): void {
  const [path = '', query = ''] = url.split('?', 2)
  // tRPC also splits a batch at encoded commas.
  const calls = path.slice(PREFIX.length).split(/,|%2c/i).length
  if (calls > MAX_BATCH) throw batchRefused(`A batch holds at most ${MAX_BATCH} calls.`)
  if (calls > 1 && method !== 'GET') throw batchRefused('A batch must not hold a mutation. Send the mutation alone.')
  if (calls > 1 && !/(^|&)batch=1(&|$)/.test(query)) throw batchRefused('A batch needs batch=1 in its query.')
}

/** The headers that say when to retry, from the first refused call. */
function waitOf([error]: readonly TRPCError[]): Record<string, string> {
  return error === undefined ? {} : retryHeaders(causeIn(error))
}

type Failed = { readonly req: FastifyRequest; readonly error: TRPCError }

function causeIn(error: TRPCError): AppError {
  return error.cause instanceof AppError ? error.cause : new AppError(codeOfStatus(getHTTPStatusCodeFromError(error)))
}

function batchRefused(message: string): AppError {
  return new AppError('invalid_request', { message })
}
