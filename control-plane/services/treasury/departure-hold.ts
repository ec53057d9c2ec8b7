import { z } from 'zod'
import type { RunCtx } from '#control-plane/operation/operation.ts'
import { Count, UnixMs } from '#control-plane/services/view-fields.ts'
import type { HoldReason } from './lift-hold.ts'
import { findReason, HOLD_WAITS } from './lift-hold.ts'

/** Why nothing leaves after the ledger went back in time. */
export const DepartureHoldSchema = z
  .object({
    since: UnixMs.describe('Since when nothing leaves, in Unix milliseconds.'),
    waitsFor: z
      .enum([...HOLD_WAITS, 'endpoint'])
      .describe(
        'The journals of the data planes, the blocks of the chain, transfers that are in no books, an operator’s word on a treasury of before, or the endpoint of the chain.',
      ),
    treasury: z.string().nullable().describe('The treasury whose blocks or transfers are awaited.'),
    block: Count.nullable().describe('The last block of it that was read and proven.'),
    until: UnixMs.nullable().describe('The instant past which its blocks have to be read.'),
    open: z
      .array(z.string())
      .readonly()
      .describe('Transactions, or ids of transfers, that are not in the books as what they are. The first 20.'),
  })
  .meta({ id: 'DepartureHold' })
export type DepartureHold = z.infer<typeof DepartureHoldSchema>

const ENDPOINT = { wait: 'endpoint', treasury: null, block: null, until: null, open: [] } as const

type HoldCtx = Pick<RunCtx, 'db' | 'ids' | 'log' | 'ledger' | 'moves' | 'treasury'>

/** The hold of a ledger that went back in time; null while money may leave. */
export async function readDepartureHold(ctx: HoldCtx): Promise<DepartureHold | null> {
  const record = await ctx.ledger.readEpoch()
  const { heldAt } = record
  if (heldAt === undefined) return null
  const found = await findReason(ctx, record).catch((error: unknown): typeof ENDPOINT => {
    ctx.log.debug({ err: error }, 'the chain does not say what the hold waits for')
    return ENDPOINT
  })
  // The worker lifts it with its next look.
  return found === undefined ? null : viewOf(heldAt, found)
}

function viewOf(since: number, { wait, block, ...rest }: HoldReason | typeof ENDPOINT): DepartureHold {
  return { since, waitsFor: wait, ...rest, block: block === null ? null : Number(block) }
}
