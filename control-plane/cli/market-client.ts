import type { TRPCClient } from '@trpc/client'
import { createTRPCClient, httpLink, TRPCClientError } from '@trpc/client'
import type { inferRouterOutputs } from '@trpc/server'
import { z } from 'zod'
import type { AppRouter } from '#control-plane/api/trpc/router.ts'
import { toSnakeName, toSnakeSentence } from '#shared/field-names.ts'
import type { Side } from './config.ts'
import { CommandFailure, exitOfStatus } from './failure.ts'
import { failureOf, retryAfterOf, unreachable } from './http.ts'

/** All operations of the tRPC door, typed by the router itself. */
export type MarketClient = TRPCClient<AppRouter>
/** The answers of the operations. */
export type Answers = inferRouterOutputs<AppRouter>

/** The longest wait for an answer, in milliseconds. A check of the whole ledger takes minutes. */
const ANSWER_MS = 300_000

/** Makes a client of the tRPC door. Queries are sent as bodies, because a catalogue does not fit in an address. */
export function createMarketClient({ url, key }: { readonly url: string; readonly key: string }): MarketClient {
  return createTRPCClient<AppRouter>({
    links: [
      httpLink({
        url: `${url}/trpc`,
        methodOverride: 'POST',
        headers: ({ op }) => ({ authorization: `Bearer ${key}`, ...idempotencyHeader(op.context) }),
        fetch: (target, init) => fetchJson(String(target), init),
      }),
    ],
  })
}

/** The options of a mutation that is made once, however often it is sent. */
export function once(idempotencyKey: string) {
  return { context: { idempotencyKey } }
}

function idempotencyHeader({ idempotencyKey }: Readonly<Record<string, unknown>>): Record<string, string> {
  return typeof idempotencyKey === 'string' ? { 'idempotency-key': idempotencyKey } : {}
}

async function fetchJson(target: string, init: Omit<RequestInit, 'signal'> | undefined): Promise<Response> {
  const limits = { redirect: 'manual', signal: AbortSignal.timeout(ANSWER_MS) } as const
  const answer = await fetch(target, { ...init, ...limits }).catch((cause: unknown) => {
    throw unreachable(new URL(target).origin, cause)
  })
  if (/^application\/json\b/.test(answer.headers.get('content-type') ?? '')) return answer
  throw failureOf({ status: answer.status, headers: answer.headers, body: await answer.text() })
}

const Refusal = z.object({
  httpStatus: z.number(),
  errorCode: z.string().nullish(),
  param: z.string().nullish(),
  requestId: z.string().nullish(),
})

/** Turns a failure of the client into a {@link CommandFailure}. Other errors stay as they are. */
export function clientFailure(error: unknown, { side, url }: { readonly side: Side; readonly url: string }): unknown {
  if (!(error instanceof TRPCClientError)) return error
  if (error.cause instanceof CommandFailure) return error.cause
  const { response, responseJSON } = error.meta ?? {}
  if (!(response instanceof Response)) return unreachable(new URL(url).origin, error)
  const refusal = Refusal.safeParse(error.data)
  if (!refusal.success)
    return failureOf({ status: response.status, headers: response.headers, body: JSON.stringify(responseJSON) })
  const { httpStatus: status, errorCode, param, requestId } = refusal.data
  const named = namesOf(side, error.message, param)
  return new CommandFailure(exitOfStatus(status, errorCode), named.message, {
    status,
    code: errorCode ?? String(status),
    ...retryAfterOf(response.headers),
    ...(named.param == null ? {} : { param: named.param }),
    ...(requestId == null ? {} : { requestId }),
  })
}

/** Names of fields, as the JSON of a side's commands has them: operators read the operation's, others those of REST. */
function namesOf(side: Side, message: string, param: string | null | undefined) {
  if (side === 'operator' || param == null) return { message, param }
  return { message: toSnakeSentence(message, param), param: toSnakeName(param) }
}
