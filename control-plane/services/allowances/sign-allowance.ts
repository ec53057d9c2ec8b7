import type { Hex } from 'viem'
import { recoverTypedDataAddress } from 'viem'
import { z } from 'zod'
import { countPermits, endPermit, findNewestPermit, insertPermit } from '#control-plane/db/allowance-draws.ts'
import type { AllowanceLine } from '#control-plane/db/allowances.ts'
import { findLine, lockLine } from '#control-plane/db/allowances.ts'
import type { RunCtx } from '#control-plane/operation/operation.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import type { MoveParts } from '#control-plane/ports/treasury/move-parts.ts'
import { permitDataOf } from '#control-plane/ports/treasury/permit.ts'
import { DAY, MINUTE, SECOND } from '#shared/clock.ts'
import { AppError } from '#shared/errors.ts'
import { wholeNumber } from '#shared/texts.ts'
import { requireTaker } from './allowance-ctx.ts'
import { permitOf } from './allowance-permit.ts'
import type { AllowanceView } from './allowance-views.ts'
import { AllowanceViewSchema, viewAllowance } from './allowance-views.ts'
import { LEAST_MICRO, outOfReach, readWallet, requireWallet } from './own-allowance.ts'

/** The least and the most validity that a permit may have left: it has to reach a block in this time. */
const LEAST_LEFT_MS = MINUTE
const MOST_LEFT_MS = DAY
/** Most permits of an account a day, because the treasury pays for their gas. */
const MAX_A_DAY = 10
/** The largest number of the token, a uint256. */
const MAX_VALUE = 2n ** 256n - 1n

const Value = z
  .string()
  .regex(/^\d{1,78}$/)
  .transform(BigInt)
  .refine((value) => value <= MAX_VALUE, 'not a whole number below 2^256')

/**
 * Takes the signature of a permit. The treasury submits the permit to the chain. A repeat with the newest signature
 * returns the state of the line. Throws `invalid_signature` for a signature of another wallet, `insufficient_balance`
 * for a wallet with less than 1 USD, and `conflict` while another permit is under way or after too many permits in a
 * day.
 */
export const signAllowance = defineOperation({
  name: 'allowance.sign',
  summary: 'Submit the signature of a permit',
  about: 'The treasury sends the permit to the chain.',
  example: {
    value: '20000000',
    deadline: 1_767_225_600,
    signature:
      '0x1111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111',
  },
  access: 'buyer-account',
  input: z.strictObject({
    value: Value.describe('The amount of the signed permit, in the token’s units.'),
    deadline: wholeNumber(0, 100_000_000_000).describe('The deadline of the signed permit, in Unix seconds.'),
    signature: z
      .templateLiteral(['0x', z.string().regex(/^[0-9a-fA-F]{130}$/)])
      .transform((text): Hex => `0x${text.slice(2).toLowerCase()}`),
  }),
  limit: 'write',
  idempotency: 'none',
  output: AllowanceViewSchema,
  run: async (ctx, actor, { value, deadline, signature }): Promise<AllowanceView> => {
    const moves = requireTaker(ctx)
    const wallet = requireWallet(actor)
    const { account } = actor
    const line = await findLine(ctx.db, account)
    if (line === undefined) throw new AppError('not_found', { message: 'This account does not pay from a wallet.' })
    const view = () => viewAllowance(ctx.db, { account, wallet }, { ...ctx, moves })
    if ((await findNewestPermit(ctx.db, account))?.signature === signature) return view()
    const signed = { value, deadline: new Date(deadline * SECOND), signature }
    const nonce = await requireSigned({ ...ctx, moves }, line, signed)
    await ctx.change(
      async (trx) => {
        await lockLine(trx, account)
        const newest = await findNewestPermit(trx, account)
        if (newest?.signature === signature) return undefined
        if (newest?.state === 'signed') {
          if (newest.nonce >= nonce) {
            throw new AppError('conflict', { message: 'Another permit is on its way to the chain.' })
          }
          await endPermit(trx, newest.id, 'used')
        }
        if ((await countPermits(trx, account, new Date(ctx.clock.now() - DAY))) >= MAX_A_DAY) {
          throw new AppError('conflict', { message: `You can submit at most ${MAX_A_DAY} permits a day.` })
        }
        const id = ctx.ids.make('prm')
        await insertPermit(trx, { id, account, nonce, ...signed })
        return { permit: id, valueMicro: value.toString() }
      },
      (after) => after && { subject: account, before: null, after },
    )
    return view()
  },
})

type SignedPermit = { readonly value: bigint; readonly deadline: Date; readonly signature: Hex }

/** Throws unless the wallet signed exactly this permit and the permit is worth its gas. Returns the permit's nonce. */
async function requireSigned(
  { clock, moves }: Pick<RunCtx, 'clock'> & { readonly moves: MoveParts },
  { wallet, state }: AllowanceLine,
  { value, deadline, signature }: SignedPermit,
): Promise<bigint> {
  const leftMs = deadline.getTime() - clock.now()
  if (leftMs < LEAST_LEFT_MS || leftMs > MOST_LEFT_MS) {
    throw new AppError('invalid_request', {
      message: 'A permit must be valid for at least a minute and at most a day.',
      param: 'deadline',
    })
  }
  const nonce = await moves.chain.permitNonceOf(moves.asset, wallet).catch(outOfReach)
  const typed = permitDataOf(permitOf(moves, { wallet, value, nonce, deadline }))
  const signer = await recoverTypedDataAddress({ ...typed, signature }).catch(() => undefined)
  if (signer?.toLowerCase() !== wallet) throw new AppError('invalid_signature')
  const reading = await readWallet(moves, wallet)
  if (value === 0n) {
    if (reading.allowance > 0n) return nonce
    throw new AppError('conflict', { message: 'The wallet has no allowance to revoke.' })
  }
  if (state === 'closed')
    throw new AppError('conflict', { message: 'This account does not pay from a wallet. Open an allowance first.' })
  if (reading.balance < LEAST_MICRO || value < LEAST_MICRO) {
    throw new AppError('insufficient_balance', {
      message:
        'The permit and the balance of the wallet must be at least 1 USD each, or the gas costs more than the permit is worth.',
      detail: { balance_usdc: reading.balance.toString(), least_usdc: LEAST_MICRO.toString() },
    })
  }
  return nonce
}
