import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises'

const SSE_HEADERS = { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' }

/** Sends an answer to the socket. A client that disconnects ends every wait. */
export type Reply = {
  readonly isGone: () => boolean
  readonly headers: (status: number, headers: Readonly<Record<string, string | readonly string[]>>) => void
  /** Sets headers for the next answer. */
  readonly headersFirst: (headers: Readonly<Record<string, string | readonly string[]>>) => void
  /** Sends an informational answer ahead of the real one. */
  readonly earlyHints: (link: string) => void
  /** Starts an event stream. */
  readonly openStream: () => void
  /** Writes bytes unchanged, and waits while the socket is full. */
  readonly write: (bytes: string | Uint8Array) => Promise<void>
  /** Writes one event. */
  readonly event: (data: string) => Promise<void>
  readonly end: (bytes?: string | Uint8Array) => void
  readonly json: (status: number, body: unknown, headers?: Readonly<Record<string, string>>) => void
  readonly wait: (delayMs: number) => Promise<void>
  /** Waits until the written bytes have left as a packet of their own. */
  readonly flush: () => Promise<void>
  /** Breaks the connection. */
  readonly cut: () => void
}

/** Wraps a response of node:http. */
export function replyOn(response: ServerResponse): Reply {
  const disconnect = new AbortController()
  response.once('close', () => disconnect.abort())
  response.on('error', () => disconnect.abort())
  response.socket?.setNoDelay(true)
  const write = async (bytes: string | Uint8Array) => {
    disconnect.signal.throwIfAborted()
    if (!response.write(bytes)) await once(response, 'drain', { signal: disconnect.signal })
  }
  const headersFirst: Reply['headersFirst'] = (headers) => {
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)
  }
  return {
    headersFirst,
    isGone: () => disconnect.signal.aborted,
    headers: (status, headers) => {
      headersFirst(headers)
      response.writeHead(status)
    },
    earlyHints: (link) => response.writeEarlyHints({ link }),
    openStream: () => response.writeHead(200, SSE_HEADERS),
    write,
    event: (data) => write(`data: ${data}\n\n`),
    end: (bytes) => response.end(bytes),
    json: (status, body, headers = {}) => {
      const bytes = Buffer.from(JSON.stringify(body))
      response.writeHead(status, { 'content-type': 'application/json', 'content-length': bytes.length, ...headers })
      response.end(bytes)
    },
    wait: (delayMs) => delay(delayMs, undefined, { signal: disconnect.signal }),
    flush: async () => {
      await nextTurn(undefined, { signal: disconnect.signal })
    },
    cut: () => response.destroy(),
  }
}
