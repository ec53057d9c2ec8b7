import { initTRPC, TRPCError } from '@trpc/server'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { idempotencyKeyOf, openActorOf } from '#control-plane/api/caller.ts'
import { toTrpcCode } from '#control-plane/api/errors.ts'
import { sendLimit } from '#control-plane/api/limit-headers.ts'
import { peerOf } from '#control-plane/api/peer.ts'
import type { Actor } from '#control-plane/operation/actor.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import type { InvokeOptions } from '#control-plane/operation/invoke.ts'
import { invoke } from '#control-plane/operation/invoke.ts'
import type { Access, Operation } from '#control-plane/operation/operation.ts'
import { AppError, toAppError } from '#shared/errors.ts'

/** The facts of the request behind a tRPC call. */
export type TrpcContext = {
  readonly ctx: Ctx
  readonly requestId: string
  /** Reads the key on its first use, so that a bad key is an error of the call. */
  readonly actor: () => Promise<Actor>
  readonly options: () => InvokeOptions
}

export function createTrpcContext(ctx: Ctx, request: FastifyRequest, reply: FastifyReply): TrpcContext {
  let actor: Promise<Actor> | undefined
  return {
    ctx,
    requestId: request.id,
    actor: () => {
      actor ??= openActorOf(ctx, request)
      return actor
    },
    options: () => ({
      idempotencyKey: idempotencyKeyOf(request),
      peer: peerOf(request),
      onLimit: (state) => sendLimit(reply, state),
    }),
  }
}

/** The operation's words, for the list of procedures and the help of the command line. */
type Meta = { readonly summary: string; readonly about?: string }

const trpc = initTRPC
  .context<TrpcContext>()
  .meta<Meta>()
  .create({
    isDev: false,
    errorFormatter: ({ shape, error, ctx }) => {
      const appError = error.cause instanceof AppError ? error.cause : undefined
      return {
        ...shape,
        message: appError?.message ?? (error.code === 'INTERNAL_SERVER_ERROR' ? PRIVATE.message : shape.message),
        data: {
          code: shape.data.code,
          httpStatus: shape.data.httpStatus,
          path: shape.data.path ?? null,
          /** Our own error code. */
          errorCode: appError?.code ?? null,
          param: appError?.param ?? null,
          problems: appError?.problems ?? [],
          detail: appError?.detail ?? {},
          requestId: ctx?.requestId ?? null,
        },
      }
    },
  })
const PRIVATE = new AppError('internal_error')

export const router = trpc.router

/** Turns an AppError into tRPC's own form. */
const procedure = trpc.procedure.use(async ({ ctx, next, path }) => {
  const result = await next()
  if (result.ok) return result
  const { error } = result
  // tRPC's own refusals, such as an input that is no JSON or an unknown path, keep their code.
  if (error.code !== 'INTERNAL_SERVER_ERROR') throw error
  const appError = toAppError(error.cause)
  if (appError.code === 'internal_error') {
    ctx.ctx.log.error({ err: appError, request_id: ctx.requestId, path }, 'a call failed')
  }
  throw new TRPCError({ code: toTrpcCode(appError), message: appError.message, cause: appError })
})

/** Writes an answer that differs from the output, such as a key as text or lines as a list. */
type Write<Output, Answer> = (output: Output) => Answer | Promise<Answer>

/** Makes the query of an operation. `write` makes the answer from the output. */
export function queryOf<A extends Access, Input extends z.ZodType, Output>(
  operation: Operation<A, Input, Output>,
): ReturnType<typeof asQuery<Input, Output>>
export function queryOf<A extends Access, Input extends z.ZodType, Output, Answer>(
  operation: Operation<A, Input, Output>,
  write: Write<Output, Answer>,
): ReturnType<typeof asQuery<Input, Answer>>
export function queryOf<A extends Access, Input extends z.ZodType, Output>(
  operation: Operation<A, Input, Output>,
  write: Write<Output, unknown> = (output) => output,
) {
  return asQuery(operation, callOf(operation, write))
}

/** Makes the mutation of an operation. `write` makes the answer from the output. */
export function mutationOf<A extends Access, Input extends z.ZodType, Output>(
  operation: Operation<A, Input, Output>,
): ReturnType<typeof asMutation<Input, Output>>
export function mutationOf<A extends Access, Input extends z.ZodType, Output, Answer>(
  operation: Operation<A, Input, Output>,
  write: Write<Output, Answer>,
): ReturnType<typeof asMutation<Input, Answer>>
export function mutationOf<A extends Access, Input extends z.ZodType, Output>(
  operation: Operation<A, Input, Output>,
  write: Write<Output, unknown> = (output) => output,
) {
  return asMutation(operation, callOf(operation, write))
}

type Call<Answer> = (opts: { readonly ctx: TrpcContext; readonly input: unknown }) => Promise<Answer>

type Called<Input extends z.ZodType> = Meta & { readonly input: Input }

function asQuery<Input extends z.ZodType, Answer>({ input, ...operation }: Called<Input>, call: Call<Answer>) {
  return procedure.meta(wordsOf(operation)).input(inputOf(input)).query(call)
}

function asMutation<Input extends z.ZodType, Answer>({ input, ...operation }: Called<Input>, call: Call<Answer>) {
  return procedure.meta(wordsOf(operation)).input(inputOf(input)).mutation(call)
}

function wordsOf({ summary, about }: Meta): Meta {
  return about === undefined ? { summary } : { summary, about }
}

function callOf<A extends Access, Input extends z.ZodType, Output, Answer>(
  operation: Operation<A, Input, Output>,
  write: Write<Output, Answer>,
): Call<Answer> {
  // An operation without required fields can be called without an input.
  const unless = operation.input.safeParse({}).success ? {} : undefined
  return async ({ ctx, input = unless }) =>
    write(await invoke(ctx.ctx, await ctx.actor(), operation, input, ctx.options()))
}

/** The client's input. It may be absent when no field is required. */
type ClientInput<Input extends z.ZodType> =
  Record<never, never> extends z.input<Input> ? z.input<Input> | undefined : z.input<Input>

/** Takes the input unchecked, with the operation's type. Only `invoke` validates. */
function inputOf<Input extends z.ZodType>(_input: Input) {
  return z.custom<ClientInput<Input>>()
}
