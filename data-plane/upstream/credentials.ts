import type { Time } from '#shared/clock.ts'
import { MINUTE, SECOND } from '#shared/clock.ts'
import type { SealedCredential } from '#shared/contract/sealed-credential.ts'
import type { KeyRing } from '#shared/seal.ts'
import { openCredential } from '#shared/seal.ts'
import type { Secret } from '#shared/secret.ts'

/** Milliseconds for which an opened credential stays in memory, and the most that stay. */
const KEEP_MS = MINUTE
const MAX_OPEN = 10_000
/** The least pause between two sweeps, so that credentials of one burst are deleted together. */
const LEAST_PAUSE_MS = SECOND

/** Opens sealed credentials. Throws an Error for one that does not open. */
export type OpenCredential = (sealed: SealedCredential) => Secret

/** An opened credential. `until` is a monotonic reading. */
type Opened = { readonly ciphertext: string; readonly secret: Secret; readonly until: number }

/**
 * Keeps opened credentials for at most a minute, because opening one costs more than all other headers of a request. A
 * timer deletes those whose minute is over, whether or not another is opened.
 */
export function createCredentialOpener(
  ring: KeyRing,
  clock: Pick<Time, 'monotonic' | 'after'>,
): { readonly open: OpenCredential; readonly kept: () => number } {
  // The oldest is first, because all stay equally long.
  const openedKeys = new Map<string, Opened>()
  let isTimed = false
  const sweep = () => {
    isTimed = false
    const now = clock.monotonic()
    for (const [id, { until }] of openedKeys) {
      if (until > now) break
      openedKeys.delete(id)
    }
    plan()
  }
  const plan = () => {
    const [oldest] = openedKeys.values()
    if (isTimed || oldest === undefined) return
    isTimed = true
    clock.after(Math.max(LEAST_PAUSE_MS, oldest.until - clock.monotonic()), sweep)
  }
  const keep = (id: string, credential: Opened) => {
    openedKeys.delete(id)
    const [oldest] = openedKeys.keys()
    if (openedKeys.size >= MAX_OPEN && oldest !== undefined) openedKeys.delete(oldest)
    openedKeys.set(id, credential)
    plan()
  }
  return {
    open(sealed) {
      const now = clock.monotonic()
      const knownOpened = openedKeys.get(sealed.id)
      if (knownOpened !== undefined && knownOpened.until > now && knownOpened.ciphertext === sealed.ciphertext)
        return knownOpened.secret
      const secret = openCredential(ring, sealed)
      keep(sealed.id, { ciphertext: sealed.ciphertext, secret, until: now + KEEP_MS })
      return secret
    },
    kept: () => openedKeys.size,
  }
}
