import type { Dispatcher } from 'undici'
import { Agent } from 'undici'
import type { HostList } from '#shared/catalog/provider-hosts.ts'
import type { Time, Timers } from '#shared/clock.ts'
import { MINUTE, SECOND } from '#shared/clock.ts'
import type { OutboundPolicy } from '#shared/outbound-guard.ts'
import { checkOutboundUrl } from '#shared/outbound-guard.ts'
import { protocolOf } from '#shared/protocols/index.ts'
import type { OpenCredential } from './credentials.ts'
import type { KeyMask } from './key-mask.ts'
import { createKeyMask, isCompressed } from './key-mask.ts'
import type { KeyPattern, KeyPatterns } from './key-pattern.ts'
import { HEAD_BYTES, mediaTypeOf } from './media-type.ts'
import type { Destination } from './send.ts'
import { FORBIDDEN_ADDRESS, guardedLookup, USER_AGENT } from './send.ts'

const CONNECT_TIMEOUT_MS = 2 * SECOND
const MAX_CONNECTIONS_AN_ORIGIN = 16
const KEEP_ALIVE_MS = 10 * SECOND
const MAX_HEADER_BYTES = 32_768
/** Bytes of a body that wait to be read. With more room, two pieces would wait and be copied into one. */
const READ_AHEAD_BYTES = 0

export type FileLimits = {
  readonly maxBytes: number
  /** Milliseconds until the head, between two pieces, and in all. */
  readonly firstByteMs: number
  readonly idleMs: number
  readonly totalMs: number
}

/** The store limits the size of a file. */
export const FILE_TIMES = { firstByteMs: 30 * SECOND, idleMs: 30 * SECOND, totalMs: 15 * MINUTE } as const

/** Faults of a provider's file, and whether a further attempt would end in the same way. */
export const FILE_FAULTS = {
  forbidden: { isFinal: true, words: 'its address is not allowed' },
  redirected: { isFinal: true, words: 'its address redirects to another one' },
  missing: { isFinal: true, words: 'the provider does not have it or refuses it' },
  no_media: { isFinal: true, words: 'it is a web page or a message, not a media file' },
  encoded: { isFinal: true, words: 'it came compressed' },
  endless: { isFinal: true, words: 'it has neither a length nor chunks' },
  too_large: { isFinal: true, words: 'it is larger than the limit' },
  cut: { isFinal: false, words: 'it broke off' },
  stalled: { isFinal: false, words: 'it stopped coming' },
  too_slow: { isFinal: false, words: 'it took too long' },
  unreachable: { isFinal: false, words: 'its host did not answer' },
  unavailable: { isFinal: false, words: 'its host failed' },
} as const
export type FileFaultName = keyof typeof FILE_FAULTS

export class FileFault extends Error {
  override readonly name = 'FileFault'
  readonly fault: FileFaultName
  constructor(fault: FileFaultName, cause?: unknown) {
    super(FILE_FAULTS[fault].words, cause === undefined ? {} : { cause })
    this.fault = fault
  }
}

/** The place of a file at its provider. */
export type FilePlace = {
  readonly url: string
  /** Hosts that may be dialled for it. */
  readonly hosts: HostList
  /** Set for a file that only the holder of the provider's key can load. */
  readonly key?: Destination
}

/** A file whose head has arrived. Its reader takes all pieces or closes it. */
export type FetchedFile = {
  /** The type of the file by its first bytes. */
  readonly contentType: string
  /**
   * A piece belongs to its reader until the next one is requested. Throws {@link FileFault} when the file does not end
   * as it should.
   */
  readonly pieces: AsyncIterable<Buffer>
  close(): void
}

export type FileFetcher = {
  /** Requests a file. Throws {@link FileFault}. An abort of the signal ends it at any time, as `cut`. */
  fetch(place: FilePlace, limits: FileLimits, signal?: AbortSignal): Promise<FetchedFile>
  close(): Promise<void>
}

type Parts = {
  readonly policy: OutboundPolicy
  readonly openCredential: OpenCredential
  readonly patterns: KeyPatterns
  readonly clock: Time
}

/**
 * Fetches providers' files under the rules of the client for sellers' hosts: https, a host on the list, an address that
 * is checked when it is dialled, no redirects, headers of our own. A file that was fetched with a key is returned
 * without the key. No file is in memory as a whole.
 */
export function createFileFetcher({ policy, openCredential, patterns, clock }: Parts): FileFetcher {
  const agent = new Agent({
    connect: { timeout: CONNECT_TIMEOUT_MS, lookup: guardedLookup(policy) },
    connections: MAX_CONNECTIONS_AN_ORIGIN,
    pipelining: 1,
    keepAliveTimeout: KEEP_ALIVE_MS,
    // The plane's clock watches the times here.
    headersTimeout: 0,
    bodyTimeout: 0,
    maxHeaderSize: MAX_HEADER_BYTES,
  })
  const spentMemory = openSpentMemory()
  return {
    async fetch({ url: raw, hosts, key }, limits, signal) {
      const url = checkOutboundUrl(raw, hosts, policy)
      // A stored key is never sent to another host than the one that it was stored for.
      if (url === undefined || (key !== undefined && key.credential.host !== url.host)) throw new FileFault('forbidden')
      const watch = watchFetch(clock, limits, signal)
      try {
        const headers = ['accept', '*/*', 'accept-encoding', 'identity', 'user-agent', USER_AGENT]
        const secret = key && openCredential(key.credential)
        const { origin, host, pathname, search } = url
        const path = pathname + search
        const request = { method: 'GET', host, path, body: '', at: clock.now() } as const
        if (key !== undefined && secret !== undefined) protocolOf(key).authorize(headers, secret.reveal(), request)
        const answer = await watch.within(limits.firstByteMs, 'unreachable', () =>
          agent.request({
            origin,
            path,
            method: request.method,
            headers,
            signal: watch.signal,
            highWaterMark: READ_AHEAD_BYTES,
          }),
        )
        return await takeFile(answer, {
          limits,
          watch,
          spent: spentMemory,
          pattern: secret && patterns.of(secret, key),
        })
      } catch (error) {
        watch.end()
        throw watch.faultOf(error, 'unreachable')
      }
    },
    async close() {
      await agent.destroy()
      spentMemory.close()
    },
  }
}

type Watch = {
  readonly signal: AbortSignal
  /** Waits for a step for this many milliseconds. After that the fetch ends with this fault. */
  within<Result>(ms: number, fault: FileFaultName, step: () => Promise<Result>): Promise<Result>
  /** The fault that ended the fetch: the fault of this watch, the fault in `error`, or else `usual`. */
  faultOf(error: unknown, usual: FileFaultName): FileFault
  end(): void
}

/** Watches the times of one fetch. The first that is exceeded ends it. */
function watchFetch(clock: Timers, { totalMs }: FileLimits, outer: AbortSignal | undefined): Watch {
  const over = new AbortController()
  let fault: FileFaultName | undefined
  const endBy = (reason: FileFaultName) => {
    fault ??= reason
    over.abort()
  }
  const endTotal = clock.after(totalMs, () => endBy('too_slow'))
  const leave = () => endBy('cut')
  if (outer?.aborted === true) leave()
  outer?.addEventListener('abort', leave)
  return {
    signal: over.signal,
    async within(ms, late, step) {
      const endWait = clock.after(ms, () => endBy(late))
      try {
        return await step()
      } finally {
        endWait()
      }
    },
    faultOf(error, usual) {
      if (fault !== undefined) return new FileFault(fault, error)
      if (error instanceof FileFault) return error
      return new FileFault(Object(error).code === FORBIDDEN_ADDRESS ? 'forbidden' : usual, error)
    },
    end() {
      endTotal()
      outer?.removeEventListener('abort', leave)
      over.abort()
    },
  }
}

type Taking = {
  readonly limits: FileLimits
  readonly watch: Watch
  readonly spent: SpentMemory
  /** Finds the key of the request in the file. */
  readonly pattern: KeyPattern | undefined
}

/** Checks the head of an answer and the first bytes after it. */
async function takeFile({ statusCode, headers, body }: Dispatcher.ResponseData, at: Taking): Promise<FetchedFile> {
  // An aborted body reports an error even without a reader.
  body.on('error', () => undefined)
  const { limits, watch, spent, pattern } = at
  checkStatus(statusCode)
  const declared = readLength(headers)
  if (declared !== undefined && declared > limits.maxBytes) throw new FileFault('too_large')
  const source = body[Symbol.asyncIterator]()
  const next = () => watch.within(limits.idleMs, 'stalled', () => source.next())
  const pieces = readPieces(next, declared, at)
  const first: Buffer[] = []
  let bytes = 0
  while (bytes < HEAD_BYTES) {
    const { done, value } = await pieces.next()
    if (done === true) break
    first.push(value)
    bytes += value.length
  }
  const type = headers['content-type']
  const head = Buffer.concat(first)
  const contentType = mediaTypeOf(head, typeof type === 'string' ? type : '')
  if (contentType === undefined) throw new FileFault('no_media')
  // The content of compressed bytes cannot be searched.
  if (pattern !== undefined && isCompressed(head) === true) throw new FileFault('encoded')
  const mask = pattern && createKeyMask(pattern)
  async function* whole() {
    try {
      for (const piece of first) yield* masked(mask, piece)
      for await (const piece of pieces) {
        yield* masked(mask, piece)
        spent.giveBack(piece)
      }
      const rest = mask?.end()
      if (rest !== undefined && rest.length > 0) yield rest
    } finally {
      watch.end()
    }
  }
  return { contentType, pieces: whole(), close: watch.end }
}

/** A piece without the key. A possible beginning of the key comes with the next piece. */
function* masked(mask: KeyMask | undefined, piece: Buffer): Generator<Buffer> {
  const part = mask === undefined ? piece : mask.push(piece)
  if (part.length > 0) yield part
}

type SpentMemory = { giveBack(piece: Buffer): void; close(): void }

/**
 * Frees the memory of pieces that were read. It would stay until the next collection, and V8 lets 64 MiB of it pile up
 * before that. A buffer that is transferred into a port whose other end is closed has no receiver and is freed (HTML,
 * section 9.4.4).
 */
function openSpentMemory(): SpentMemory {
  const { port1: entry, port2: exit } = new MessageChannel()
  exit.close()
  return {
    giveBack({ buffer, length }) {
      // The buffer may hold more than the piece.
      if (buffer instanceof ArrayBuffer && buffer.byteLength === length) entry.postMessage(null, [buffer])
    },
    close: () => entry.close(),
  }
}

function checkStatus(status: number): void {
  if (status === 200) return
  if (status >= 300 && status < 400) throw new FileFault('redirected')
  if (status === 408 || status === 425 || status === 429 || status >= 500) throw new FileFault('unavailable')
  throw new FileFault('missing')
}

/** The declared length of an answer; undefined for one in chunks. One that ends with its connection may be cut. */
function readLength(headers: Dispatcher.ResponseData['headers']): number | undefined {
  const { 'content-length': length, 'transfer-encoding': transfer, 'content-encoding': encoding } = headers
  if (encoding !== undefined && encoding !== 'identity') throw new FileFault('encoded')
  if (typeof length === 'string' && /^\d{1,15}$/.test(length)) return Number(length)
  if (transfer === undefined) throw new FileFault('endless')
  return undefined
}

async function* readPieces(
  next: () => Promise<IteratorResult<Buffer>>,
  declared: number | undefined,
  { limits, watch }: Taking,
): AsyncGenerator<Buffer, void> {
  let bytes = 0
  try {
    for (;;) {
      const { done, value } = await next()
      if (done === true) break
      bytes += value.length
      if (bytes > limits.maxBytes) throw new FileFault('too_large')
      yield value
    }
  } catch (error) {
    throw watch.faultOf(error, 'cut')
  }
  if (declared !== undefined && declared !== bytes) throw new FileFault('cut')
}
