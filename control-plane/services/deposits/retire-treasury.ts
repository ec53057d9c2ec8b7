import { z } from 'zod'
import { retireTreasury } from '#control-plane/db/treasury-moves.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { Wallet } from '#control-plane/services/input-fields.ts'
import { Count } from '#control-plane/services/view-fields.ts'
import { AppError } from '#shared/errors.ts'
import { oneLine } from '#shared/texts.ts'
import { requireAwaitable } from './move-ctx.ts'

const RetiredSchema = z.object({
  treasury: z.string(),
  /** The number of tokens and chains on which the treasury was read. */
  purses: Count,
})

/**
 * Closes a former treasury: the books have all of its departures, or the other departures concern no seller of this
 * market. So a held ledger no longer waits for the treasury. After a later restore the ledger waits again. Throws
 * `not_found` for a treasury that was never read, and `conflict` for the treasury of the settings and while no hold is
 * set.
 */
export const retireFormerTreasury = defineOperation({
  name: 'treasury.retire',
  summary: 'Confirm a former treasury',
  about: 'A restored ledger no longer waits for this treasury.',
  access: 'operator',
  input: z.strictObject({ treasury: Wallet, reason: oneLine(400).trim().min(1) }),
  limit: 'none',
  idempotency: 'none',
  output: RetiredSchema,
  run: async (ctx, _actor, { treasury, reason }): Promise<z.infer<typeof RetiredSchema>> => {
    await requireAwaitable(ctx, treasury)
    return ctx.change(
      async (trx) => {
        const purses = Number(await retireTreasury(trx, treasury))
        if (purses === 0) throw new AppError('not_found', { message: 'The market has never read this treasury.' })
        return { treasury, purses }
      },
      (after) => ({ subject: treasury, before: null, after: { ...after, reason } }),
    )
  },
})
