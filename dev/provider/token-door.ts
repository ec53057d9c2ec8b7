import { createHash, verify } from 'node:crypto'
import { z } from 'zod'
import type { Reply } from './reply.ts'

const GRANT = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
/** The largest deviation of an assertion's time, and its longest life, in seconds. */
const MAX_SKEW_SECONDS = 300
const MAX_LIFE_SECONDS = 3_600
const LIFE_SECONDS = 3_599
const NOT_TIMELY = 'Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe.'

const GrantRequest = z.object({ grant_type: z.literal(GRANT), assertion: z.string() })
const Head = z.strictObject({ alg: z.literal('RS256'), typ: z.literal('JWT'), kid: z.string().optional() })
const Claims = z.strictObject({
  iss: z.email(),
  scope: z.literal('https://www.googleapis.com/auth/cloud-platform'),
  aud: z.literal('https://oauth2.googleapis.com/token'),
  iat: z.number().int(),
  exp: z.number().int(),
})

/** The state of the token endpoint, which the admin port sets. */
export type TokenDoor = {
  /** The public keys of the accounts, by their addresses. The assertion of an account without a key is not verified. */
  readonly keys: Map<string, string>

  made: number
  lifeSeconds: number
  /** Seconds by which the clock of the endpoint is ahead. */
  aheadSeconds: number
  /** The answer in place of a token: nonsense, a refusal, or none. */
  answer: 'token' | 'nonsense' | 'refusal' | 'never'
}

export function createTokenDoor(): TokenDoor {
  return { keys: new Map(), made: 0, lifeSeconds: LIFE_SECONDS, aheadSeconds: 0, answer: 'token' }
}

const DoorSettings = z.strictObject({
  life_seconds: z.number().int().optional(),
  ahead_seconds: z.number().int().optional(),
  answer: z.enum(['token', 'nonsense', 'refusal', 'never']).optional(),
  /** A public key for an account. */
  key: z.strictObject({ account: z.string(), pem: z.string() }).optional(),
})

/** Changes the endpoint, for the admin port. */
export function setTokenDoor(door: TokenDoor, body: unknown): readonly [status: number, body: unknown] {
  const parsed = DoorSettings.safeParse(body)
  if (!parsed.success) return [400, { error: 'expected { life_seconds?, ahead_seconds?, answer?, key? }' }]
  const { life_seconds: life, ahead_seconds: ahead, answer, key } = parsed.data
  if (life !== undefined) door.lifeSeconds = life
  if (ahead !== undefined) door.aheadSeconds = ahead
  if (answer !== undefined) door.answer = answer
  if (key !== undefined) door.keys.set(key.account, key.pem)
  return [200, { ok: true, made: door.made }]
}

/** Responds to a request for a token, like Google. */
export function serveToken(door: TokenDoor, body: Buffer, reply: Reply): void {
  if (door.answer === 'never') return
  const now = Math.floor(Date.now() / 1_000) + door.aheadSeconds
  reply.json(...answerOf(door, body, now), { date: new Date(now * 1_000).toUTCString() })
}

function answerOf(door: TokenDoor, body: Buffer, now: number): readonly [status: number, body: object] {
  if (door.answer === 'nonsense') return [200, { access_token: '', expires_in: 'soon' }]
  const read = readAssertion(door, body, now)
  const fault = door.answer === 'refusal' ? 'Invalid JWT Signature.' : read.fault
  if (fault !== undefined) return [400, { error: 'invalid_grant', error_description: fault }]
  door.made += 1
  const token = `ya29.${markOf(`token ${door.made}`)}.${markOf(read.account)}`
  return [200, { access_token: token, expires_in: door.lifeSeconds, token_type: 'Bearer' }]
}

type Assertion = { readonly account: string; readonly fault?: string }

function readAssertion({ keys }: TokenDoor, body: Buffer, now: number): Assertion {
  const grantRequest = GrantRequest.safeParse(Object.fromEntries(new URLSearchParams(body.toString('utf8'))))
  const [head = '', claims = '', signature = ''] = grantRequest.data?.assertion.split('.') ?? []
  const read = Claims.safeParse(jsonIn(claims)).data
  if (!Head.safeParse(jsonIn(head)).success || read === undefined) return { account: '', fault: 'Invalid JWT.' }
  const { iss: account, iat, exp } = read
  const isTimely = Math.abs(now - iat) <= MAX_SKEW_SECONDS && exp > now && exp - iat <= MAX_LIFE_SECONDS
  if (!isTimely) return { account, fault: NOT_TIMELY }
  const pem = keys.get(account)
  const signedPart = Buffer.from(`${head}.${claims}`)
  const isSigned = pem === undefined || verify('sha256', signedPart, pem, Buffer.from(signature, 'base64url'))
  return isSigned && signature !== '' ? { account } : { account, fault: 'Invalid JWT Signature.' }
}

/** Ends every token that was made for an account. */
export function markOf(account: string): string {
  return createHash('sha256').update(account).digest('base64url')
}

function jsonIn(part: string): unknown {
  try {
    return JSON.parse(Buffer.from(part, 'base64url').toString('utf8'))
  } catch {
    return undefined
  }
}
