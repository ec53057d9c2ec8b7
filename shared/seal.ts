import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto'
import type { SealedCredential } from './contract/sealed-credential.ts'
import { AppError } from './errors.ts'
import type { CredentialId } from './ids.ts'
import { Secret } from './secret.ts'

/** The keys that wrap data keys. The current one seals; every one opens. */
export type KeyRing = {
  readonly currentId: string
  readonly keys: ReadonlyMap<string, Buffer>
}

/** Facts that a sealed credential is bound to. It cannot be read after one of them was changed. */
export type CredentialBinding = {
  readonly id: CredentialId
  readonly tenant: string
  readonly host: string
  readonly purpose: SealedCredential['purpose']
}

const KEY_BYTES = 32
const IV_BYTES = 12
const TAG_BYTES = 16

/** Reads `id:base64[,id:base64…]`. The first key is the current one. Throws an Error that holds no key. */
export function parseKeyRing(text: string): KeyRing {
  const keys = new Map<string, Buffer>()
  let currentId: string | undefined
  for (const entry of text.split(',')) {
    const [id, encoded] = entry.trim().split(':', 2)
    const key = Buffer.from(encoded ?? '', 'base64')
    if (!id || !/^[\w.-]{1,32}$/.test(id) || key.length !== KEY_BYTES) {
      throw new Error('CREDENTIAL_KEYS must be a list of id:base64 with 32 bytes a key')
    }
    keys.set(id, key)
    currentId ??= id
  }
  if (currentId === undefined) throw new Error('CREDENTIAL_KEYS is empty')
  return { currentId, keys }
}

/** Encrypts a provider key under a data key of its own, which the ring's current key wraps. */
export function sealCredential(ring: KeyRing, binding: CredentialBinding, credential: Secret): SealedCredential {
  const dataKey = randomBytes(KEY_BYTES)
  const wrapper = ring.keys.get(ring.currentId)
  if (!wrapper) throw new AppError('internal_error')
  const aad = boundFacts(binding)
  const body = encrypt(dataKey, Buffer.from(credential.reveal(), 'utf8'), aad)
  const wrap = encrypt(wrapper, dataKey, aad)
  dataKey.fill(0)
  return {
    v: 1,
    ...binding,
    ringKeyId: ring.currentId,
    wrapIv: wrap.iv,
    wrappedKey: wrap.data,
    iv: body.iv,
    ciphertext: body.data,
  }
}

/** Code of the Error that {@link openCredential} throws. */
export const UNREADABLE_CREDENTIAL = 'UNREADABLE_CREDENTIAL'

/**
 * Decrypts a provider key. Throws an Error with the code {@link UNREADABLE_CREDENTIAL} for a missing ring key, an
 * edited field or a row of another tenant.
 */
export function openCredential(ring: KeyRing, sealed: SealedCredential): Secret {
  try {
    return open(ring, sealed)
  } catch (cause) {
    const message = 'the sealed credential does not open'
    throw Object.assign(new Error(message, { cause }), { code: UNREADABLE_CREDENTIAL })
  }
}

function open(ring: KeyRing, sealed: SealedCredential): Secret {
  const wrapper = ring.keys.get(sealed.ringKeyId)
  if (!wrapper) throw new Error('the key that wraps this credential is not in the ring')
  const aad = boundFacts(sealed)
  const dataKey = decrypt(wrapper, sealed.wrapIv, sealed.wrappedKey, aad)
  const plain = decrypt(dataKey, sealed.iv, sealed.ciphertext, aad)
  const secret = new Secret(plain.toString('utf8'))
  dataKey.fill(0)
  plain.fill(0)
  return secret
}

/** A hash of a provider host and key that finds equal credentials without opening any. Hex, 64 characters. */
export function fingerprintCredential(pepper: Secret, host: string, credential: Secret): string {
  return createHmac('sha256', pepper.reveal()).update(`${host}\n${credential.reveal()}`).digest('hex')
}

function boundFacts(binding: Omit<CredentialBinding, 'id'> & { readonly id: string }): Buffer {
  return Buffer.from(JSON.stringify([1, binding.tenant, binding.id, binding.host, binding.purpose]), 'utf8')
}

/** Encrypts bytes for storage outside our processes, as text. `place` is their place: they open nowhere else. */
export function sealText(key: Buffer, place: string, plain: Buffer): string {
  const { iv, data } = encrypt(key, plain, Buffer.from(place, 'utf8'))
  return `${iv}.${data}`
}

/** The bytes that were sealed with such a key for such a place; undefined for any other. */
export function openText(key: Buffer, place: string, sealed: string): Buffer | undefined {
  const [iv = '', data = ''] = sealed.split('.', 2)
  try {
    return decrypt(key, iv, data, Buffer.from(place, 'utf8'))
  } catch {
    return undefined
  }
}

function encrypt(key: Buffer, plain: Buffer, aad: Buffer): { iv: string; data: string } {
  const iv = randomBytes(IV_BYTES)
  const cipher = createCipheriv('aes-256-gcm', key, iv)
  cipher.setAAD(aad)
  const data = Buffer.concat([cipher.update(plain), cipher.final(), cipher.getAuthTag()])
  return { iv: iv.toString('base64url'), data: data.toString('base64url') }
}

function decrypt(key: Buffer, iv: string, data: string, aad: Buffer): Buffer {
  const bytes = Buffer.from(data, 'base64url')
  const decipher = createDecipheriv('aes-256-gcm', key, Buffer.from(iv, 'base64url'), { authTagLength: TAG_BYTES })
  decipher.setAAD(aad)
  decipher.setAuthTag(bytes.subarray(-TAG_BYTES))
  return Buffer.concat([decipher.update(bytes.subarray(0, -TAG_BYTES)), decipher.final()])
}
