/**
 * Headers that no record may name, in either direction: those of the connection, those that identify the caller or the
 * server, those that change the meaning of a call, and our own.
 */
const NEVER = new Set([
  'authorization',
  'proxy-authorization',
  'x-api-key',
  'cookie',
  'set-cookie',
  'host',
  'origin',
  'referer',
  'connection',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'expect',
  'proxy-authenticate',
  'content-length',
  'content-encoding',
  'idempotency-key',
  'location',
  'www-authenticate',
  'server',
  'via',
  'forwarded',
  'x-real-ip',
  'x-request-id',
  'x-generation-id',
  'request-id',
  'x-target-url',
  'x-payment',
  'payment-signature',
  'payment-required',
  'payment-response',
  'payment-receipt',
  'alt-svc',
  'refresh',
  'link',
  'x-http-method',
  'x-http-method-override',
  'x-method-override',
  'x-original-url',
  'x-rewrite-url',
])
const NEVER_BEGIN = [
  'x-mkt-',
  'x-forwarded-',
  'x-payment-',
  'payment-',
  'access-control-',
  'proxy-',
  'sec-',
  'x-ratelimit-',
]

/** True when a record may let this header pass. The name is in lower case. */
export function isForwardableHeader(name: string): boolean {
  return !NEVER.has(name) && !NEVER_BEGIN.some((start) => name.startsWith(start))
}
