import { getAddress, isAddress } from 'viem/utils'
import { z } from 'zod'
import type { ChainAddress } from './chain-terms.ts'
import { optionalText } from './environment.ts'
import { Secret } from './secret.ts'

/** The order of secp256k1. A private key is smaller. */
const KEY_ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
const PRIVATE_KEY = /^0x[0-9a-fA-F]{64}$/

/** An optional address. A letter in the wrong case is refused, because it shows a typing mistake. */
export function addressVariable(name: string) {
  return optionalText.transform((text, context): ChainAddress | undefined => {
    if (text === undefined) return undefined
    if (isAddress(text)) return getAddress(text)
    context.addIssue({ code: 'custom', message: `${name} must be an address: 0x, 40 hex digits, and a right checksum` })
    return z.NEVER
  })
}

/** An optional private key of a wallet. */
export function privateKeyVariable(name: string) {
  return optionalText.transform((text, context) => {
    if (text === undefined) return undefined
    if (PRIVATE_KEY.test(text) && BigInt(text) > 0n && BigInt(text) < KEY_ORDER) return new Secret(text)
    context.addIssue({ code: 'custom', message: `${name} must be a private key: 0x and 64 hex digits` })
    return z.NEVER
  })
}
