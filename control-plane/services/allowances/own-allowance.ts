import { z } from 'zod'
import { changeLine, lockLine, openLine } from '#control-plane/db/allowances.ts'
import type { BuyerActor } from '#control-plane/operation/actor.ts'
import { walletOfActor } from '#control-plane/operation/actor.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import type { MoveParts } from '#control-plane/ports/treasury/move-parts.ts'
import type { WalletReading } from '#control-plane/ports/treasury/treasury-chain.ts'
import { DollarText } from '#control-plane/services/input-fields.ts'
import { HOUR, SECOND } from '#shared/clock.ts'
import { AppError } from '#shared/errors.ts'
import { recallCredit } from './advance-credit.ts'
import type { AllowanceLineCtx } from './allowance-ctx.ts'
import { requireOffer, requireTaker } from './allowance-ctx.ts'
import { typedPermit } from './allowance-permit.ts'
import type { AllowanceView } from './allowance-views.ts'
import { AllowanceViewSchema, viewAllowance } from './allowance-views.ts'
import { tellBound } from './tend-lines.ts'

/** Validity of a permit: the time until its signature and its block. */
const VALID_MS = HOUR
/** The least amount of a permit, in micro-USD: the treasury pays for its gas. */
export const LEAST_MICRO = 1_000_000n

/**
 * Returns the wallet that an account pays from. Throws `conflict` in a workspace, which has no wallet, and
 * `wallet_required` for a user without a wallet.
 */
export function requireWallet({ workspace, wallet }: Pick<BuyerActor, 'workspace' | 'wallet'>): string {
  if (workspace !== undefined) throw new AppError('conflict', { message: 'A workspace has no wallet to pay from.' })
  return walletOfActor({ wallet })
}

/** Reads how the caller's account pays from its wallet. */
export const readAllowance = defineOperation({
  name: 'allowance.read',
  summary: 'Get the state of payment from the wallet',
  about: 'The allowance of the wallet, and the draws from it.',
  access: 'buyer',
  input: z.strictObject({}),
  limit: 'read',
  idempotency: 'none',
  output: AllowanceViewSchema,
  run: async (ctx, actor): Promise<AllowanceView> => {
    const moves = requireTaker(ctx)
    const wallet = requireWallet(actor)
    return viewAllowance(ctx.db, { account: actor.account, wallet }, { ...ctx, moves })
  },
})

/**
 * Lets the caller's account pay from its wallet. With an amount the answer holds a permit of that amount to sign, which
 * costs the wallet no ETH. A wallet may also allow the spender on the chain itself. A repeat changes nothing. Throws
 * `conflict` in a market that draws from no wallet.
 */
export const openAllowance = defineOperation({
  name: 'allowance.open',
  summary: 'Start payment from the wallet',
  about:
    'The wallet allows `spender` to take USDC. With an amount, the answer has a permit (EIP-2612) to sign, which needs no ETH. The wallet may also call `approve` itself.',
  example: {},
  access: 'buyer-account',
  input: z.strictObject({ amountUsd: DollarText.optional() }),
  limit: 'write',
  idempotency: 'accepted',
  output: AllowanceViewSchema,
  run: async (ctx, actor, { amountUsd }): Promise<AllowanceView> => {
    const moves = requireOffer(ctx)
    const wallet = requireWallet(actor)
    const { account, user: owner } = actor
    if (amountUsd !== undefined && ctx.treasury === null) {
      throw new AppError('conflict', { message: 'This market does not submit permits. Approve the spender yourself.' })
    }
    if (amountUsd !== undefined && amountUsd < LEAST_MICRO) {
      throw new AppError('invalid_request', { message: 'A permit must be for at least 1 USD.', param: 'amount_usd' })
    }
    const typedData = amountUsd === undefined ? null : await askPermit({ ...ctx, moves }, wallet, amountUsd)
    await ctx.change(
      async (trx) => {
        const before = await lockLine(trx, account)
        if (before?.state === 'open' || before?.state === 'stopped') return undefined
        await openLine(trx, moves, { account, wallet, advance: ctx.ids.make('acc'), owner })
        return { status: before?.state ?? null }
      },
      (before) => (before === undefined ? undefined : { subject: account, before, after: { status: 'open' } }),
    )
    return viewAllowance(ctx.db, { account, wallet }, { ...ctx, moves, typedData })
  },
})

/**
 * Ends payment from the caller's wallet: unspent advance is taken back, and the spent part is drawn from the wallet a
 * last time. While the wallet still has an allowance and the chain answers, the answer holds a permit of zero to sign.
 */
export const closeAllowance = defineOperation({
  name: 'allowance.close',
  summary: 'Stop payment from the wallet',
  about: 'If the wallet still has an allowance, the answer has a permit of 0 to sign.',
  example: {},
  access: 'buyer-account',
  input: z.strictObject({}),
  limit: 'write',
  idempotency: 'none',
  output: AllowanceViewSchema,
  run: async (ctx, actor): Promise<AllowanceView> => {
    const moves = requireTaker(ctx)
    const wallet = requireWallet(actor)
    const { account } = actor
    const allowanceLine = await ctx.change(
      async (trx) => {
        const before = await lockLine(trx, account)
        if (before === undefined)
          throw new AppError('not_found', { message: 'This account does not pay from a wallet.' })
        if (before.state === 'closed') return undefined
        await changeLine(trx, account, { state: 'closed', reason: null, retryAt: null })
        return before
      },
      (before) => before && { subject: account, before: { status: before.state }, after: { status: 'closed' } },
    )
    if (allowanceLine !== undefined && allowanceLine.advanced > 0n) {
      await recallCredit(ctx, allowanceLine, allowanceLine.advanced).catch((error: unknown) =>
        ctx.log.warn({ err: error, account }, 'credit of a closed line is taken back later'),
      )
    }
    await tellBound(ctx, account, null)
    const typedData = await askRevocation({ ...ctx, moves }, wallet)
    return viewAllowance(ctx.db, { account, wallet }, { ...ctx, moves, typedData })
  },
})

type AskCtx = { readonly moves: MoveParts; readonly clock: AllowanceLineCtx['clock'] }

/** A permit for a wallet to sign, with the wallet's next nonce. */
async function askPermit({ moves, clock }: AskCtx, wallet: string, value: bigint): Promise<string> {
  const nonce = await moves.chain.permitNonceOf(moves.asset, wallet).catch(outOfReach)
  const deadline = new Date(Math.floor((clock.now() + VALID_MS) / SECOND) * SECOND)
  return typedPermit(moves, { wallet, value, nonce, deadline })
}

/** A permit of zero. Null for a wallet without an allowance, and while the chain does not answer. */
async function askRevocation(ctx: AskCtx & Pick<AllowanceLineCtx, 'log'>, wallet: string): Promise<string | null> {
  try {
    const { allowance } = await readWallet(ctx.moves, wallet)
    return allowance === 0n ? null : await askPermit(ctx, wallet, 0n)
  } catch (error) {
    ctx.log.debug({ err: error }, 'a line is closed without a permit to sign')
    return null
  }
}

/** The present balance and allowance of a wallet. Throws `service_unavailable` while the chain is out of reach. */
export async function readWallet(
  { chain, asset, treasury: spender }: MoveParts,
  wallet: string,
): Promise<WalletReading> {
  const reading = await chain.readAllowances({ asset, spender, wallets: [wallet] }).catch(outOfReach)
  return reading.get(wallet) ?? outOfReach()
}

export function outOfReach(cause?: unknown): never {
  throw new AppError('service_unavailable', { message: 'The chain is out of reach.', cause, retryAfterSeconds: 5 })
}
