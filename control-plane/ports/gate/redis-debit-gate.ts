import type { Redis } from 'ioredis'
import type { ScriptBatch } from '#shared/contract/money-scripts/batch.ts'
import { decodeAnswers, placeOf } from '#shared/contract/money-scripts/batch.ts'
import { decodeReserve, encodeReserve } from '#shared/contract/money-scripts/reserve.ts'
import { encodeSettle } from '#shared/contract/money-scripts/settle.ts'
import type { MoneyScript } from '#shared/contract/money-scripts.ts'
import { moneyScripts, parseMoneyEpoch, readHold } from '#shared/contract/money-scripts.ts'
import { moneyKeys } from '#shared/contract/redis-keys.ts'
import { AppError } from '#shared/errors.ts'
import type { AccountId } from '#shared/ids.ts'
import { gateClosed } from '#shared/ledger/gate-closed.ts'
import type { DebitGate } from './debit-gate.ts'

/** The owner in the record of the hold. */
const OWNER = 'ledger'
/** A hold with less time left than this may end before its debit is posted. */
const LEAST_LEFT_MS = 60_000

/** Debit holds in Redis. They use the scripts of calls, with the ledger key in place of a request id. */
export function createRedisDebitGate({ redis, buckets }: { redis: Redis; buckets: number }): DebitGate {
  const run = async (script: MoneyScript, { keys, args }: ScriptBatch): Promise<unknown> =>
    redis.evalsha(script.sha, keys.length, ...keys, ...args).catch((error: unknown) => {
      throw gateClosed(error)
    })
  const present = async () => {
    const text = await redis.get(moneyKeys.epoch).catch((error: unknown) => {
      throw gateClosed(error)
    })
    const epoch = parseMoneyEpoch(text)
    if (epoch?.phase !== 'open') throw gateClosed()
    return epoch.epoch
  }

  async function free({ id, account }: Parameters<DebitGate['free']>[0]): Promise<void> {
    const epoch = await present()
    const subject = { rid: id, account, keyId: null, node: OWNER }
    const release = { kind: 'release', reason: 'booked', event: null, ...subject } as const
    const batch = encodeSettle(placeOf(account, buckets, epoch), [release])
    const [answer] = decodeAnswers(await run(moneyScripts(epoch).settle, batch), 1)
    if (answer?.kind !== 'done') throw gateClosed()
  }

  /**
   * True when the hold is open in this epoch and lasts long enough. An open hold of an older epoch has a record and no
   * money. A hold that would expire during the posting is ended now.
   */
  const isHeld = async (id: string, account: AccountId, epoch: number): Promise<boolean> => {
    const key = moneyKeys.hold(placeOf(account, buckets, epoch).bucket, id)
    const [fields, [seconds]] = await Promise.all([redis.hgetall(key), redis.time()]).catch((error: unknown) => {
      throw gateClosed(error)
    })
    const hold = readHold(fields)
    if (hold?.state !== 'open' || hold.epoch !== epoch) return false
    if (hold.expiresAt - Number(seconds) * 1_000 > LEAST_LEFT_MS) return true
    await free({ id, account })
    return false
  }

  return {
    async hold({ id, account, amountMicro, ttlMs }) {
      const epoch = await present()
      const amounts = { wantMicro: amountMicro, minMicro: amountMicro, dailyCapMicro: null, monthlyCapMicro: null }
      const operation = { rid: id, account, keyId: null, node: OWNER, ttlMs, ...amounts }
      const batch = encodeReserve(placeOf(account, buckets, epoch), [operation])
      const [answer] = decodeReserve(await run(moneyScripts(epoch).reserve, batch), 1)
      switch (answer?.kind) {
        case 'granted':
          return { kind: 'held', epoch }
        case 'duplicate':
          return (await isHeld(id, account, epoch)) ? { kind: 'held', epoch } : { kind: 'ended' }
        case 'insufficient':
          return { kind: 'insufficient', availableMicro: answer.availableMicro }
        case 'unseeded':
          return { kind: 'unseeded' }
        case 'stale':
          throw gateClosed()
        default:
          throw new AppError('internal_error', { cause: new Error('the gate refused to set a debit aside') })
      }
    },
    free,
  }
}
