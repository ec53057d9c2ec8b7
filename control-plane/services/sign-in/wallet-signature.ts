import { recoverMessageAddress } from 'viem/utils'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import type { ContractWallets } from '#control-plane/ports/contract-wallets/contract-wallets.ts'
import { AppError } from '#shared/errors.ts'

/** Half the order of secp256k1. EIP-2 accepts only the lower s of the two equivalent signatures. */
const HALF_ORDER = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n
const PLAIN_CHARS = 2 + 65 * 2
const HEX = /^0x(?:[0-9a-fA-F]{2})+$/

/** Most chain reads a minute for signatures, over all callers. The limit bounds the work that a stranger can cause. */
const CHAIN_QUESTIONS_PER_MINUTE = 1_200

type Signed = { readonly wallet: string; readonly message: string; readonly signature: string }

/**
 * Requires a wallet's signature of a message (EIP-191). The wallet signs with its own key: 65 bytes, v is 27, 28, 0 or
 * 1, and s is low. With a chain to read, a contract wallet may sign, too. Throws `invalid_signature`,
 * `service_unavailable`.
 */
export async function requireSignature(
  { contractWallets, limiter }: Pick<Ctx, 'contractWallets' | 'limiter'>,
  signed: Signed,
): Promise<void> {
  const { signature } = signed
  if (!isHex(signature))
    throw new AppError('invalid_signature', { message: 'A signature must be hex digits after 0x.' })
  const isPlain = signature.length === PLAIN_CHARS
  if (isPlain) {
    const s = BigInt(`0x${signature.slice(66, 130)}`)
    if (s > HALF_ORDER) throw new AppError('invalid_signature', { message: 'The s of the signature is too high.' })
    if ((await recover(signed.message, signature)) === signed.wallet) return
  }
  if (contractWallets === null) {
    const message = isPlain
      ? 'The message was not signed by its address. (Contract wallets cannot sign in here.)'
      : 'A signature must have 65 bytes: contract wallets cannot sign in here, because this market reads no chain.'
    throw new AppError('invalid_signature', { message })
  }
  const { isExceeded } = await limiter('chain-question', CHAIN_QUESTIONS_PER_MINUTE)
  if (isExceeded) throw new AppError('service_unavailable', { retryAfterSeconds: 10 })
  if (!(await ask(contractWallets, { ...signed, signature }))) {
    throw new AppError('invalid_signature', { message: 'The message was not signed by its address.' })
  }
}

function isHex(text: string): text is `0x${string}` {
  return HEX.test(text)
}

/** Returns the address that signed, in lower case; undefined when the bytes are no signature. */
async function recover(message: string, signature: `0x${string}`): Promise<string | undefined> {
  try {
    return (await recoverMessageAddress({ message, signature })).toLowerCase()
  } catch {
    return undefined
  }
}

async function ask(
  contractWallets: NonNullable<ContractWallets>,
  signed: Signed & { readonly signature: `0x${string}` },
): Promise<boolean> {
  try {
    return await contractWallets(signed)
  } catch (cause) {
    throw new AppError('service_unavailable', { cause, retryAfterSeconds: 2 })
  }
}
