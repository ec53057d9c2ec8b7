import { z } from 'zod'
import type { RunCtx } from '#control-plane/operation/operation.ts'
import { manyLines, oneLine } from '#shared/texts.ts'
import type { SignedMessage, SigningPurpose } from './siwe.ts'
import { proveWallet } from './siwe.ts'

const MAX_MESSAGE_CHARS = 4_000
/** A signature of an undeployed contract wallet contains the data to deploy it. */
const MAX_SIGNATURE_CHARS = 20_000

/** A message of the market with the signature of a wallet. */
export const SignedInput = z.strictObject({
  message: manyLines(MAX_MESSAGE_CHARS),
  signature: oneLine(MAX_SIGNATURE_CHARS),
})

type ProveCtx = Pick<RunCtx, 'db' | 'contractWallets' | 'clock' | 'clocks' | 'settings' | 'limiter' | 'count'>

/**
 * Returns the wallet that the caller proves for a purpose. A valid proof counts for the wallet, a failed one for the
 * caller's network address, so no caller can use up a wallet's limit by naming it.
 */
export async function proveCounted(ctx: ProveCtx, signed: SignedMessage, purpose: SigningPurpose): Promise<string> {
  const wallet = await proveWallet(ctx, signed, purpose).catch(async (error: unknown) => {
    await ctx.count()
    throw error
  })
  await ctx.count(wallet)
  return wallet
}
