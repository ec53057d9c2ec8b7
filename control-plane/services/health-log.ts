import { z } from 'zod'
import type { HealthEvent } from '#shared/contract/health-event.ts'
import { HealthEventSchema } from '#shared/contract/health-event.ts'
import { redact } from '#shared/errors.ts'
import { insertHealthEvents } from '../db/health-log.ts'
import type { Ctx } from '../operation.ts'

const Batch = z.object({ v: z.literal(1), events: z.array(z.unknown()).max(10_000) })

/** Stores a batch of health events; those that are not of the contract are counted in the log and dropped. */
export async function storeHealthEvents(ctx: Pick<Ctx, 'db' | 'log'>, data: unknown): Promise<void> {
  const batch = Batch.safeParse(data)
  if (!batch.success) {
    ctx.log.warn('a batch of health events was not readable')
    return
  }
  const events: HealthEvent[] = []
  for (const raw of batch.data.events) {
    const event = HealthEventSchema.safeParse(raw)
    if (event.success) events.push({ ...event.data, detail: redact(event.data.detail) })
  }
  const dropped = batch.data.events.length - events.length
  if (dropped > 0) ctx.log.warn({ dropped }, 'health events were not readable')
  if (events.length > 0) await insertHealthEvents(ctx.db, events)
}
