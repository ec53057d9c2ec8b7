import type { Socket } from 'node:net'
import { connect } from 'node:net'

/** Number of streams that are opened per second, one after another. */
const OPENED_A_SECOND = 400
const PAUSE_MS = 50
const GIVE_UP_MS = 30_000
const MARK = 'data: [DONE]'
/** Characters with the end mark and the end of the chunked framing after it. */
const TAIL_CHARS = 64

type Call = { readonly url: URL; readonly body: string; readonly keys: readonly string[] }

/** The states of the streams so far. */
export type Streams = {
  /** Number of streams whose first content has arrived. */
  begun(): number
  /** Waits until every stream has ended, whole or cut. */
  ended(): Promise<{ readonly whole: number; readonly cut: number; readonly pieces: number }>
}

/** Opens streams over connections of their own and waits until each has its first content. */
export async function openStreams(call: Call, count: number): Promise<Streams> {
  const seen = { begun: 0, whole: 0, cut: 0, pieces: 0 }
  const ends: Promise<void>[] = []
  for (let opened = 0; opened < count; ) {
    const together = Math.min(count - opened, Math.ceil((OPENED_A_SECOND * PAUSE_MS) / 1_000))
    for (let each = 0; each < together; each++) ends.push(follow(call, opened++, seen))
    await pause(PAUSE_MS)
  }
  const giveUpAt = performance.now() + GIVE_UP_MS
  while (seen.begun + seen.cut < count && performance.now() < giveUpAt) await pause(PAUSE_MS)
  return {
    begun: () => seen.begun,
    ended: async () => {
      await Promise.all(ends)
      return seen
    },
  }
}

/** Reads one stream to its end. It is whole with the end mark and cut without. */
function follow({ url, body, keys }: Call, index: number, seen: Record<'begun' | 'whole' | 'cut' | 'pieces', number>) {
  return new Promise<void>((resolve) => {
    let tail = ''
    let hasBegun = false
    const socket: Socket = connect(Number(url.port), url.hostname, () => {
      socket.write(
        `POST ${url.pathname} HTTP/1.1\r\nhost: ${url.host}\r\nauthorization: Bearer ${keys[index % keys.length]}\r\n` +
          `content-type: application/json\r\nconnection: close\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
      )
    })
    socket.setEncoding('latin1')
    socket.on('data', (text: string) => {
      const found = text.split('"content":').length - 1
      if (found > 0 && !hasBegun) {
        hasBegun = true
        seen.begun++
      }
      seen.pieces += found
      tail = (tail + text).slice(-TAIL_CHARS)
    })
    socket.on('error', () => socket.destroy())
    socket.on('close', () => {
      if (tail.includes(MARK)) seen.whole++
      else seen.cut++
      resolve()
    })
  })
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
