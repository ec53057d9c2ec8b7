import type { TRPCClient } from '@trpc/client'
import { createTRPCClient, httpLink, TRPCClientError } from '@trpc/client'
import { z } from 'zod'
import type { AppRouter } from '#control-plane/api/trpc/router.ts'
import { CommandFailure, exitOfStatus } from './failure.ts'
import { unreachable } from './http.ts'

/** Every operation of the tRPC door by its name, typed by the router itself. */
export type OperatorClient = TRPCClient<AppRouter>

/** A client of the tRPC door. Questions too come as bodies: a catalogue does not fit in an address. */
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

/** A failure of the client in the form that all commands fail in; anything else as it is. */
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
