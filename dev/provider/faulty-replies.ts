import { gzipSync } from 'node:zlib'
import type { Answer } from './answer.ts'
import { answerPlainly, errorBody } from './answer.ts'
import { wholeBody } from './completion.ts'

/** Past any wait that a caller should have. */
const FOREVER_MS = 3_600_000
const BOMB_MEMBERS = 1_024
const BOMB_MEMBER_BYTES = 1_048_576

/** An error with a status of its own, whole or streamed. */
export function answerError(
  status: number,
  error: readonly [message: string, type: string, code: string | null],
  headers: Readonly<Record<string, string>> = {},
): Answer {
  return async ({ reply }) => reply.json(status, errorBody(...error), headers)
}

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

/** A good answer under headers that must not reach a buyer. */
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
