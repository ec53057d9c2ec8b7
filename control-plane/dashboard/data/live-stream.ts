import { requestOf } from './client.ts'
import type { PageUpdatesSubscription, PageUpdatesSubscriptionVariables } from './documents/live.ts'
import { PageUpdatesDocument } from './documents/live.ts'
import { eventData } from './event-data.ts'

export type UpdatesFrame = NonNullable<PageUpdatesSubscription['updates']>
export type UpdatesRequest = PageUpdatesSubscriptionVariables
export type ConnectionState = 'connecting' | 'live' | 'broken'

const FIRST_PAUSE_MS = 1_000
const LONGEST_PAUSE_MS = 30_000
/** The longest event that is read, in characters. */
const MAX_EVENT_CHARS = 2_000_000

type Listener = {
  readonly onUpdates: (updates: UpdatesFrame) => void
  readonly onState: (state: ConnectionState) => void
}

/** Reads updates until it is stopped, and begins again after a break. */
export function openStream(request: UpdatesRequest, { onUpdates, onState }: Listener): () => void {
  const stop = new AbortController()
  void follow()
  return () => stop.abort()

  async function follow() {
    let pause = FIRST_PAUSE_MS
    while (!stop.signal.aborted) {
      onState('connecting')
      const wasLive = await readOnce(request, stop.signal, (updates) => {
        onState('live')
        onUpdates(updates)
      })
      if (stop.signal.aborted) return
      onState('broken')
      pause = wasLive ? FIRST_PAUSE_MS : Math.min(pause * 2, LONGEST_PAUSE_MS)
      await new Promise((resolve) => setTimeout(resolve, pause))
    }
  }
}

/** Reads one connection to its end. True when the connection delivered something. */
async function readOnce(
  request: UpdatesRequest,
  signal: AbortSignal,
  onUpdates: (updates: UpdatesFrame) => void,
): Promise<boolean> {
  let wasLive = false
  try {
    const answer = await fetch('/graphql', { ...requestOf(PageUpdatesDocument, request, 'text/event-stream'), signal })
    if (!answer.ok || answer.body === null) return false
    for await (const data of eventData(answer.body, MAX_EVENT_CHARS)) {
      const updates = updatesIn(data)
      if (updates === undefined) continue
      wasLive = true
      onUpdates(updates)
    }
  } catch {
    // A broken connection ends like any other, and is opened again.
  }
  return wasLive
}

function updatesIn(data: string): UpdatesFrame | undefined {
  const body: unknown = JSON.parse(data)
  return isResult(body) ? (body.data?.updates ?? undefined) : undefined
}

function isResult(body: unknown): body is { readonly data?: PageUpdatesSubscription | null } {
  return typeof body === 'object' && body !== null && 'data' in body
}
