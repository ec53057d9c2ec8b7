import { at } from './answer-of.ts'
import { call } from './client.ts'

/** True where the browser knows passkeys. */
export function hasPasskeys(): boolean {
  return 'PublicKeyCredential' in window
}

/** Makes a passkey in this browser, for a new account or for the one that is signed in. Throws an Error in words. */
export async function makePasskey(purpose: 'sign_up' | 'add'): Promise<Record<string, string>> {
  const asked = await askChallenge(purpose)
  const user = textAt(asked, 'user')
  const name = textAt(asked, 'user_name')
  const made = await inWords(() =>
    navigator.credentials.create({
      publicKey: {
        challenge: encode(textAt(asked, 'challenge')),
        rp: { id: textAt(asked, 'rp_id'), name: 'Surplus' },
        user: { id: encode(user), name, displayName: name },
        pubKeyCredParams: listAt(asked, 'algorithms').map((alg) => ({ type: 'public-key', alg: Number(alg) })),
        excludeCredentials: listAt(asked, 'exclude').map((id) => ({ type: 'public-key', id: fromBase64(String(id)) })),
        authenticatorSelection: { residentKey: 'required', requireResidentKey: true, userVerification: 'required' },
        attestation: 'none',
      },
    }),
  )
  if (!(made instanceof PublicKeyCredential) || !(made.response instanceof AuthenticatorAttestationResponse)) {
    throw new Error(NOTHING)
  }
  return {
    ...(purpose === 'sign_up' ? { user } : {}),
    credential_id: toBase64(made.rawId),
    client_data: toBase64(made.response.clientDataJSON),
    attestation: toBase64(made.response.attestationObject),
  }
}

/** Signs with a passkey that the reader chooses. Throws an Error in words. */
export async function signWithPasskey(): Promise<Record<string, string>> {
  const asked = await askChallenge('sign_in')
  const signed = await inWords(() =>
    navigator.credentials.get({
      publicKey: {
        challenge: encode(textAt(asked, 'challenge')),
        rpId: textAt(asked, 'rp_id'),
        userVerification: 'required',
      },
    }),
  )
  if (!(signed instanceof PublicKeyCredential) || !(signed.response instanceof AuthenticatorAssertionResponse)) {
    throw new Error(NOTHING)
  }
  const { clientDataJSON, authenticatorData, signature, userHandle } = signed.response
  return {
    credential_id: toBase64(signed.rawId),
    client_data: toBase64(clientDataJSON),
    authenticator_data: toBase64(authenticatorData),
    signature: toBase64(signature),
    user_handle: toBase64(userHandle ?? new ArrayBuffer(0)),
  }
}

const NOTHING = 'The browser made no passkey. Try again.'

const askChallenge = (purpose: 'sign_up' | 'sign_in' | 'add') =>
  call('POST', '/v1/auth/passkeys/challenge', { purpose })

/** Says what a browser's refusal means. A reader who cancels and a time that runs out are one error. */
async function inWords<Result>(run: () => Promise<Result>): Promise<Result> {
  try {
    return await run()
  } catch (thrown) {
    const name = thrown instanceof DOMException ? thrown.name : ''
    if (name === 'NotAllowedError')
      throw new Error('No passkey was used: you cancelled, or the time ran out. Try again.')
    if (name === 'InvalidStateError') throw new Error('This device already has a passkey of this account.')
    throw thrown
  }
}

function textAt(body: unknown, name: string): string {
  const text = at(body, name)
  if (typeof text !== 'string') throw new Error(NOTHING)
  return text
}

function listAt(body: unknown, name: string): readonly unknown[] {
  const list = at(body, name)
  return Array.isArray(list) ? list : []
}

const encode = (text: string) => new TextEncoder().encode(text)

function toBase64(bytes: ArrayBuffer): string {
  const text = Array.from(new Uint8Array(bytes), (byte) => String.fromCharCode(byte)).join('')
  return btoa(text).replace(/\+/g, '-').replace(/\//g, '_').replace(/=+$/, '')
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text.replace(/-/g, '+').replace(/_/g, '/')), (char) => char.charCodeAt(0))
}
