import { z } from 'zod'
import type { CallTimes } from '#control-plane/db/call-times.ts'
import { measureCallTimes } from '#control-plane/db/call-times.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { PERIOD_NAMES, readWindow } from '#control-plane/services/usage-window.ts'

/** Calls that are looked at: enough for a 95th percentile, and quickly read. */
const NEWEST_CALLS = 20_000

/** `since` in Unix milliseconds. */
export type Latency = CallTimes & { readonly since: number }

/** How long the caller's calls took: the newest 20,000 successful ones of a period. */
export const getLatency = defineOperation({
  name: 'latency.get',
  access: 'buyer',
  input: z.strictObject({ period: z.enum(PERIOD_NAMES).default('24h') }),
  limit: 'read',
  idempotency: 'none',
  run: async (ctx, actor, { period }): Promise<Latency> => {
    const { from: since } = readWindow({ period }, ctx.clock.now(), period)
    return { since, ...(await measureCallTimes(ctx.db, actor.account, { since, limit: NEWEST_CALLS })) }
  },
})
