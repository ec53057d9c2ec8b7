import { SECOND } from './clock.ts'
import { AppError } from './errors.ts'

/** Limits of every server's connections, under Node's own names. A missing Host is refused by our own rules. */
export const CONNECTION_LIMITS = {
  maxHeaderSize: 16_384,
  headersTimeout: 10 * SECOND,
  /** Milliseconds between two checks by Node for connections past their limits. */
  connectionsCheckingInterval: SECOND,
  requireHostHeader: false,
}
export const KEEP_ALIVE_MS = 65 * SECOND

/** Node gives names and values one after another, so a hundred header lines are two hundred entries. */
const MAX_RAW_HEADERS = 200
const MAX_URL_CHARS = 8_192
const MAX_HOST_CHARS = 255
/** A name or IPv4 address, or an IPv6 address in brackets, and a port (RFC 9110, section 7.2). Names may have a `_`. */
const HOST = /^(?:\w(?:[\w-]|\.(?=\w))*\.?|\[[\da-f:.]{2,45}\])(?::(\d{1,5}))?$/i
const MAX_PORT = 65_535

/** Headers that may be given only once, because two parsers could take two different values. */
const SINGLE: ReadonlySet<string> = new Set([
  'host',
  'authorization',
  'x-api-key',
  'content-type',
  'content-length',
  'content-encoding',
  'idempotency-key',
])
const isSingleLength = Uint8Array.from({ length: 32 }, (_, length) =>
  [...SINGLE].some((name) => name.length === length) ? 1 : 0,
)

/** The head of a request in Node's form. */
type Head = {
  readonly rawHeaders: readonly string[]
  readonly headers: { readonly host?: string | undefined }
  readonly url?: string | undefined
}

/** A fault, and the status of its answer if other than the error's own. */
export type HeadFault = { readonly error: AppError; readonly status?: number }

/**
 * Makes the check of a server for faults that any request may have: too many header lines, a long or strange target,
 * and ambiguous headers. It remembers the last valid Host, because most requests of a server name the same.
 */
export function createHeadCheck(): (head: Head) => HeadFault | undefined {
  let validHost = ''
  return ({ rawHeaders, headers, url = '/' }) => {
    if (rawHeaders.length > MAX_RAW_HEADERS) {
      return { error: new AppError('request_too_large', { message: 'Too many header lines.' }), status: 431 }
    }
    if (url.length > MAX_URL_CHARS) return invalid(`The request target has at most ${MAX_URL_CHARS} characters.`)
    if (!url.startsWith('/') || url.includes('#')) return invalid('The request target must be a path.')
    const repeated = repeatedHeader(rawHeaders)
    if (repeated !== undefined) return invalid(`Send ${repeated} once.`)
    const { host } = headers
    if (host === undefined || host === '' || (host !== validHost && !isHost(host))) {
      return invalid('Host must be the name or address of a host, with or without a port.')
    }
    validHost = host
    return undefined
  }
}

function repeatedHeader(rawHeaders: readonly string[]): string | undefined {
  let last = ' '
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const raw = rawHeaders[at] ?? ''
    if (isSingleLength[raw.length] !== 1) continue
    const name = raw.toLowerCase()
    if (!SINGLE.has(name)) continue
    if (last.includes(` ${name} `)) return name
    last += `${name} `
  }
  return undefined
}

function isHost(host: string): boolean {
  const match = host.length <= MAX_HOST_CHARS ? HOST.exec(host) : null
  return match !== null && Number(match[1] ?? 0) <= MAX_PORT
}

function invalid(message: string): HeadFault {
  return { error: new AppError('invalid_request', { message }) }
}
