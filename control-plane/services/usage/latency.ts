import { z } from 'zod'
import { measureCallTimes } from '#control-plane/db/call-times.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { Count, UnixMs } from '#control-plane/services/view-fields.ts'
import { PERIOD_NAMES, readWindow } from './usage-window.ts'

/** Most calls that are read: enough for a 95th percentile, and quick to read. */
const NEWEST_CALLS = 20_000

export const PercentilesSchema = z.object({
  p50: z.number(),
  p95: z.number(),
})
export const LatencySchema = z.object({
  calls: Count,
  timed: z.number(),
  ttftMs: PercentilesSchema.nullable(),
  durationMs: PercentilesSchema.nullable(),
  since: UnixMs,
})
export type Latency = z.infer<typeof LatencySchema>

/** Measures the duration of the caller's newest 20,000 successful calls in a period. */
export const getLatency = defineOperation({
  name: 'latency.get',
  summary: 'Get the latency of calls',
  about: 'The newest 20,000 successful calls of a period.',
  access: 'buyer',
  input: z.strictObject({ period: z.enum(PERIOD_NAMES).default('24h') }),
  limit: 'read',
  idempotency: 'none',
  output: LatencySchema,
  run: async (ctx, actor, { period }): Promise<Latency> => {
    const { from: since } = readWindow({ period }, ctx.clock.now(), period)
    return { since, ...(await measureCallTimes(ctx.db, actor.account, { since, limit: NEWEST_CALLS })) }
  },
})
