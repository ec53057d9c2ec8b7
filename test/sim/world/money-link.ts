import type { MoneyConnection, MoneyListeners } from '#data-plane/store/money-connection.ts'
import { CHANNELS } from '#shared/contract/redis-keys.ts'
import { createLink } from '#test/sim/redis/redis-link.ts'
import type { SimProcess } from '#test/sim/time/scheduler.ts'
import type { Ground } from './ground.ts'

/** The three connections of the money path, over links in memory. */
export function connectMoney(
  { scheduler, redis }: Ground,
  owner: SimProcess,
  listeners: MoneyListeners,
): MoneyConnection {
  let isReady = false
  const common = { scheduler, host: redis, owner }
  const writes = createLink({
    ...common,
    onReady() {
      writes.client.info('server').then(
        (text) => {
          const runId = /run_id:(\w+)/.exec(text)?.[1]
          if (runId === undefined || !writes.isReady()) return
          isReady = true
          listeners.onReady(runId)
        },
        () => undefined,
      )
    },
    onLost() {
      if (!isReady) return
      isReady = false
      listeners.onLost()
    },
  })
  const reads = createLink({ ...common, timeoutMs: 500 })
  redis.server.onPublish((channel) => {
    if (channel !== CHANNELS.money || !reads.isReady()) return
    scheduler.after(redis.latency(), listeners.onEpochNews, owner)
  })
  return {
    isReady: () => isReady,
    run: (script, { keys, args }) => writes.client.evalsha(script.sha, keys.length, ...keys, ...args),
    writes: writes.client,
    reads: reads.client,
    close() {
      isReady = false
      writes.close()
      reads.close()
    },
  }
}
