import { z } from 'zod'
import type { DataRoute } from './route.ts'
import { CALL_REFUSALS } from './route.ts'

const METHODS = ['get', 'post', 'put'] as const
/** The provider's own request and answer, unchanged. */
const Anything = z.unknown().describe("The provider's own, as it is.")
const forwarded = { envelope: 'v1', access: 'buyer', isPaid: true, isForwarded: true, refusals: CALL_REFUSALS } as const

const RESOURCE_CALL =
  "A call to a provider on a lent key. Method, path, body and answer are the provider's own. The market's capabilities list the " +
  'reachable routes and their prices. A provider that takes its target in `x-target-url` has no path. ' +
  '`X-MKT-Require` names traits that the account must claim. A repeat is a second call, also under the same `Idempotency-Key`.'

/** Calls to a provider on lent keys, in the forwarded methods. */
function resourceRoutes(path: string, more: Pick<DataRoute, 'tag' | 'summary' | 'takesFloor'>): readonly DataRoute[] {
  return METHODS.map((method) => ({
    // A job whose key was destroyed is gone.
    ...forwarded,
    ...more,
    method,
    path,
    description: RESOURCE_CALL,
    refusals: [...CALL_REFUSALS, 410],
    ...(method === 'get' ? {} : { body: Anything }),
    answers: { 'application/json': Anything },
  }))
}

/** A request of JSON-RPC 2.0. Without an id it is a notification, which has no answer. */
const RpcRequest = z.strictObject({
  jsonrpc: z.literal('2.0'),
  id: z.union([z.string(), z.number(), z.null()]).optional(),
  method: z.string(),
  params: z.union([z.array(z.unknown()), z.record(z.string(), z.unknown())]).optional(),
})

const family = { ...forwarded, tag: 'Forwarded calls' } as const

/** Calls that are forwarded to providers. */
export const FORWARD_ROUTES: readonly DataRoute[] = [
  ...['', '/{rest}'].flatMap((rest) => [
    ...resourceRoutes(`/resources/{resource}${rest}`, {
      tag: 'Provider keys',
      summary: 'Call a provider on a lent key, paid from credit',
      takesFloor: true,
    }),
    ...resourceRoutes(`/x402/resources/{resource}${rest}`, {
      tag: 'Provider keys',
      summary: 'Call a provider on a lent key, paid by a wallet',
    }),
  ]),
  {
    ...family,
    method: 'get',
    path: '/x402/api/social/v2/posts/search/recent',
    summary: 'Search recent posts, paid by a wallet',
    description: 'Sends the query to the service behind this path and returns the answer of the service.',
    query: z.looseObject({ query: z.string().optional() }),
    answers: { 'application/json': Anything },
  },
  {
    ...family,
    method: 'get',
    path: '/x402/api/social/v2/users/by/username/{username}',
    summary: 'Get a user by name, paid by a wallet',
    description: 'Reads one user at the service behind this path and returns the answer of the service.',
    answers: { 'application/json': Anything },
  },
  {
    ...family,
    method: 'post',
    path: '/x402/api/crypto-rpc/rpc/{network}',
    summary: 'Query a chain by JSON-RPC, paid by a wallet',
    description:
      'One request or a batch of up to 100. Methods that write or sign are never forwarded. Each method has a price.',
    body: z.union([RpcRequest, z.array(RpcRequest).min(1).max(100)]),
    answers: { 'application/json': Anything },
  },
]
