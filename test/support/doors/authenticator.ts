import type { KeyObject } from 'node:crypto'
import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto'

/** Flags of authenticator data: user present, user verified, attested credential. */
const PRESENT = 1
const VERIFIED = 4
const ATTESTED = 64

/** The parts of an authenticator's answer that a test changes. */
export type Twist = {
  readonly origin?: string
  readonly rpId?: string
  readonly flags?: number
  readonly counter?: number
  readonly type?: string
  readonly format?: string
  /** Bytes of a coordinate of the public key. */
  readonly keyBytes?: number
}

/** A passkey in software, which answers like a browser. */
export function newAuthenticator(origin: string) {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const credentialId = randomBytes(16)
  let counter = 0
  const clientData = (type: string, challenge: string, twist: Twist) =>
    JSON.stringify({
      type: twist.type ?? type,
      challenge: textToBase64(challenge),
      origin: twist.origin ?? origin,
      crossOrigin: false,
    })
  const authenticatorData = (rpId: string, flags: number, twist: Twist) => {
    counter += 1
    const count = Buffer.alloc(4)
    count.writeUInt32BE(twist.counter ?? counter)
    const rpHash = createHash('sha256')
      .update(twist.rpId ?? rpId)
      .digest()
    return Buffer.concat([rpHash, Buffer.of(twist.flags ?? flags), count])
  }
  return {
    credentialId: credentialId.toString('base64url'),
    /** The members of a new passkey's proof. */
    register({ challenge, rp_id }: { readonly challenge: string; readonly rp_id: string }, twist: Twist = {}) {
      const length = Buffer.alloc(2)
      length.writeUInt16BE(credentialId.length)
      const data = Buffer.concat([
        authenticatorData(rp_id, PRESENT | VERIFIED | ATTESTED, twist),
        Buffer.alloc(16),
        length,
        credentialId,
        coseOf(publicKey, twist.keyBytes ?? COORDINATE_BYTES),
      ])
      return {
        credential_id: credentialId.toString('base64url'),
        client_data: textToBase64(clientData('webauthn.create', challenge, twist)),
        attestation: attestationOf(data, twist.format ?? 'none').toString('base64url'),
      }
    },
    /** The members of a sign-in's proof. */
    assert(
      { challenge, rp_id, user }: { readonly challenge: string; readonly rp_id: string; readonly user: string },
      twist: Twist = {},
    ) {
      const client = Buffer.from(clientData('webauthn.get', challenge, twist))
      const data = authenticatorData(rp_id, PRESENT | VERIFIED, twist)
      const signed = Buffer.concat([data, createHash('sha256').update(client).digest()])
      return {
        credential_id: credentialId.toString('base64url'),
        client_data: client.toString('base64url'),
        authenticator_data: data.toString('base64url'),
        signature: sign('sha256', signed, privateKey).toString('base64url'),
        user_handle: textToBase64(user),
      }
    },
  }
}

const textToBase64 = (text: string) => Buffer.from(text).toString('base64url')

const COORDINATE_BYTES = 32

/** CBOR of {1: 2, 3: -7, -1: 1, -2: x, -3: y}: an ES256 key whose coordinates are padded to some length. */
function coseOf(key: KeyObject, bytes: number): Buffer {
  const { x = '', y = '' } = key.export({ format: 'jwk' })
  const point = (coordinate: Buffer) => {
    const { length } = coordinate
    const size = length < 256 ? Buffer.of(0x58, length) : Buffer.of(0x59, length >> 8, length & 255)
    return Buffer.concat([size, coordinate])
  }
  const [left, right] = [Buffer.from(x, 'base64url'), Buffer.from(y, 'base64url')]
  const head = Buffer.of(0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21)
  const padded = Buffer.concat([left, Buffer.alloc(bytes - left.length)])
  return Buffer.concat([head, point(padded), Buffer.of(0x22), point(right)])
}

/** CBOR of {fmt, attStmt: {}, authData}. */
function attestationOf(data: Buffer, format: string): Buffer {
  const text = (word: string) => Buffer.concat([Buffer.of(0x60 + word.length), Buffer.from(word)])
  const bytes = Buffer.concat([Buffer.of(0x59, data.length >> 8, data.length & 255), data])
  return Buffer.concat([
    Buffer.of(0xa3),
    text('fmt'),
    text(format),
    text('attStmt'),
    Buffer.of(0xa0),
    text('authData'),
    bytes,
  ])
}
