import { verifyAuthenticationResponse, verifyRegistrationResponse } from '@simplewebauthn/server'
import { decodeAttestationObject } from '@simplewebauthn/server/helpers'
import { z } from 'zod'
import type { PasskeyKey } from '#control-plane/db/passkeys.ts'
import { findPasskeyByCredential } from '#control-plane/db/passkeys.ts'
import { insertUsedNonce } from '#control-plane/db/sessions.ts'
import type { Ctx, RelyingParty } from '#control-plane/operation/ctx.ts'
import { AppError } from '#shared/errors.ts'
import { endOfNonce } from './sealed-nonce.ts'

/** The signature algorithms of passkeys, as COSE numbers them: ES256, EdDSA, RS256. */
export const PASSKEY_ALGORITHMS = [-7, -8, -257] as const

/** Longest parts of a proof, in characters of base64url. An attestation holds a key and no certificate. */
const MAX_CREDENTIAL_CHARS = 1_400
const MAX_PART_CHARS = 8_000
/** Most bytes of a public key. An RSA key of 8,192 bits has half of them. */
const MAX_KEY_BYTES = 2_000

const Part = z
  .string()
  .regex(/^[\w-]+$/, 'not base64url')
  .max(MAX_PART_CHARS)
const CredentialId = Part.max(MAX_CREDENTIAL_CHARS)

const SECRET = /^[\w-]{43}$/
/** The secret of the cookie that binds a challenge to the browser that asked for it. */
export const Browser = z.string().regex(SECRET)

/** The parts of the answer of an authenticator that made a passkey, in base64url. */
export const NewPasskeyFields = {
  browser: Browser,
  credentialId: CredentialId,
  clientData: Part.describe('clientDataJSON'),
  attestation: Part.describe('attestationObject'),
}

/** The parts of the answer of an authenticator that signed with a passkey, in base64url. */
export const PasskeyProofFields = {
  browser: Browser,
  credentialId: CredentialId,
  clientData: Part.describe('clientDataJSON'),
  authenticatorData: Part,
  signature: Part,
  userHandle: Part.max(100),
}

/** The use of a challenge, and the user of a new passkey. */
export type ChallengeFor = { readonly purpose: 'sign_up' | 'sign_in' | 'add'; readonly user: string }

/** The subject that a challenge is sealed for. The challenge is invalid for another use, user or browser. */
export function challengeSubject({ purpose, user }: ChallengeFor, browser: string): string {
  return ['passkey', purpose, user, browser].join(':')
}

type ProofCtx = Pick<Ctx, 'db' | 'clock' | 'clocks' | 'settings'>

/** Throws `conflict` for a page without a host name. */
export function requireRelyingParty({ settings }: Pick<Ctx, 'settings'>): RelyingParty {
  if (settings.relyingParty !== null) return settings.relyingParty
  throw new AppError('conflict', { message: 'Passkeys need a host name, and this service only has an address.' })
}

/** A passkey as its authenticator made it. */
export type MadePasskey = Pick<PasskeyKey, 'credentialId' | 'publicKey' | 'counter'>
type NewPasskeyProof = z.output<z.ZodObject<typeof NewPasskeyFields>>

/**
 * Returns the passkey that an authenticator made for one of our challenges. The challenge is used up first, even if a
 * later check fails. Throws `invalid_signature`.
 */
export async function proveNewPasskey(
  ctx: ProofCtx,
  proof: NewPasskeyProof,
  purpose: ChallengeFor,
): Promise<MadePasskey> {
  const { id: expectedRPID, origins } = requireRelyingParty(ctx)
  const { clientData: clientDataJSON, attestation: attestationObject, credentialId: id } = proof
  const expectedChallenge = await useChallenge(ctx, proof, purpose)
  const made = await orRefuse(async () => {
    requireBare(attestationObject)
    return verifyRegistrationResponse({
      response: {
        id,
        rawId: id,
        type: 'public-key',
        response: { clientDataJSON, attestationObject },
        clientExtensionResults: {},
      },
      expectedChallenge,
      expectedOrigin: [...origins],
      expectedRPID,
      requireUserVerification: true,
      supportedAlgorithmIDs: [...PASSKEY_ALGORITHMS],
    })
  })
  const credential = made.registrationInfo?.credential
  if (!made.verified || credential === undefined || credential.id !== id) throw refused()
  if (credential.publicKey.length > MAX_KEY_BYTES) throw refused()
  return { credentialId: id, publicKey: Buffer.from(credential.publicKey), counter: BigInt(credential.counter) }
}

/** Formats without a certificate. For a certificate, the verifier would call the server that it names. */
const BARE_FORMATS: readonly string[] = ['none', 'packed']

function requireBare(attestation: string): void {
  const decoded = decodeAttestationObject(new Uint8Array(Buffer.from(attestation, 'base64url')))
  if (!BARE_FORMATS.includes(decoded.get('fmt')) || decoded.get('attStmt').get('x5c') !== undefined) throw refused()
}

type PasskeyProof = z.output<z.ZodObject<typeof PasskeyProofFields>>

/** A proven passkey, with its new counter. */
export type ProvenPasskey = PasskeyKey & { readonly newCounter: bigint }

/**
 * Returns the passkey that signed one of our challenges. The challenge is used up first. An unknown passkey and a wrong
 * signature give the same error. Throws `invalid_signature`.
 */
export async function provePasskey(ctx: ProofCtx, proof: PasskeyProof): Promise<ProvenPasskey> {
  const { id: expectedRPID, origins } = requireRelyingParty(ctx)
  const { clientData: clientDataJSON, authenticatorData, signature, userHandle, credentialId: id } = proof
  const expectedChallenge = await useChallenge(ctx, proof, { purpose: 'sign_in', user: '' })
  const known = await findPasskeyByCredential(ctx.db, id)
  if (known === undefined || Buffer.from(userHandle, 'base64url').toString() !== known.user) throw refused()
  const { publicKey, counter } = known
  const proven = await orRefuse(() =>
    verifyAuthenticationResponse({
      response: {
        id,
        rawId: id,
        type: 'public-key',
        response: { clientDataJSON, authenticatorData, signature, userHandle },
        clientExtensionResults: {},
      },
      expectedChallenge,
      expectedOrigin: [...origins],
      expectedRPID,
      requireUserVerification: true,
      credential: { id, publicKey: new Uint8Array(publicKey), counter: Number(counter) },
    }),
  )
  if (!proven.verified) throw refused()
  return { ...known, newCounter: BigInt(proven.authenticationInfo.newCounter) }
}

const ClientData = z.object({ challenge: z.string().max(200) })

/** Uses a challenge up and returns it in base64url, the form of the client data. Throws `invalid_signature`. */
async function useChallenge(
  ctx: ProofCtx,
  { clientData, browser }: Pick<PasskeyProof, 'clientData' | 'browser'>,
  purpose: ChallengeFor,
): Promise<string> {
  ctx.clocks.requireTrusted()
  const { challenge } = await orRefuse(async () =>
    ClientData.parse(JSON.parse(Buffer.from(clientData, 'base64url').toString())),
  )
  const nonce = Buffer.from(challenge, 'base64url').toString()
  const end = endOfNonce(ctx.settings.sessionSecret, challengeSubject(purpose, browser), nonce)
  if (end === undefined) throw refused('The challenge was not issued to this browser for this purpose.')
  if (ctx.clock.now() > end) throw refused('The challenge is older than 5 minutes.')
  if (!(await insertUsedNonce(ctx.db, nonce, end))) throw refused('The challenge has been used.')
  return challenge
}

async function orRefuse<Result>(run: () => Promise<Result>): Promise<Result> {
  try {
    return await run()
  } catch (cause) {
    if (cause instanceof AppError) throw cause
    throw new AppError('invalid_signature', { message: REFUSED, cause })
  }
}

const REFUSED = 'The passkey was not accepted.'

/** The refusal of a passkey, the same for every fault. */
export function refused(message: string = REFUSED): AppError {
  return new AppError('invalid_signature', { message })
}
