import type { Redis } from 'ioredis'
import { z } from 'zod'
import { MINUTE } from '#shared/clock.ts'
import { cacheKeys } from '#shared/contract/redis-keys.ts'
import type { AccountId, RequestId } from '#shared/ids.ts'

/** A call runs for ten minutes at most and is booked a moment after its end. */
const RUNNING_MS = 11 * MINUTE
const OVER_MS = MINUTE

/** The facts of a call before its end. */
export type RunningCall = { readonly account: AccountId | null; readonly model: string; readonly isStreamed: boolean }

/** A call at a provider of the buyer's own. It is running, or over with its usage event as text. */
export type OwnCall = Omit<z.infer<typeof OwnCallSchema>, 'account'>

const OwnCallSchema = z.object({
  account: z.string().nullable(),
  model: z.string(),
  isStreamed: z.boolean(),
  event: z.string().optional(),
})

type Ended = { readonly rid: string; readonly account: AccountId | null }

/**
 * Notes about calls that the gate does not know. Any process can look them up until they are booked. No call waits for
 * a note.
 */
export type OwnCalls = {
  begun(rid: RequestId, call: RunningCall): void
  ended(call: Ended, event: string): void
  /** Removes the note of a call that was refused after it began. Such a call is not booked. */
  refused(rid: RequestId): void
  /** Undefined for a call of another account, for an unknown one, and while Redis is out of reach. */
  find(account: AccountId, rid: RequestId): Promise<OwnCall | undefined>
}

export function createOwnCalls(redis: Pick<Redis, 'set' | 'get' | 'del'>): OwnCalls {
  const unnoted = () => undefined
  const note = (rid: string, call: z.input<typeof OwnCallSchema>, ttlMs: number) => {
    redis.set(cacheKeys.ownCall(rid), JSON.stringify(call), 'PX', ttlMs).catch(unnoted)
  }
  return {
    begun: (rid, call) => note(rid, call, RUNNING_MS),
    // The event holds the model and the route of the answer.
    ended: ({ rid, account }, event) => note(rid, { account, model: '', isStreamed: false, event }, OVER_MS),
    refused: (rid) => void redis.del(cacheKeys.ownCall(rid)).catch(unnoted),
    async find(account, rid) {
      const text = await redis.get(cacheKeys.ownCall(rid)).catch(unnoted)
      if (text === undefined || text === null) return undefined
      const call = OwnCallSchema.parse(JSON.parse(text))
      return call.account === account ? call : undefined
    },
  }
}
