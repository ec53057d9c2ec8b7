import { verifyTypedData } from 'viem'

/** Most good signatures that are remembered. */
const MAX_KNOWN = 2_000

/**
 * Checks signatures of typed data, and remembers the good ones. A payment is checked when it is claimed and again when it
 * is settled, and to find the signer of a signature takes milliseconds. What was signed is part of the name, so nothing
 * else is ever taken for it.
 */
export function createSignatureMemory(check: typeof verifyTypedData = verifyTypedData): typeof verifyTypedData {
  const known = new Set<string>()
  return async (signed) => {
    const name = JSON.stringify(signed, (_, value) => (typeof value === 'bigint' ? `${value}n` : value))
    if (known.has(name)) return true
    const isGood = await check(signed)
    if (isGood) known.add(name)
    for (const oldest of known) {
      if (known.size <= MAX_KNOWN) break
      known.delete(oldest)
    }
    return isGood
  }
}
