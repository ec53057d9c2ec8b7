import type { Redis } from 'ioredis'
import { z } from 'zod'
import { DAY } from '#shared/clock.ts'
import { cacheKeys } from '#shared/contract/redis-keys.ts'
import type { RequestId } from '#shared/ids.ts'
import type { Logger } from '#shared/logger.ts'

/** Larger answers are not kept. Their payment says how it stands and no more. In bytes. */
const MAX_KEPT_BYTES = 262_144
/** An answer is kept for as long as its payment can be shown again. */
const KEPT_MS = DAY

const PaidAnswerSchema = z.object({ headers: z.record(z.string(), z.string()), body: z.string() })
export type PaidAnswer = z.infer<typeof PaidAnswerSchema>

/** Whole answers that wallets paid for. Losing one costs its buyer nothing but the second look. */
export type PaidAnswers = {
  keep(rid: RequestId, answer: Pick<PaidAnswer, 'headers'> & { readonly body: string | readonly Buffer[] }): void
  /** Undefined for an answer that was not kept, and while Redis is out of reach. */
  find(rid: RequestId): Promise<PaidAnswer | undefined>
}

export function createPaidAnswers(redis: Redis, log: Logger): PaidAnswers {
  return {
    keep(rid, { headers, body: whole }) {
      const bytes = typeof whole === 'string' ? whole.length : whole.reduce((sum, { length }) => sum + length, 0)
      if (bytes > MAX_KEPT_BYTES) return
      const body = typeof whole === 'string' ? whole : Buffer.concat(whole).toString('utf8')
      redis
        .set(cacheKeys.paidAnswer(rid), JSON.stringify({ headers, body }), 'PX', KEPT_MS)
        .catch((error: unknown) => log.debug({ err: error, rid }, 'a paid answer was not kept'))
    },
    async find(rid) {
      const text = await redis.get(cacheKeys.paidAnswer(rid)).catch(() => null)
      return text === null ? undefined : PaidAnswerSchema.parse(JSON.parse(text))
    },
  }
}
