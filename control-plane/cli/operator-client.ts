import type { TRPCClient } from '@trpc/client'
import { createTRPCClient, httpLink, TRPCClientError } from '@trpc/client'
import { z } from 'zod'
import type { AppRouter } from '#control-plane/api/trpc/router.ts'
import { CommandFailure, exitOfStatus } from './failure.ts'
import { unreachable } from './http.ts'

/** All operations of the tRPC door, typed by the router itself. */
export type OperatorClient = TRPCClient<AppRouter>

/** Makes a client of the tRPC door. Queries are sent as bodies, because a catalogue does not fit in an address. */
export function createOperatorClient({ url, key }: { readonly url: string; readonly key: string }): OperatorClient {
  return createTRPCClient<AppRouter>({
    links: [
      httpLink({
        url: `${url}/trpc`,
        methodOverride: 'POST',
        headers: { authorization: `Bearer ${key}` },
      }),
    ],
  })
}

const Refusal = z.object({
  httpStatus: z.number(),
  errorCode: z.string().nullish(),
  param: z.string().nullish(),
  requestId: z.string().nullish(),
})

/** Turns a failure of the client into a {@link CommandFailure}. Other errors stay as they are. */
export function operatorFailure(error: unknown, url: string): unknown {
  if (!(error instanceof TRPCClientError)) return error
  const refusal = Refusal.safeParse(error.data)
  if (!refusal.success) return unreachable(new URL(url).origin, error)
  const { httpStatus: status, errorCode, param, requestId } = refusal.data
  return new CommandFailure(exitOfStatus(status, errorCode), error.message, {
    status,
    code: errorCode ?? String(status),
    ...(param == null ? {} : { param }),
    ...(requestId == null ? {} : { requestId }),
  })
}
