import { z } from 'zod'
import type { MoneyRecord } from '#control-plane/db/money-epoch.ts'
import type { RunCtx } from '#control-plane/operation/operation.ts'
import type { HoldReason } from '#control-plane/ports/treasury/hold-reason.ts'
import { HOLD_WAITS } from '#control-plane/ports/treasury/hold-reason.ts'
import type { KeptHold } from '#control-plane/ports/treasury/move-parts.ts'
import { Count, UnixMs } from '#control-plane/services/view-fields.ts'
import { SECOND } from '#shared/clock.ts'
import { findReason } from './lift-hold.ts'

/** The reason why no money leaves after a restore of the ledger. */
export const DepartureHoldSchema = z
  .object({
    since: UnixMs.describe('The start of the hold, in Unix milliseconds.'),
    waitsFor: z
      .enum([...HOLD_WAITS, 'endpoint'])
      .describe(
        'The hold waits for the journals of the data planes, for blocks of the chain, for transfers that are in no books, for an operator’s word on a former treasury, or for the endpoint of the chain.',
      ),
    treasury: z.string().nullable().describe('The treasury whose blocks or transfers are awaited.'),
    block: Count.nullable().describe('The last block of the chain that was read and confirmed.'),
    until: UnixMs.nullable().describe('The instant up to which blocks have to be read.'),
    open: z
      .array(z.string())
      .readonly()
      .describe('Transactions, or ids of transfers, that the books lack or have wrongly. The first 20.'),
  })
  .meta({ id: 'DepartureHold' })
export type DepartureHold = z.infer<typeof DepartureHoldSchema>

const ENDPOINT = { wait: 'endpoint', treasury: null, block: null, until: null, open: [] } as const
/** Time for which one answer of the chain serves all readers. */
const KEPT_MS = 5 * SECOND

type HoldCtx = Pick<RunCtx, 'db' | 'ids' | 'log' | 'clock' | 'ledger' | 'moves' | 'treasury'>

/** The hold of a restored ledger; null while money may leave. */
export async function readDepartureHold(ctx: HoldCtx): Promise<DepartureHold | null> {
  const record = await ctx.ledger.readEpoch()
  const { heldAt } = record
  if (heldAt === undefined) return null
  const holdReason = await keptReason(ctx, record)
  // The worker lifts the hold at its next turn.
  return holdReason === undefined ? null : viewOf(heldAt, holdReason === 'endpoint' ? ENDPOINT : holdReason)
}

/** The reason of the hold, at most {@link KEPT_MS} old. Concurrent readers share one read of the chain. */
function keptReason(ctx: HoldCtx, record: MoneyRecord): KeptHold['reason'] {
  const { moves, clock } = ctx
  const of = `${record.heldAt} ${record.joinedAt}`
  const at = clock.monotonic()
  const keptHold = moves?.memory.hold
  if (keptHold?.of === of && at - keptHold.at < KEPT_MS) return keptHold.reason
  const reason = findReason(ctx, record).catch((error: unknown) => {
    ctx.log.debug({ err: error }, 'the chain did not answer about the hold')
    return 'endpoint' as const
  })
  if (moves !== null) moves.memory.hold = { of, at, reason }
  return reason
}

function viewOf(since: number, { wait, block, ...rest }: HoldReason | typeof ENDPOINT): DepartureHold {
  return { since, waitsFor: wait, ...rest, block: block === null ? null : Number(block) }
}
