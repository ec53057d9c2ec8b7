import { createHmac, randomBytes } from 'node:crypto'
import { SECOND } from '#shared/clock.ts'
import { Secret } from '#shared/secret.ts'

/** The header that holds a delivery's signature. */
export const SIGNATURE_HEADER = 'x-mkt-signature'

const SECRET_BYTES = 32

/** Makes a signing secret: `whsec_` and 43 characters. */
export function newWebhookSecret(random: (bytes: number) => Uint8Array = randomBytes): Secret {
  return new Secret(`whsec_${Buffer.from(random(SECRET_BYTES)).toString('base64url')}`)
}

/**
 * The value of the header: `t=` and the time of sending in Unix seconds, then one `v1=` for each signing secret. Each
 * is the HMAC-SHA-256 in hex over the time, a full stop and the bytes of the body. The HMAC key is the secret as it was
 * shown.
 */
export function signDelivery(body: string, at: number, secrets: readonly Secret[]): string {
  const time = Math.floor(at / SECOND)
  const signatures = secrets.map((secret) =>
    createHmac('sha256', secret.reveal()).update(`${time}.${body}`).digest('hex'),
  )
  return [`t=${time}`, ...signatures.map((signature) => `v1=${signature}`)].join(',')
}
