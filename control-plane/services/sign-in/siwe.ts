import { createSiweMessage, parseSiweMessage } from 'viem/siwe'
import { getAddress } from 'viem/utils'
import { z } from 'zod'
import { insertUsedNonce } from '#control-plane/db/sessions.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { UnixMs } from '#control-plane/services/view-fields.ts'
import { MINUTE } from '#shared/clock.ts'
import { AppError } from '#shared/errors.ts'
import { CHALLENGE_MS, endOfNonce, makeNonce } from './sealed-nonce.ts'
import { requireSignature } from './wallet-signature.ts'

/** The chain id of Base (eip155:8453). */
const CHAIN_ID = 8_453
/** The tolerated error of the signer's clock. */
const MAX_SKEW_MS = 5 * MINUTE
/** Longest time between `Issued At` and `Expiration Time`. */
const MAX_LIFETIME_MS = 10 * MINUTE

/**
 * The purpose of a signed message. Its statement tells the owner of the wallet what the signature does, and its nonce
 * serves no other purpose.
 */
export type SigningPurpose = {
  readonly statement: string
  /** The subject of the nonce, for a wallet in lower case. */
  readonly subjectOf: (wallet: string) => string
  /** True refuses a message with another statement. Clients may word the statement of a sign-in themselves. */
  readonly isExact: boolean
}

export const TO_SIGN_IN: SigningPurpose = {
  statement: 'Sign in to the inference marketplace.',
  subjectOf: (wallet) => wallet,
  isExact: false,
}

/**
 * The purpose of a message that links a wallet to an account. It names the account, so that no wallet links to another
 * account.
 */
export function toLink(user: string): SigningPurpose {
  return {
    statement: `Link this wallet for good to account ${user} of the inference marketplace. Payouts of the account go to this wallet.`,
    subjectOf: (wallet) => `link ${wallet}`,
    isExact: true,
  }
}

/** A message to sign. `expiresAt` is Unix milliseconds. */
export const SignInMessageSchema = z
  .object({
    message: z.string().describe('Sign exactly this text with the wallet (EIP-4361).'),
    nonce: z.string(),
    expiresAt: UnixMs,
  })
  .meta({
    id: 'Challenge',
    description: 'A message for a wallet to sign in with (EIP-4361). Its nonce is good for 5 minutes.',
  })
export type SignInMessage = z.infer<typeof SignInMessageSchema>

/** A message and its signature from the caller. */
export type SignedMessage = { readonly message: string; readonly signature: string }

/**
 * Makes the message (EIP-4361) that a wallet signs to prove itself. Nothing is stored, because the nonce proves its
 * origin. Throws `service_unavailable` while this server's clock is wrong.
 */
export function makeChallenge(
  ctx: Pick<Ctx, 'clock' | 'clocks' | 'settings'>,
  wallet: string,
  purpose: SigningPurpose,
): SignInMessage {
  ctx.clocks.requireTrusted()
  const now = ctx.clock.now()
  const { origins, sessionSecret } = ctx.settings
  const uri = origins[0]
  if (uri === undefined) throw new AppError('internal_error')
  const nonce = makeNonce(sessionSecret, purpose.subjectOf(wallet), now)
  const expiresAt = now + CHALLENGE_MS
  const message = createSiweMessage({
    address: getAddress(wallet),
    chainId: CHAIN_ID,
    domain: new URL(uri).host,
    issuedAt: new Date(now),
    expirationTime: new Date(expiresAt),
    nonce,
    statement: purpose.statement,
    uri,
    version: '1',
  })
  return { message, nonce, expiresAt }
}

/**
 * Returns the wallet, in lower case, that a message signed for a purpose proves. The nonce is used up first, even if a
 * later check fails, so one message proves a wallet once. Throws `invalid_signature` with the broken rule, and
 * `service_unavailable` while a contract wallet's chain does not answer or this server's clock is wrong.
 */
export async function proveWallet(
  ctx: Pick<Ctx, 'db' | 'clock' | 'clocks' | 'settings' | 'contractWallets' | 'limiter'>,
  { message, signature }: SignedMessage,
  purpose: SigningPurpose,
): Promise<string> {
  ctx.clocks.requireTrusted()
  const fields = readMessage(message)
  const wallet = fields.address.toLowerCase()
  const { nonce } = fields
  const nonceEnd = endOfNonce(ctx.settings.sessionSecret, purpose.subjectOf(wallet), nonce)
  if (nonceEnd === undefined) throw signInRefusal('The nonce was not issued to this address for this purpose.')
  const now = ctx.clock.now()
  if (now > nonceEnd) throw signInRefusal('The challenge is older than 5 minutes.')
  if (!(await insertUsedNonce(ctx.db, nonce, nonceEnd))) throw signInRefusal('The nonce has been used.')
  if (purpose.isExact && fields.statement !== purpose.statement)
    throw signInRefusal('The statement of the message is not the one for this purpose.')
  requireOurs(ctx.settings.origins, fields)
  requireTimely(fields, now)
  await requireSignature(ctx, { wallet, message, signature })
  return wallet
}

type MessageFields = {
  readonly address: string
  readonly domain: string
  readonly uri: string
  readonly scheme: string | undefined
  readonly statement: string | undefined
  readonly chainId: number
  readonly nonce: string
  readonly issuedAt: number
  readonly expiresAt: number
  readonly notBefore: number | undefined
}

const DATE_LINES = { 'Issued At': 'issuedAt', 'Expiration Time': 'expirationTime', 'Not Before': 'notBefore' } as const
const DATE_LINE = new RegExp(`^(${Object.keys(DATE_LINES).join('|')}): (.*)$`)
const Instant = z.iso.datetime({ offset: true })

/**
 * Parses a message strictly. Written again from the parsed fields, the text must be the same but for the spelling of
 * dates. So the message has one reading, and the wallet's owner saw exactly what this code reads.
 */
function readMessage(message: string): MessageFields {
  const siweMessage = parseSiweMessage(message)
  const { address, domain, uri, version, chainId, nonce, issuedAt, expirationTime } = siweMessage
  if (!address || !domain || !uri || !chainId || !nonce || !issuedAt)
    throw signInRefusal('The text is not a sign-in message.')
  if (version !== '1') throw signInRefusal('The version must be 1.')
  if (!expirationTime) throw signInRefusal('An expiration time is required.')
  const again = rebuild({ ...siweMessage, address, domain, uri, version, chainId, nonce, issuedAt })
  const lines = message.split('\n')
  const sameLines = again.split('\n')
  if (lines.length !== sameLines.length) throw signInRefusal('The text is not a sign-in message.')
  lines.forEach((line, at) => {
    const isSame = line === sameLines[at] || isSameDate(line, sameLines[at] ?? '')
    if (!isSame) throw signInRefusal('The text is not a sign-in message.')
  })
  return {
    address,
    domain,
    uri,
    chainId,
    nonce,
    scheme: siweMessage.scheme,
    statement: siweMessage.statement,
    issuedAt: issuedAt.getTime(),
    expiresAt: expirationTime.getTime(),
    notBefore: siweMessage.notBefore?.getTime(),
  }
}

function rebuild(fields: Parameters<typeof createSiweMessage>[0]): string {
  try {
    return createSiweMessage(fields)
  } catch (cause) {
    throw new AppError('invalid_signature', { message: 'The text is not a sign-in message.', cause })
  }
}

/** True for two lines with the same date, each a valid day, in different spellings. */
function isSameDate(line: string, other: string): boolean {
  const [, name, text = ''] = DATE_LINE.exec(line) ?? []
  const [, otherName, otherText = ''] = DATE_LINE.exec(other) ?? []
  if (name === undefined || name !== otherName || !Instant.safeParse(text).success) return false
  return Date.parse(text) === Date.parse(otherText)
}

function requireOurs(origins: readonly string[], { domain, uri, scheme, chainId }: MessageFields): void {
  const ours = origins.map((origin) => new URL(origin)).filter(({ host }) => host === domain)
  if (ours.length === 0) throw signInRefusal('The domain belongs to another service.')
  const isOurUri = URL.canParse(uri) && ours.some(({ origin }) => new URL(uri).origin === origin)
  if (!isOurUri) throw signInRefusal('The URI belongs to another service.')
  if (scheme !== undefined && !ours.some(({ protocol }) => protocol === `${scheme}:`)) {
    throw signInRefusal('The scheme differs from the scheme of this service.')
  }
  if (chainId !== CHAIN_ID) throw signInRefusal(`The chain id must be ${CHAIN_ID}.`)
}

function requireTimely({ issuedAt, expiresAt, notBefore }: MessageFields, now: number): void {
  if (Math.abs(now - issuedAt) > MAX_SKEW_MS) throw signInRefusal('The message must be issued within 5 minutes of now.')
  if (expiresAt <= issuedAt || expiresAt - issuedAt > MAX_LIFETIME_MS) {
    throw signInRefusal('The expiration time must be at most 10 minutes after the time of issue.')
  }
  if (expiresAt <= now) throw signInRefusal('The message has expired.')
  if (notBefore !== undefined && notBefore > now) throw signInRefusal('The message is not valid yet.')
}

function signInRefusal(message: string): AppError {
  return new AppError('invalid_signature', { message })
}
