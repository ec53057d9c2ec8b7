import type { LookupAddress, LookupAllOptions } from 'node:dns'
import { lookup as resolveName } from 'node:dns'
import type { IncomingHttpHeaders } from 'node:http'
import type { LookupFunction, Socket } from 'node:net'
import { Readable } from 'node:stream'
import type { Dispatcher } from 'undici'
import { Agent, buildConnector } from 'undici'
import type { AnswerHead, Offer, PassedOn, UpstreamRequest } from '#data-plane/call.ts'
import type { HostList } from '#shared/catalog/provider-hosts.ts'
import type { Clock } from '#shared/clock.ts'
import type { OutboundPolicy } from '#shared/outbound-guard.ts'
import { checkOutboundUrl, isDialable } from '#shared/outbound-guard.ts'
import { secretsOf } from '#shared/protocols/credential.ts'
import { protocolOf } from '#shared/protocols/index.ts'
import type { OutgoingRequest } from '#shared/protocols/protocol.ts'
import { readProviderWait } from '#shared/retry-after.ts'
import { MAX_RETRY_AFTER_MS } from './classify.ts'
import type { OpenCredential } from './credentials.ts'
import type { KeyMask } from './key-mask.ts'
import { createKeyMask, isCompressed, maskedText } from './key-mask.ts'
import type { KeyPattern, KeyPatterns } from './key-pattern.ts'
import { holdsKey } from './key-traces.ts'
import type { CarriedDispatch, PooledClient } from './pooled-client.ts'
import { createPool } from './pooled-client.ts'

const CONNECT_TIMEOUT_MS = 2_000
const KEEP_ALIVE_MS = 60_000
const MAX_CONNECTIONS_AN_ORIGIN = 4_096
/** The largest answer that is kept until its end. */
export const MAX_RESPONSE_BYTES = 67_108_864
/** An answer that passes through may be longer, because nothing of it is kept. */
const MAX_PASSED_ON_BYTES = 268_435_456
const MAX_HEADER_BYTES = 32_768
/**
 * An idle connection that its provider closes as a request leaves breaks within a round trip. Milliseconds for the
 * longest one. A provider that breaks off later may have begun the work.
 */
const STALE_CLOSE_MS = 1_000
export const USER_AGENT = 'inference-marketplace/3.1'
/** The code of the error for a name that leads to an address that may not be dialled. */
export const FORBIDDEN_ADDRESS = 'EADDRREFUSED'

/** The head of a provider's answer, and the pause that it asked for. */
export type UpstreamHead = AnswerHead & { readonly retryAfterMs: number | undefined }

/** The events of a request under way. After `onEnd` or `onError` no other is called. */
export type UpstreamEvents = {
  /** A connection is ready, and the request is about to be written. Comes a second time after `onResend`. */
  onConnected?(): void
  /** The provider had closed the idle connection of the request, which is sent once more on a new connection. */
  onResend?(): void
  onHead(head: UpstreamHead): void
  onData(chunk: Buffer): void
  onEnd(): void
  /** `isSent` is false when it is certain that no byte of the request was sent. */
  onError(error: Error, isSent: boolean): void
}

/** Controls a request under way. */
export type UpstreamFlow = { abort(): void; pause(): void; resume(): void }

export type UpstreamOptions = {
  /** Milliseconds until the head. */
  readonly firstByteMs: number
  /**
   * True for a request without effects at the provider beside its answer, such as one that another provider may get
   * after this one. It is sent once more when its connection was closed as it left. Never true for a job.
   */
  readonly mayResend?: boolean
}

/** The address of a request, and the sealed key that goes with it. */
export type Destination = Pick<Offer, 'baseUrl' | 'credential' | 'apiFormat'>

export type Upstream = {
  /**
   * Sends a request to an offer's provider. Every failure, including our own, goes to `events.onError`, never to a
   * throw.
   */
  send(to: Destination, request: UpstreamRequest, options: UpstreamOptions, events: UpstreamEvents): UpstreamFlow
  /**
   * True when a text holds the key of this destination, whole or in part, in any encoding. Also true when the key does
   * not open.
   */
  holdsKey(to: Destination, text: string): boolean
  close(): Promise<void>
}

type Parts = {
  readonly policy: OutboundPolicy
  readonly openCredential: OpenCredential
  readonly patterns: KeyPatterns
  readonly clock: Clock
  /** Hosts of the provider allow-list in the current snapshot. */
  readonly allowedHosts: () => HostList
}

/**
 * The client for sellers' hosts. A request's headers are built anew and copy none of the buyer's. The host must be on
 * the allow-list and must be the one for which the credential was sealed. The address is checked when it is dialled. No
 * redirect is followed. A successful answer passes on without the credential.
 */
export function createUpstream({ policy, openCredential, patterns, clock, allowedHosts }: Parts): Upstream {
  const agent = createAgent(policy, { maxResponseSize: MAX_RESPONSE_BYTES, pipelining: 1 })
  const passingAgent = createAgent(policy, { maxResponseSize: MAX_PASSED_ON_BYTES, pipelining: 1 })
  // A client without pipelining opens a connection for each request.
  const freshAgent = createAgent(policy, { maxResponseSize: MAX_RESPONSE_BYTES, pipelining: 0 })
  const findAddress = addressBook(policy, allowedHosts)
  return {
    send(offer, request, options, events) {
      const sending: Sending = {
        events,
        clock,
        controller: undefined,
        isOver: false,
        pattern: undefined,
        mask: undefined,
        opening: NOTHING,
        isPassedOn: request.passedOn !== undefined,
        carrier: undefined,
        socket: undefined,
        readBefore: 0,
        writtenAt: 0,
        resend: undefined,
      }
      try {
        const key = openCredential(offer.credential)
        const { passedOn } = request
        sending.pattern = patterns.of(key, offer)
        const address = passedOn === undefined ? findAddress(offer) : targetOf(passedOn, offer, policy)
        const { origin } = address
        const path = address.path + request.path
        const method = request.method ?? 'POST'
        const at = clock.now()
        const client = passedOn === undefined ? agent : passingAgent
        const dispatch: CarriedDispatch = {
          origin,
          path,
          method,
          headers: headersOf(offer, request, key.reveal(), { method, host: address.host, path, at }),
          body: bodyOf(request),
          headersTimeout: options.firstByteMs,
          carried: sending,
        }
        // A forwarded request may act at its provider, and its body may be a stream.
        if (options.mayResend === true && passedOn === undefined) {
          sending.resend = () => freshAgent.dispatch({ ...dispatch, body: bodyOf(request) }, createHandler(sending))
        }
        client.dispatch(dispatch, createHandler(sending))
      } catch (thrown) {
        queueMicrotask(() => failSending(sending, thrown instanceof Error ? thrown : new Error('dispatch failed')))
      }
      return {
        abort() {
          abortSending(sending)
        },
        pause() {
          sending.controller?.pause()
        },
        resume() {
          sending.controller?.resume()
        },
      }
    },
    holdsKey(to, text) {
      try {
        return secretsOf(to, openCredential(to.credential).reveal()).some((secret) => holdsKey(text, secret))
      } catch {
        return true
      }
    },
    async close() {
      await agent.destroy()
      await passingAgent.destroy()
      await freshAgent.destroy()
    },
  }
}

type Address = { readonly origin: string; readonly host: string; readonly path: string }

/** Checks the address of a forwarded request. A lent key goes only to the hosts of its record. */
function targetOf(
  { url: text, hosts, sealedFor }: PassedOn,
  { credential }: Destination,
  policy: OutboundPolicy,
): Address {
  const url = checkOutboundUrl(text, hosts, policy)
  if (url === undefined) throw new Error('the target is not allowed')
  if (credential.host !== sealedFor) throw new Error('the credential belongs to another record')
  return { origin: url.origin, host: url.host, path: url.pathname + url.search }
}

function createAgent(policy: OutboundPolicy, limits: Pick<Agent.Options, 'maxResponseSize' | 'pipelining'>): Agent {
  return new Agent({
    factory: (origin, options) =>
      createPool(origin, options, buildConnector({ timeout: CONNECT_TIMEOUT_MS, lookup: guardedLookup(policy) })),
    connections: MAX_CONNECTIONS_AN_ORIGIN,
    keepAliveTimeout: KEEP_ALIVE_MS,
    // The relay watches the time between chunks, because it can tell content from comments.
    bodyTimeout: 0,
    maxHeaderSize: MAX_HEADER_BYTES,
    ...limits,
  })
}

/** The bytes of a request in their present form. */
function bodyOf({ body, pieces, passedOn }: UpstreamRequest) {
  if (passedOn?.stream !== undefined) return Readable.from(readLate(passedOn.stream), { objectMode: false })
  if (pieces === undefined) return body
  // A single piece leaves together with the head, and needs no stream.
  const only: Buffer | undefined = Array.isArray(pieces) && pieces.length === 1 ? pieces[0] : undefined
  return only ?? Readable.from(pieces, { objectMode: false })
}

/**
 * Leaves a stream unread until the client writes. So it is still whole for the next provider when the first cannot be
 * reached.
 */
async function* readLate(stream: Readable): AsyncGenerator<Buffer> {
  for await (const chunk of stream) yield chunk
}

/**
 * Lists names and values one after another. A seller gets no other headers. Each protocol carries its key in its own
 * way.
 */
function headersOf(
  to: Destination,
  request: UpstreamRequest,
  key: string,
  { method, host, path, at }: Omit<OutgoingRequest, 'body'>,
): string[] {
  const { contentType, accept, passedOn, pieces, headers: further = [] } = request
  const headers = contentType === '' ? ['accept', accept] : ['content-type', contentType, 'accept', accept]
  headers.push('accept-encoding', 'identity', 'user-agent', USER_AGENT, ...further)
  if (passedOn === undefined) {
    protocolOf(to).authorize(headers, key, { method, host, path, at, body: pieces ?? request.body })
  } else headers.push(...passedOn.headers, passedOn.credential.header, passedOn.credential.prefix + key)
  const length = pieces === undefined ? passedOn?.length : (request.piecesBytes ?? lengthOf(pieces))
  if (length !== undefined) headers.push('content-length', String(length))
  return headers
}

function lengthOf(pieces: Iterable<Buffer>): number {
  let bytes = 0
  for (const { length } of pieces) bytes += length
  return bytes
}

/** The state of a request under way for the client's callbacks. */
type Sending = {
  readonly events: UpstreamEvents
  readonly clock: Clock
  /** True for an answer whose headers may go on to the buyer. */
  readonly isPassedOn: boolean
  controller: Dispatcher.DispatchController | undefined
  isOver: boolean
  /** Finds the key of the request. Undefined for a key that is too short. */
  pattern: KeyPattern | undefined
  /** Removes the key from an answer. Undefined for a refusal, whose text is searched when it is read. */
  mask: KeyMask | undefined
  /** The first bytes of the answer, until they show whether it is compressed. Undefined after that. */
  opening: Buffer | undefined
  carrier: PooledClient | undefined
  /** The connection of the request, and the bytes that it had brought before. Unset for one that is never resent. */
  socket: Socket | undefined
  readBefore: number
  /** Monotonic milliseconds. */
  writtenAt: number
  /** Sends the request on a new connection. Undefined when that may not happen, and once it has happened. */
  resend: (() => void) | undefined
}

const NOTHING = Buffer.alloc(0)

function failSending(sending: Sending, error: Error): void {
  if (sending.isOver) return
  sending.isOver = true
  // The client hands over its controller when it has a connection and is about to write.
  sending.events.onError(error, sending.controller !== undefined)
}

/** Notes how many bytes (decrypted ones) the connection of a request has brought before the request is written. */
function noteConnection(sending: Sending): void {
  const { carrier, clock } = sending
  sending.socket = carrier?.socket
  sending.readBefore = carrier?.socket?.bytesRead ?? 0
  sending.writtenAt = clock.monotonic()
}

/** The codes of a connection that the other side closed. */
const CLOSED: ReadonlySet<unknown> = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET'])

/**
 * True for a connection that brought answers before, none of whose bytes belongs to this request, and that broke at
 * once. The provider has closed it for its idleness and has very probably not read the request.
 */
function wasStale({ socket, readBefore, writtenAt, clock }: Sending, error: Error): boolean {
  if (socket === undefined || readBefore === 0 || socket.bytesRead !== readBefore) return false
  return 'code' in error && CLOSED.has(error.code) && clock.monotonic() - writtenAt <= STALE_CLOSE_MS
}

function takeError(sending: Sending, error: Error): void {
  const { resend } = sending
  if (resend === undefined || !wasStale(sending, error)) {
    failSending(sending, error)
    return
  }
  sending.resend = undefined
  sending.events.onResend?.()
  resend()
}

function abortSending(sending: Sending): void {
  sending.isOver = true
  sending.controller?.abort(new Error('aborted'))
}

function takeHead(sending: Sending, status: number, headers: IncomingHttpHeaders): void {
  if (sending.isOver || status < 200) return
  const encoding = headers['content-encoding']
  if (encoding !== undefined && encoding !== 'identity') {
    refuseEncoded(sending)
    return
  }
  const { pattern } = sending
  if (pattern !== undefined && isGood(status)) sending.mask = createKeyMask(pattern)
  const shownHeaders = sending.isPassedOn && pattern !== undefined ? withoutKey(pattern, headers) : headers
  sending.events.onHead({
    status,
    contentType: (shownHeaders['content-type'] ?? '').toLowerCase(),
    headers: shownHeaders,
    retryAfterMs: readProviderWait(status, headers, { now: sending.clock.now(), mostMs: MAX_RETRY_AFTER_MS }),
  })
}

function refuseEncoded(sending: Sending): void {
  failSending(sending, Object.assign(new Error('an encoded answer'), { code: 'RESPONSE_EXCEEDED' }))
  abortSending(sending)
}

function isGood(status: number): boolean {
  return status >= 200 && status < 300
}

function withoutKey(pattern: KeyPattern, headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const shownHeaders: IncomingHttpHeaders = {}
  for (const [name, value] of Object.entries(headers)) {
    shownHeaders[name] =
      typeof value === 'string' ? maskedText(pattern, value) : value?.map((each) => maskedText(pattern, each))
  }
  return shownHeaders
}

/** Passes bytes of an answer on without the key. Compressed ones cannot be searched, so they are refused. */
function takeData(sending: Sending, chunk: Buffer): void {
  const { mask, opening } = sending
  if (mask === undefined) {
    sending.events.onData(chunk)
    return
  }
  let bytes = chunk
  if (opening !== undefined) {
    bytes = opening.length === 0 ? chunk : Buffer.concat([opening, chunk])
    const verdict = isCompressed(bytes)
    sending.opening = verdict === undefined ? Buffer.from(bytes) : undefined
    if (verdict === true) refuseEncoded(sending)
    if (verdict !== false) return
  }
  const part = mask.push(bytes)
  if (part.length > 0) sending.events.onData(part)
}

/** Passes on the bytes that waited for more of the answer. */
function takeRest({ mask, opening, events }: Sending): void {
  if (mask === undefined) return
  const rest = Buffer.concat([mask.push(opening ?? NOTHING), mask.end()])
  if (rest.length > 0) events.onData(rest)
}

/** Translates the client's callbacks into events. After an end, an error or an abort it passes nothing on. */
function createHandler(sending: Sending): Dispatcher.DispatchHandler {
  return {
    onRequestStart(controller) {
      sending.controller = controller
      if (sending.isOver) {
        controller.abort(new Error('aborted'))
        return
      }
      if (sending.resend !== undefined) noteConnection(sending)
      sending.events.onConnected?.()
    },
    onResponseStart(_controller, status, headers) {
      takeHead(sending, status, headers)
    },
    onResponseData(_controller, chunk) {
      if (!sending.isOver) takeData(sending, chunk)
    },
    onResponseEnd() {
      if (sending.isOver) return
      takeRest(sending)
      if (sending.isOver) return
      sending.isOver = true
      sending.events.onEnd()
    },
    onResponseError(_controller, error) {
      takeError(sending, error)
    },
  }
}

/** Checks the base URLs of offers once for each URL and each state of the allow-list. */
function addressBook(policy: OutboundPolicy, allowedHosts: () => HostList) {
  let hosts: HostList | undefined
  let addresses = new Map<string, Address>()
  return (offer: Destination): Address => {
    if (hosts !== allowedHosts()) {
      hosts = allowedHosts()
      addresses = new Map()
    }
    let address = addresses.get(offer.baseUrl)
    if (address === undefined) {
      const url = checkOutboundUrl(offer.baseUrl, allowedHosts(), policy)
      if (url === undefined) throw new Error('the base URL is not allowed')
      address = { origin: url.origin, host: url.host, path: url.pathname.replace(/\/+$/, '') }
      addresses.set(offer.baseUrl, address)
    }
    // A stored key is never sent to another host than the one that it was stored for.
    if (offer.credential.host !== address.host) throw new Error('the credential belongs to another host')
    return address
  }
}

/** Finds all addresses of a name. */
type ResolveName = (
  hostname: string,
  options: LookupAllOptions,
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void

/**
 * Resolves a name only when every address of it may be dialled. The connection uses the checked address, so a later
 * change of the name has no effect. Literal addresses are checked with the URL and never come here.
 */
export function guardedLookup(policy: OutboundPolicy, resolve: ResolveName = resolveName): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname, { ...options, all: true }, (error, addresses) => {
      if (error) return callback(error, '', 4)
      const first = addresses[0]
      if (first === undefined || addresses.some(({ address }) => !isDialable(address, policy))) {
        return callback(Object.assign(new Error('the address is not allowed'), { code: FORBIDDEN_ADDRESS }), '', 4)
      }
      if (options.all) return callback(null, addresses)
      return callback(null, first.address, first.family)
    })
  }
}
