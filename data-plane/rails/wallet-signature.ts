import type { Hex } from 'viem'
import { recoverAddress } from 'viem/utils'
import type { PaymentDesk } from '#data-plane/payment.ts'
import type { Time } from '#shared/clock.ts'
import { MINUTE, SECOND } from '#shared/clock.ts'
import { AppError } from '#shared/errors.ts'
import { lowerHex } from '#shared/hex.ts'
import { isOfNoContractYet } from '#shared/wallet-words.ts'

// The signature of a payment is checked here first. Only the facilitator decides for certain: it knows contract
// wallets, and the chain's verdict on a payment.

/** Half the order of secp256k1. Of two equivalent signatures only the one with the lower s is valid. */
const HALF_ORDER = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n
/** r, s and v, which is 27 or 28: tokens accept no other form of a key's signature. */
const OF_A_KEY = /^0x[0-9a-f]{64}([0-9a-f]{64})(?:1b|1c)$/

/**
 * Most signatures that a process checks a second. Each takes about a millisecond in which nothing else runs. Further
 * signatures are left to the facilitator, so a flood of forgeries slows no other call.
 */
const MAX_CHECKS_PER_SECOND = 100
/** Most unchecked payments of one network address that are with the facilitator at once. */
const MAX_UNPROVEN_OF_ADDRESS = 8
const RETRY_SECONDS = 1
/** Milliseconds for which the answer "contract or not" about a wallet is cached, and the most wallets in the cache. */
const KNOWN_MS = MINUTE / 2
const MAX_KNOWN = 5_000
/** Most queries about wallets that wait for an answer. */
const MAX_ASKED = 32

/** A payer's signed message: its hash by EIP-712, the signature, and the alleged signer. */
export type SignedHash = { readonly hash: Hex; readonly signature: string; readonly wallet: string }

/** Unproven when only the facilitator can tell whether the wallet made the signature. */
export type SignatureVerdict = 'good' | 'forged' | 'unproven'

export type WalletSignatures = {
  judge(signedHash: SignedHash): Promise<SignatureVerdict>
  /**
   * Passes a payment on to the control plane and the facilitator. Throws `rate_limited` for an unproven payment whose
   * network address has reached its limit there.
   */
  passOn<Result>(verdict: SignatureVerdict, address: string, claim: () => Promise<Result>): Promise<Result>
}

export type SignatureParts = {
  readonly desk: Pick<PaymentDesk, 'isContract'>
  readonly clock: Pick<Time, 'monotonic'>
  /** The address whose key signed a hash. Throws for a malformed signature. */
  readonly recover?: (hash: Hex, signature: Hex) => Promise<string>
}

/** Checks signatures of plain wallets. A contract wallet is only recognised as such. */
export function createWalletSignatures({ desk, clock, recover = recoverSigner }: SignatureParts): WalletSignatures {
  const knownWallets = new Map<string, { readonly isContract: boolean; readonly until: number }>()
  const questions = new Map<string, Promise<boolean | undefined>>()
  const unproven = new Map<string, number>()
  let second = { begun: Number.NEGATIVE_INFINITY, checks: 0 }

  function mayCheck(): boolean {
    const now = clock.monotonic()
    if (now - second.begun >= SECOND) second = { begun: now, checks: 0 }
    second.checks += 1
    return second.checks <= MAX_CHECKS_PER_SECOND
  }

  async function isOfKey({ hash, signature, wallet }: SignedHash): Promise<boolean> {
    const [, s] = OF_A_KEY.exec(signature) ?? []
    if (s === undefined || BigInt(`0x${s}`) > HALF_ORDER) return false
    const signer = await recover(hash, lowerHex(signature)).catch(() => undefined)
    return signer?.toLowerCase() === wallet
  }

  /** Undefined when unknown. */
  async function isContract(wallet: string): Promise<boolean | undefined> {
    const found = knownWallets.get(wallet)
    if (found !== undefined && clock.monotonic() < found.until) return found.isContract
    const running = questions.get(wallet)
    if (running !== undefined) return running
    if (questions.size >= MAX_ASKED) return undefined
    const answer = desk.isContract(wallet).finally(() => questions.delete(wallet))
    questions.set(wallet, answer)
    const hasCode = await answer
    if (hasCode !== undefined) remember(wallet, hasCode)
    return hasCode
  }

  function remember(wallet: string, hasCode: boolean): void {
    knownWallets.delete(wallet)
    knownWallets.set(wallet, { isContract: hasCode, until: clock.monotonic() + KNOWN_MS })
    for (const oldest of knownWallets.keys()) {
      if (knownWallets.size <= MAX_KNOWN) break
      knownWallets.delete(oldest)
    }
  }

  return {
    async judge(signedHash) {
      if (!mayCheck()) return 'unproven'
      const lowerCased = {
        ...signedHash,
        signature: signedHash.signature.toLowerCase(),
        wallet: signedHash.wallet.toLowerCase(),
      }
      if (await isOfKey(lowerCased)) return 'good'
      if (isOfNoContractYet(lowerCased.signature)) return 'unproven'
      return (await isContract(lowerCased.wallet)) === false ? 'forged' : 'unproven'
    },
    async passOn(verdict, address, claim) {
      if (verdict !== 'unproven') return claim()
      const before = unproven.get(address) ?? 0
      if (before >= MAX_UNPROVEN_OF_ADDRESS) throw tooManyUnproven()
      unproven.set(address, before + 1)
      try {
        return await claim()
      } finally {
        const remaining = (unproven.get(address) ?? 1) - 1
        if (remaining === 0) unproven.delete(address)
        else unproven.set(address, remaining)
      }
    },
  }
}

function tooManyUnproven(): AppError {
  return new AppError('rate_limited', {
    message: 'Too many payments of this address wait for their check.',
    detail: {
      limit_source: 'address_payments',
      limit_scope: 'address',
      limit: MAX_UNPROVEN_OF_ADDRESS,
      resets_at: null,
    },
    retryAfterSeconds: RETRY_SECONDS,
  })
}

const recoverSigner = (hash: Hex, signature: Hex): Promise<string> => recoverAddress({ hash, signature })
