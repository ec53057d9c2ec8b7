import { gzipSync } from 'node:zlib'
import type { Answer } from './answer.ts'
import { answerPlainly, errorBody, sendCompletion } from './answer.ts'
import { wholeBody } from './completion.ts'

/** Longer than any caller should wait, in milliseconds. */
const FOREVER_MS = 3_600_000
const BOMB_MEMBERS = 1_024
const BOMB_MEMBER_BYTES = 1_048_576
const EARLY_HINTS = 1_000
const JSON_DEPTH = 100_000
const ID_CHARS = 1_048_576

/** Sends an error with a status of its own, whole or in a stream. */
export function answerError(
  status: number,
  error: readonly [message: string, type: string, code: string | null],
  headers: Readonly<Record<string, string>> = {},
): Answer {
  return async ({ reply }) => reply.json(status, errorBody(...error), headers)
}

/** Sends a body in the form of another provider, with a status of its own. */
export function answerBody(status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Answer {
  return async ({ reply }) => {
    reply.headers(status, { 'content-type': 'application/json', ...headers })
    reply.end(JSON.stringify(body))
  }
}

/** Answers 429 to a request of more than a few words, like an account with a small limit of tokens per minute. */
export const answerTooLarge: Answer = async (call) => {
  const tokens = Math.ceil(Buffer.byteLength(call.request.prompt) / 4)
  if (tokens <= SMALL_LIMIT_TOKENS) return answerPlainly(call)
  const limits = `Limit ${SMALL_LIMIT_TOKENS}, Requested ${tokens}`
  const message = `Request too large for ${call.request.model} on tokens per min (TPM): ${limits}.`
  call.reply.json(429, errorBody(message, 'tokens', 'rate_limit_exceeded'))
}

const SMALL_LIMIT_TOKENS = 256

/** Accepts the request and never answers. */
export const answerNever: Answer = ({ reply }) => reply.wait(FOREVER_MS)

export const answerHtml: Answer = async ({ reply }) => {
  reply.headers(200, { 'content-type': 'text/html; charset=utf-8' })
  reply.end('<!doctype html><html><head><title>Welcome</title></head><body><h1>It works</h1></body></html>')
}

export const answerRedirect: Answer = async ({ reply }) => {
  reply.headers(302, { location: 'http://127.0.0.1:1/v1/chat/completions' })
  reply.end()
}

/** A successful answer with headers that must not reach a buyer. */
export const answerHostileHeaders: Answer = async (call) => {
  call.reply.headersFirst({
    'set-cookie': ['session=stolen; Path=/', '__Host-session=stolen; Path=/; Secure'],
    location: 'http://127.0.0.1:1/',
    'www-authenticate': 'Basic realm="sandbox"',
    'access-control-allow-origin': 'http://attacker.invalid',
    'access-control-allow-credentials': 'true',
    'x-mkt-buyer-cost-micro': '0',
    'x-mkt-request-id': 'not-yours',
    'payment-response': 'e30=',
    'payment-required': 'e30=',
    'strict-transport-security': 'max-age=31536000',
    'content-security-policy': "default-src 'none'",
    'cache-control': 'public, max-age=31536000',
    'retry-after': '600',
    server: 'sandbox',
  })
  await answerPlainly(call)
}

/** About 1 GB of blanks inside a valid document, in 1 MB of gzip. */
export const answerGzipBomb: Answer = async ({ completion, reply }) => {
  reply.headers(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' })
  const blanks = gzipSync(Buffer.alloc(BOMB_MEMBER_BYTES, 0x20))
  for (let member = 0; member < BOMB_MEMBERS; member += 1) await reply.write(blanks)
  reply.end(gzipSync(JSON.stringify(wholeBody(completion))))
}

/** Success without a body. */
export const answerNoContent: Answer = async ({ reply }) => {
  reply.headers(204, {})
  reply.end()
}

/** Sends a thousand informational answers before the real one. */
export const answerEarlyHints: Answer = async (call) => {
  for (let hint = 0; hint < EARLY_HINTS; hint += 1) call.reply.earlyHints('</style.css>; rel=preload; as=style')
  await answerPlainly(call)
}

/** A document nested too deep for a recursive parser, with keys that change the prototype of careless objects. */
export const answerDeepJson: Answer = async ({ reply, request }) => {
  const deep = `{"__proto__":{"polluted":true},"choices":${'['.repeat(JSON_DEPTH)}${']'.repeat(JSON_DEPTH)}}`
  if (!request.isStream) {
    reply.headers(200, { 'content-type': 'application/json' })
    return reply.end(deep)
  }
  reply.openStream()
  await reply.event(deep)
  reply.end('data: [DONE]\n\n')
}

/** An id of a megabyte. */
export const answerHugeId: Answer = (call) =>
  sendCompletion(call, { ...call.completion, id: `chatcmpl-${'x'.repeat(ID_CHARS)}` })

/** Announces a longer body than it sends. */
export const answerLengthLie: Answer = async ({ completion, reply }) => {
  const text = JSON.stringify(wholeBody(completion))
  reply.headers(200, { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(text) + 100) })
  await reply.write(text)
  await reply.flush()
  await reply.wait(20)
  reply.cut()
}
