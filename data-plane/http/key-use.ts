import { z } from 'zod'
import type { KeyUse } from '#data-plane/reads/key.ts'
import { DAY, nextUtcDay, utcMonth } from '#shared/clock.ts'
import type { MicroUsd } from '#shared/money.ts'
import { microUsd, sum } from '#shared/money.ts'
import { askControl } from './ask-control.ts'

/** Days of use that are read: a month and a day. */
const DAYS_READ = 32

const Buckets = z.object({
  buckets: z.array(
    z.object({
      bucket: z.number().int(),
      buyer_cost_micro: z
        .number()
        .int()
        .nonnegative()
        .transform((micro) => microUsd(BigInt(micro))),
    }),
  ),
})
type Bucket = z.infer<typeof Buckets>['buckets'][number]

type Question = { readonly upstream: string; readonly authorization: string; readonly keyId: string }

/**
 * Reads a key's use from the ledger, which only the control plane sees; undefined while the control plane does not
 * answer. A call counts once it is booked.
 */
export async function fetchKeyUse(question: Question, now: number): Promise<KeyUse | undefined> {
  try {
    const [months, days] = await Promise.all([
      fetchBuckets(question, 'period=lifetime&interval=month'),
      fetchBuckets(question, `from=${now - DAYS_READ * DAY}&interval=day`),
    ])
    const today = nextUtcDay(now) - DAY
    return {
      totalMicro: sumSince(months, 0),
      monthMicro: sumSince(days, Date.parse(`${utcMonth(now)}-01`)),
      weekMicro: sumSince(days, today - daysSinceMonday(today) * DAY),
      dayMicro: sumSince(days, today),
    }
  } catch {
    return undefined
  }
}

async function fetchBuckets({ upstream, authorization, keyId }: Question, window: string): Promise<readonly Bucket[]> {
  const path = `/v1/buyer/usage/buckets?key_id=${encodeURIComponent(keyId)}&${window}`
  const answer = await askControl(upstream, path, authorization)
  if (answer.status !== 200) throw new Error(`the control plane answered ${answer.status}`)
  return Buckets.parse(await answer.json()).buckets
}

function sumSince(buckets: readonly Bucket[], since: number): MicroUsd {
  return sum(buckets.flatMap(({ bucket, buyer_cost_micro: cost }) => (bucket < since ? [] : [cost])))
}

function daysSinceMonday(at: number): number {
  return (new Date(at).getUTCDay() + 6) % 7
}
