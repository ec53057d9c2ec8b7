import { createHmac, randomBytes } from 'node:crypto'
import { SECOND } from '#shared/clock.ts'
import { Secret } from '#shared/secret.ts'

/** The header that a delivery is signed in. */
export const SIGNATURE_HEADER = 'x-mkt-signature'

const SECRET_BYTES = 32

/** A new signing secret: `whsec_` and 43 characters. */
export function newWebhookSecret(random: (bytes: number) => Uint8Array = randomBytes): Secret {
  return new Secret(`whsec_${Buffer.from(random(SECRET_BYTES)).toString('base64url')}`)
}

/**
 * What stands in the header: `t=` the time of sending in Unix seconds, and one `v1=` for each secret that signs, the
 * HMAC-SHA-256 in hex over the time, a full stop and the bytes of the body, keyed by the secret as it was shown.
 */
export function signDelivery(body: string, at: number, secrets: readonly Secret[]): string {
  const time = Math.floor(at / SECOND)
  const signatures = secrets.map((secret) =>
    createHmac('sha256', secret.reveal()).update(`${time}.${body}`).digest('hex'),
  )
  return [`t=${time}`, ...signatures.map((signature) => `v1=${signature}`)].join(',')
}
