import { z } from 'zod'
import { readAgain } from '#control-plane/db/treasury-moves.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { newMoveMemory } from '#control-plane/ports/treasury/move-parts.ts'
import { Wallet } from '#control-plane/services/input-fields.ts'
import { oneLine } from '#shared/texts.ts'
import { requireAwaitable, requireMoves } from './move-ctx.ts'
import { beginReading } from './read-moves.ts'

const AwaitedSchema = z.object({
  treasury: z.string(),
  /** The first block that is read, as decimal digits. */
  firstBlock: z.string(),
})

/**
 * Names a former treasury that a restored ledger lacks, because its first and last use were both in the lost time. The
 * hold on the ledger then waits until the treasury's transfers are read, from the block at the time of the restored
 * backup. Throws `conflict` for the treasury of the settings, while no hold is set, and where no treasury is read.
 */
export const awaitFormerTreasury = defineOperation({
  name: 'treasury.await',
  summary: 'Add a former treasury that a restore lost',
  about: 'A restored ledger stays on hold until the outgoing transfers of this treasury are read.',
  access: 'operator',
  input: z.strictObject({ treasury: Wallet, reason: oneLine(400).trim().min(1) }),
  limit: 'none',
  idempotency: 'none',
  output: AwaitedSchema,
  run: async (ctx, _actor, { treasury, reason }): Promise<z.infer<typeof AwaitedSchema>> => {
    const own = requireMoves(ctx)
    await requireAwaitable(ctx, treasury)
    // The first block in the settings belongs to the treasury in the settings.
    const moves = { ...own, treasury, firstBlock: null, isFormer: true, memory: newMoveMemory() }
    const firstBlock = String(await beginReading({ ...ctx, moves }))
    return ctx.change(
      async (trx) => {
        await readAgain(trx, treasury)
        return { treasury, firstBlock }
      },
      (after) => ({ subject: treasury, before: null, after: { ...after, reason } }),
    )
  },
})
