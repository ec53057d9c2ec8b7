import type { ReactNode } from 'react'
import { createContext, useContext, useEffect, useMemo, useState } from 'react'
import type { ConnectionState, UpdatesFrame, UpdatesRequest } from './live-stream.ts'
import { openStream } from './live-stream.ts'
import { chosenWorkspace } from './workspace.ts'

/** A part of the market that a screen follows live. */
export type LivePart =
  | { readonly kind: 'book'; readonly model: string }
  | { readonly kind: 'trades'; readonly limit: number }
  | { readonly kind: 'credit' | 'jobs' | 'offerHealth' }

type Announcement = { readonly updates: UpdatesFrame | undefined; readonly state: ConnectionState | 'paused' }

type Live = {
  /** Follows a topic until the returned function is called. */
  want(topic: LivePart): () => void
  listen(onTold: (announcement: Announcement) => void): () => void
  setPaused(isPaused: boolean): void
}

const CHANNEL = 'mkt-live'
const LOCK = 'mkt-live-leader'
/**
 * Milliseconds between two messages of a tab with its topics. A tab that is silent for three times as long counts as
 * closed.
 */
const BEAT_MS = 5_000
const GONE_MS = 3 * BEAT_MS
const MAX_BOOKS = 8

type Message =
  | { readonly kind: 'want'; readonly tab: string; readonly topics: readonly LivePart[] }
  | { readonly kind: 'announcement'; readonly announcement: Announcement }

/**
 * Live updates over one stream for all tabs of a browser: HTTP/1.1 gives it six connections, and each tab would take
 * one. The tab that holds the lock reads for all; the others send it their topics. Hidden tabs have none.
 */
export function createLive(): Live & { close(): void } {
  const tab = crypto.randomUUID()
  // Tabs of different accounts get different figures, so each account has a stream.
  const account = chosenWorkspace()?.id ?? ''
  const channel = new BroadcastChannel(CHANNEL + account)
  const parts = new Map<symbol, LivePart>()
  const listeners = new Set<(announcement: Announcement) => void>()
  const closing = new AbortController()
  let isPaused = false
  let lead: ReturnType<typeof createLead> | undefined
  let last: Announcement = { updates: undefined, state: 'connecting' }

  function tell(announcement: Announcement) {
    last = announcement
    if (!isPaused) for (const listener of listeners) listener(announcement)
  }
  function say() {
    const topics = document.hidden || isPaused ? [] : [...parts.values()]
    lead?.hear(tab, topics)
    channel.postMessage({ kind: 'want', tab, topics } satisfies Message)
  }
  channel.onmessage = ({ data }: MessageEvent<Message>) => {
    if (data.kind === 'announcement') tell(data.announcement)
    else lead?.hear(data.tab, data.topics)
  }
  const beat = setInterval(say, BEAT_MS)
  document.addEventListener('visibilitychange', say)
  navigator.locks
    .request(LOCK + account, { signal: closing.signal }, () => {
      lead = createLead((announcement) => {
        channel.postMessage({ kind: 'announcement', announcement } satisfies Message)
        tell(announcement)
      })
      say()
      // The lock is held until this tab closes.
      return new Promise<void>((resolve) => closing.signal.addEventListener('abort', () => resolve()))
    })
    .catch(() => undefined)

  return {
    want(topic) {
      const id = Symbol(topic.kind)
      parts.set(id, topic)
      say()
      return () => {
        parts.delete(id)
        say()
      }
    },
    listen(listener) {
      listeners.add(listener)
      listener(last)
      return () => listeners.delete(listener)
    },
    setPaused(next) {
      isPaused = next
      if (next) for (const listener of listeners) listener({ ...last, state: 'paused' })
      say()
    },
    close() {
      closing.abort()
      clearInterval(beat)
      document.removeEventListener('visibilitychange', say)
      lead?.close()
      channel.close()
    },
  }
}

/** Reads for all tabs. The stream is opened anew when their topics change. */
function createLead(onTold: (announcement: Announcement) => void) {
  const tabs = new Map<string, { readonly topics: readonly LivePart[]; readonly at: number }>()
  let reading: { readonly request: string; stop(): void } | undefined
  let updates: UpdatesFrame | undefined

  function renew() {
    const now = performance.now()
    for (const [tab, { at }] of tabs) if (now - at > GONE_MS) tabs.delete(tab)
    const request = updatesRequestOf([...tabs.values()].flatMap(({ topics }) => topics))
    const text = JSON.stringify(request)
    if (text === reading?.request) return
    reading?.stop()
    reading = undefined
    if (!wantsAnything(request)) return
    const stop = openStream(request, {
      onUpdates: (next) => {
        updates = next
        onTold({ updates, state: 'live' })
      },
      onState: (state) => {
        if (state !== 'live') onTold({ updates, state })
      },
    })
    reading = { request: text, stop }
  }
  const check = setInterval(renew, BEAT_MS)
  return {
    hear(tab: string, topics: readonly LivePart[]) {
      const before = JSON.stringify(tabs.get(tab)?.topics ?? [])
      tabs.set(tab, { topics, at: performance.now() })
      renew()
      // A tab that joins later gets the last updates now, and does not wait for the next change.
      if (updates !== undefined && before !== JSON.stringify(topics)) onTold({ updates, state: 'live' })
    },
    close() {
      clearInterval(check)
      reading?.stop()
    },
  }
}

function updatesRequestOf(topics: readonly LivePart[]): UpdatesRequest {
  const books = [...new Set(topics.flatMap((topic) => (topic.kind === 'book' ? [topic.model] : [])))].sort((a, b) =>
    a < b ? -1 : 1,
  )
  const trades = Math.max(0, ...topics.map((topic) => (topic.kind === 'trades' ? topic.limit : 0)))
  const wants = (kind: LivePart['kind']) => topics.some((topic) => topic.kind === kind)
  return {
    books: books.slice(0, MAX_BOOKS),
    trades,
    credit: wants('credit'),
    jobs: wants('jobs'),
    offerHealth: wants('offerHealth'),
  }
}

function wantsAnything({ books, trades, credit, jobs, offerHealth }: UpdatesRequest): boolean {
  return books.length > 0 || trades > 0 || credit || jobs || offerHealth
}

const LiveContext = createContext<Live | undefined>(undefined)

export function LiveProvider({ children }: { readonly children: ReactNode }) {
  const [live, setLive] = useState<Live>()
  useEffect(() => {
    const made = createLive()
    setLive(made)
    return () => made.close()
  }, [])
  return <LiveContext value={live}>{children}</LiveContext>
}

/** The updates of a topic, and the state of the stream. */
export function useLive(topic: LivePart): Announcement & { readonly setPaused: (isPaused: boolean) => void } {
  const live = useContext(LiveContext)
  const [announcement, setTold] = useState<Announcement>({ updates: undefined, state: 'connecting' })
  const text = JSON.stringify(topic)
  const livePart = useMemo<LivePart>(() => JSON.parse(text), [text])
  useEffect(() => live?.want(livePart), [live, livePart])
  useEffect(() => live?.listen(setTold), [live])
  return { ...announcement, setPaused: (isPaused) => live?.setPaused(isPaused) }
}
