import { z } from 'zod'
import type { JobWithEnd } from '#control-plane/db/jobs.ts'
import { Count, MicroDigits, UnixMs } from '#control-plane/services/view-fields.ts'
import { readUsageEvent } from '#shared/contract/usage-event.ts'
import { soldUnit } from '#shared/price-units.ts'

/** A long job of the caller. Instants are Unix milliseconds, amounts micro-USD as plain digits. */
export const BuyerJobSchema = z
  .object({
    /** The request id of its submit, which every look-up accepts. */
    id: z.string(),
    model: z.string(),
    provider: z.string().nullable(),
    endpoint: z.string(),
    /** The kind of output: `video` or `music`. */
    kind: z.string(),
    keyId: z.string().nullable(),
    /** `running` until its end is booked, then the kind of end. */
    state: z.enum(['running', 'succeeded', 'failed', 'cancelled']),
    submittedAt: UnixMs,
    /** The deadline. A job that its provider has not finished by then costs nothing. */
    deadlineAt: UnixMs,
    endedAt: UnixMs.nullable(),
    /** The amount set aside for it, and its final cost. */
    quoteMicro: MicroDigits,
    chargeMicro: MicroDigits.nullable(),
    /** The unit of its price, as price lists name it; null for a job without a unit. */
    unit: z.string().nullable(),
    /** The number of units that it used; null until its end is booked. */
    units: z.number().min(0).nullable(),
    /** The number of its files; null until it is known. */
    artifacts: Count.nullable(),
  })
  .meta({ id: 'Job', description: 'A long call of a buyer: its state, its files and its cost.' })
export type BuyerJob = z.infer<typeof BuyerJobSchema>

export function viewOfJob({
  rid,
  keyId,
  quote,
  event,
  deadlineAt,
  endedAt,
  endEvent,
  artifacts,
}: JobWithEnd): BuyerJob {
  const submit = readUsageEvent(event)
  const end = endedAt === null || endEvent === null ? undefined : readUsageEvent(endEvent)
  const { unitPrices, bound } = submit?.job ?? {}
  const sold = unitPrices && bound && soldUnit(unitPrices, bound)
  return {
    id: rid,
    model: submit?.model ?? '',
    provider: submit?.provider ?? null,
    endpoint: submit?.endpoint ?? '',
    kind: submit?.wire ?? '',
    keyId,
    state: endedAt === null ? 'running' : stateOf(end?.outcome),
    submittedAt: submit?.startedAt ?? 0,
    deadlineAt: deadlineAt.getTime(),
    // Without its event, a job ended when its end was booked.
    endedAt: endedAt === null ? null : (end?.endedAt ?? endedAt.getTime()),
    quoteMicro: quote.toString(),
    chargeMicro: end?.chargeMicro.toString() ?? null,
    unit: sold?.unit ?? null,
    units: sold && end ? (end.usage[sold.name] ?? 0) / sold.size : null,
    artifacts,
  }
}

function stateOf(outcome: string | undefined): BuyerJob['state'] {
  return outcome === 'succeeded' || outcome === 'cancelled' ? outcome : 'failed'
}
