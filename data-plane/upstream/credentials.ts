import type { Clock } from '#shared/clock.ts'
import type { SealedCredential } from '#shared/contract/sealed-credential.ts'
import type { KeyRing } from '#shared/seal.ts'
import { openCredential } from '#shared/seal.ts'
import type { Secret } from '#shared/secret.ts'

/** An opened credential may stay in memory for so many milliseconds. At most so many stay. */
const KEEP_MS = 60_000
const MAX_OPEN = 10_000

/** Opens sealed credentials. Throws an Error for one that does not open. */
export type OpenCredential = (sealed: SealedCredential) => Secret

/**
 * Keeps opened credentials for at most a minute, because opening one costs more than all other headers of a request.
 */
export function createCredentialOpener(ring: KeyRing, clock: Pick<Clock, 'monotonic'>): OpenCredential {
  const open = new Map<string, { readonly ciphertext: string; readonly secret: Secret; readonly until: number }>()
  return (sealed) => {
    const now = clock.monotonic()
    const known = open.get(sealed.id)
    if (known !== undefined && known.until > now && known.ciphertext === sealed.ciphertext) return known.secret
    const secret = openCredential(ring, sealed)
    if (open.size >= MAX_OPEN) open.clear()
    open.set(sealed.id, { ciphertext: sealed.ciphertext, secret, until: now + KEEP_MS })
    return secret
  }
}
