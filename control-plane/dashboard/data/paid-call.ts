import type { QueryClient } from '@tanstack/react-query'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useCallback } from 'react'
import { at } from './answer-of.ts'
import { apiUrlHere } from './api-url.ts'
import { call, MarketError, refusalIn, toMarketError } from './client.ts'

/** A call of the API that the signed-in viewer of this browser pays for. */
export type PaidRequest = {
  readonly method?: 'GET' | 'POST' | 'DELETE'
  readonly body?: object
  readonly signal?: AbortSignal
}
export type PayingCall = (path: string, request?: PaidRequest) => Promise<Response>

type Opened = { readonly secret: string; readonly keyId: string; readonly expiresAt: number }

/** The secret is in the memory of the page alone. A sign-in or sign-out removes it, with all data that was read. */
const QUERY_KEY = ['playground secret'] as const
/** A secret that ends so soon is not used any more. */
const MARGIN_MS = 60_000
const REFUSED = 401

/** The key that calls of this browser are counted for. Undefined until its secret is open. */
export function usePayingKey(): { readonly keyId: string | undefined; readonly error: Error | null } {
  const { data, error } = useQuery({ queryKey: QUERY_KEY, queryFn: open, staleTime: 'static', retry: false })
  return { keyId: data?.keyId, error }
}

/**
 * Returns the function that calls the API at its address in the name of the session, without any key that the reader
 * has. The function opens a secret of an hour when it needs one, and throws a {@link MarketError} for a refusal.
 */
export function usePaidCall(apiBaseUrl: string): PayingCall {
  const cache = useQueryClient()
  return useCallback(
    async (path, request = {}) => {
      const url = apiUrlHere(apiBaseUrl) + path
      const secret = await secretOf(cache)
      const first = await send(url, secret, request)
      if (first.status !== REFUSED) return answered(first)
      // Newer secrets of other tabs end the oldest one. Nothing was charged.
      await first.body?.cancel()
      return answered(await send(url, await secretOf(cache, secret), request))
    },
    [cache, apiBaseUrl],
  )
}

/**
 * The secret of this page, other than one that was refused. Columns that ask at once share the secret that is being
 * opened.
 */
async function secretOf(cache: QueryClient, refused?: string): Promise<string> {
  const held = cache.getQueryData<Opened>(QUERY_KEY)
  const isOver = held !== undefined && (held.secret === refused || held.expiresAt - Date.now() < MARGIN_MS)
  const staleTime = isOver ? 0 : 'static'
  const { secret } = await cache.fetchQuery({ queryKey: QUERY_KEY, queryFn: open, staleTime, retry: false })
  return secret
}

async function open(): Promise<Opened> {
  const answer = await call('POST', '/v1/auth/playground', {})
  const [secret, keyId, expiresAt] = [at(answer, 'secret'), at(answer, 'key_id'), at(answer, 'expires_at')]
  if (typeof secret === 'string' && typeof keyId === 'string' && typeof expiresAt === 'number') {
    return { secret, keyId, expiresAt }
  }
  throw new MarketError('internal_error', 'The answer of the market is not readable.')
}

async function send(url: string, secret: string, { method = 'POST', body, signal }: PaidRequest): Promise<Response> {
  try {
    return await fetch(url, {
      method,
      credentials: 'omit',
      cache: 'no-store',
      headers: {
        authorization: `Bearer ${secret}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
    })
  } catch (thrown) {
    if (signal?.aborted === true) throw thrown
    throw toMarketError(thrown)
  }
}

async function answered(answer: Response): Promise<Response> {
  if (answer.ok) return answer
  throw await refusalIn(answer)
}
