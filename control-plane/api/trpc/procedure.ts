import { initTRPC, TRPCError } from '@trpc/server'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { Actor } from '#control-plane/actor.ts'
import { idempotencyKeyOf, openActorOf } from '#control-plane/api/caller.ts'
import { toTrpcCode } from '#control-plane/api/errors.ts'
import { sendLimit } from '#control-plane/api/limit-headers.ts'
import { peerOf } from '#control-plane/api/peer.ts'
import type { Ctx, InvokeOptions } from '#control-plane/operation.ts'
import { AppError, toAppError } from '#shared/errors.ts'

/** What a tRPC call has of its request. */
export type TrpcContext = {
  readonly ctx: Ctx
  readonly requestId: string
  /** Reads the key on the first use, so that a bad one is an error of the call like any other. */
  readonly actor: () => Promise<Actor>
  readonly options: () => InvokeOptions
}

export function createTrpcContext(ctx: Ctx, request: FastifyRequest, reply: FastifyReply): TrpcContext {
  let known: Promise<Actor> | undefined
  return {
    ctx,
    requestId: request.id,
    actor: () => {
      known ??= openActorOf(ctx, request)
      return known
    },
    options: () => ({
      idempotencyKey: idempotencyKeyOf(request),
      peer: peerOf(request),
      onLimit: (state) => sendLimit(reply, state),
    }),
  }
}

const trpc = initTRPC.context<TrpcContext>().create({
  isDev: false,
  errorFormatter: ({ shape, error, ctx }) => {
    const known = error.cause instanceof AppError ? error.cause : undefined
    return {
      ...shape,
      message: known?.message ?? (error.code === 'INTERNAL_SERVER_ERROR' ? PRIVATE.message : shape.message),
      data: {
        code: shape.data.code,
        httpStatus: shape.data.httpStatus,
        path: shape.data.path ?? null,
        /** Our own code, from the one table. */
        errorCode: known?.code ?? null,
        param: known?.param ?? null,
        problems: known?.problems ?? [],
        detail: known?.detail ?? {},
        requestId: ctx?.requestId ?? null,
      },
    }
  },
})
const PRIVATE = new AppError('internal_error')

export const router = trpc.router

/** The caller behind a call, with an AppError turned into tRPC's own words for it. */
export const procedure = trpc.procedure.use(async ({ ctx, next, path }) => {
  const result = await next()
  if (result.ok) return result
  const { error } = result
  // tRPC's own refusals (an input that is no JSON, a path that is none) keep their code.
  if (error.code !== 'INTERNAL_SERVER_ERROR') throw error
  const known = toAppError(error.cause)
  if (known.code === 'internal_error') {
    ctx.ctx.log.error({ err: known, request_id: ctx.requestId, path }, 'a call failed')
  }
  throw new TRPCError({ code: toTrpcCode(known), message: known.message, cause: known })
})

/** Takes an input as it came, typed as the operation reads it: `invoke` is the one place that validates. */
export function inputOf<Input extends z.ZodType>(operation: { readonly input: Input }) {
  return z.custom<z.input<typeof operation.input>>()
}
