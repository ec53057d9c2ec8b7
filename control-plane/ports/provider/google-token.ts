import { sign } from 'node:crypto'
import { Agent, request } from 'undici'
import { z } from 'zod'
import { guardedLookup } from '#control-plane/ports/outbound/guarded-lookup.ts'
import type { Clock } from '#shared/clock.ts'
import { HOUR, MINUTE, SECOND } from '#shared/clock.ts'
import { describeCause } from '#shared/errors.ts'
import type { OutboundPolicy } from '#shared/outbound-guard.ts'
import { isLoopbackHost } from '#shared/outbound-guard.ts'
import { parseJson } from '#shared/parse-json.ts'
import { madeToken } from '#shared/protocols/google-credential.ts'
import type { ServiceAccount } from '#shared/protocols/service-account.ts'
import { Secret } from '#shared/secret.ts'
import type { MakeToken, TokenAnswer, TokenQuestion } from './make-token.ts'

/** The address of access tokens, the same for all. An account's own member for it is not read. */
const TOKEN_URL = 'https://oauth2.googleapis.com/token'
const SCOPE = 'https://www.googleapis.com/auth/cloud-platform'
const GRANT = 'urn:ietf:params:oauth:grant-type:jwt-bearer'

/** Time limits of the connection, of each part of an answer, and of the whole request. */
const CONNECT_TIMEOUT_MS = 2 * SECOND
const PART_TIMEOUT_MS = 5 * SECOND
const TOTAL_TIMEOUT_MS = 10 * SECOND
const MAX_ANSWER_BYTES = 64 * 1_024
const MAX_HEADER_BYTES = 16 * 1_024
const MAX_SOCKETS = 4
/** An assertion lives for an hour at most, and is dated a moment back: the other clock may be a little slow. */
const ASSERTION_MS = HOUR
const BACKDATED_MS = MINUTE
/** With a larger difference of the clocks, the request is repeated once by the date of the refusal. */
const MAX_SKEW_MS = 30 * SECOND

const Token = z.object({
  access_token: z
    .string()
    .min(8)
    .max(2_048)
    .regex(/^[\x21-\x7e]+$/),
  expires_in: z.number().int().min(1).max(43_200),
  token_type: z.string().regex(/^bearer$/i),
})
/** The code of a refusal. Its description may repeat parts of the request. */
const Refusal = z.object({ error: z.string().regex(/^[a-z_]{1,40}$/) })

/** Requests access tokens for service accounts from Google, over connections of its own. */
export function createGoogleTokens(
  policy: OutboundPolicy,
  clock: Clock,
): { readonly makeToken: MakeToken; close(): Promise<void> } {
  const agent = new Agent({
    connect: { timeout: CONNECT_TIMEOUT_MS, lookup: guardedLookup(policy) },
    connections: MAX_SOCKETS,
    headersTimeout: PART_TIMEOUT_MS,
    bodyTimeout: PART_TIMEOUT_MS,
    maxResponseSize: MAX_ANSWER_BYTES,
    maxHeaderSize: MAX_HEADER_BYTES,
  })
  return { makeToken: (question) => makeToken(agent, policy, clock, question), close: () => agent.close() }
}

async function makeToken(
  agent: Agent,
  policy: OutboundPolicy,
  clock: Clock,
  { account, baseUrl }: TokenQuestion,
): Promise<TokenAnswer> {
  const url = tokenUrl(baseUrl, policy)
  const signal = AbortSignal.timeout(TOTAL_TIMEOUT_MS)
  try {
    const first = await ask(agent, signal, url, assertionOf(account, clock.now()))
    const other = first.status === 400 ? skewedDate(first.date, clock.now()) : undefined
    const answer = other === undefined ? first : await ask(agent, signal, url, assertionOf(account, other))
    return read(answer)
  } catch (error) {
    const cause = describeCause(error)
    return failed(null, `could not be reached (${cause?.code ?? cause?.name ?? 'error'})`)
  }
}

/** Google's address. In development a provider on this machine makes its tokens itself. */
export function tokenUrl({ hostname, origin }: URL, { allowsLoopback }: OutboundPolicy): string {
  return allowsLoopback && isLoopbackHost(hostname) ? `${origin}/token` : TOKEN_URL
}

type Answer = { readonly status: number; readonly text: string; readonly date: number }

async function ask(agent: Agent, signal: AbortSignal, url: string, assertion: string): Promise<Answer> {
  const headers = ['accept', 'application/json', 'content-type', 'application/x-www-form-urlencoded']
  const body = new URLSearchParams({ grant_type: GRANT, assertion }).toString()
  const answer = await request(url, { dispatcher: agent, signal, method: 'POST', headers, body })
  const date = Date.parse(String(answer.headers['date'] ?? ''))
  return { status: answer.statusCode, text: await answer.body.text(), date }
}

/** The time of the other side, when it differs so much that it may be the cause of a refusal. */
function skewedDate(date: number, now: number): number | undefined {
  return Math.abs(date - now) > MAX_SKEW_MS ? date : undefined
}

/** A signed statement of the account, valid for the token address alone. */
function assertionOf({ client_email: iss, private_key, private_key_id: kid }: ServiceAccount, at: number): string {
  const iat = Math.floor((at - BACKDATED_MS) / SECOND)
  const claims = { iss, scope: SCOPE, aud: TOKEN_URL, iat, exp: iat + ASSERTION_MS / SECOND }
  const head = { alg: 'RS256', typ: 'JWT', ...(kid !== undefined && { kid }) }
  const signed = [head, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')
  return `${signed}.${sign('sha256', Buffer.from(signed), private_key).toString('base64url')}`
}

function read({ status, text }: Answer): TokenAnswer {
  const json = parseJson(text)
  if (status !== 200) {
    const code = Refusal.safeParse(json).data?.error
    return failed(status, `answered ${status}${code === undefined ? '' : ` (${code})`}`)
  }
  const token = Token.safeParse(json).data
  if (token === undefined) return failed(status, 'gave no token')
  return { isMade: true, token: new Secret(madeToken(token.access_token)), lifeMs: token.expires_in * SECOND }
}

function failed(status: number | null, words: string): TokenAnswer {
  return { isMade: false, status, reason: `no access token could be made: the address of tokens ${words}` }
}
