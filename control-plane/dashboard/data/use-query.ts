import type { QueryClient, UseQueryResult } from '@tanstack/react-query'
import { QueryClient as Client, keepPreviousData, useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { ask, failureOf, isPassing, MarketError, shareAnswer, toMarketError } from './client.ts'
import type { TypedDocumentString } from './typed-document.ts'

const FRESH_MS = 5_000
const KEPT_MS = 10 * 60_000
const MAX_TRIES = 4
const FIRST_PAUSE_MS = 500
const LONGEST_PAUSE_MS = 30_000
/** The pause after which a screen that could not be read, or only in part, is read again by itself. */
const AGAIN_MS = 15_000

/** The cache of everything that screens have read. */
export function createCache(): QueryClient {
  return new Client({
    defaultOptions: {
      queries: {
        staleTime: FRESH_MS,
        gcTime: KEPT_MS,
        refetchOnWindowFocus: true,
        structuralSharing: shareAnswer,
        retry: (tries, error) => isPassing(error) && tries < MAX_TRIES,
        retryDelay: (tries, error) => pauseOf(tries, error),
      },
    },
  })
}

function pauseOf(tries: number, error: Error): number {
  const retryAfterMs = error instanceof MarketError ? error.retryAfterMs : undefined
  return Math.min(retryAfterMs ?? FIRST_PAUSE_MS * 2 ** tries, LONGEST_PAUSE_MS)
}

type ScreenOptions = {
  /** Reads again after this time while the screen is visible. */
  readonly everyMs?: number
  readonly isOn?: boolean
}

/** The data of a screen: one document. The last data is shown while it is read again. */
export function useScreen<Result extends object, Variables>(
  document: TypedDocumentString<Result, Variables>,
  variables: Variables,
  { everyMs, isOn = true }: ScreenOptions = {},
): UseQueryResult<Result, Error> {
  return useQuery({
    queryKey: [nameOf(document), variables],
    queryFn: ({ signal }) => ask(document, variables, { signal }),
    placeholderData: keepPreviousData,
    enabled: isOn,
    refetchInterval: ({ state: { data, error } }) =>
      everyMs ?? (isPassing(error) || (data && failureOf(data)) ? AGAIN_MS : false),
  })
}

/** The name of a document's operation. */
export function nameOf(document: TypedDocumentString<unknown, never>): string {
  return /(?:query|mutation|subscription) (\w+)/.exec(document.toString())?.[1] ?? ''
}

/** Sends a mutation. After it, everything on the screen is read again. */
export function useChange<Result, Variables>(
  document: TypedDocumentString<Result, Variables>,
  options: { readonly onDone?: (result: Result) => void } = {},
) {
  const cache = useQueryClient()
  return useMutation<Result, Error, Variables>({
    mutationFn: (variables) => ask(document, variables, { idempotencyKey: crypto.randomUUID() }).catch(rethrow),
    onSuccess: (result) => {
      options.onDone?.(result)
      return cache.invalidateQueries()
    },
    onError: (error) => {
      // A refusal for want of a session shows the viewer as signed out at once.
      if (error instanceof MarketError && error.code === 'authentication_required') void cache.invalidateQueries()
    },
  })
}

function rethrow(thrown: unknown): never {
  throw toMarketError(thrown)
}
