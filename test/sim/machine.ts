import type { OpenJournal } from '#data-plane/journal/journal.ts'
import { openJournal } from '#data-plane/journal/journal.ts'
import type { Processes } from '#data-plane/journal/processes.ts'
import type { FundsStore } from '#data-plane/store/funds.ts'
import { openFunds } from '#data-plane/store/funds.ts'
import type { MoneyConnection, MoneyListeners } from '#data-plane/store/money-connection.ts'
import type { OfferCapsStore } from '#data-plane/store/offer-caps.ts'
import { createOfferCaps } from '#data-plane/store/offer-caps.ts'
import { CHANNELS } from '#shared/contract/redis-keys.ts'
import type { Ids } from '#shared/ids.ts'
import { createIds } from '#shared/ids.ts'
import type { Ground } from './ground.ts'
import { BUCKETS, log } from './ground.ts'
import { createDisk } from './memory-files.ts'
import { createLink } from './redis-link.ts'
import type { SimProcess } from './scheduler.ts'

/** A data-plane process as far as money goes. */
export type DataNode = {
  readonly process: SimProcess
  readonly ids: Ids
  readonly journal: OpenJournal
  readonly funds: FundsStore
  readonly caps: OfferCapsStore
  /** Calls that it serves now; one that ends takes no more. */
  readonly calls: { running: number; isEnding: boolean }
}

/** A machine that data-plane processes run on, one after the other, over one disk. */
export type Machine = {
  readonly id: string
  /** The process that serves calls, once it is up. */
  node(): DataNode | undefined
  process(): SimProcess | undefined
  /** The id of the process before the present one, if that has found all that it had written. */
  former(): number | undefined
  boot(): void
  /** SIGKILL: what was handed to the kernel stays. */
  kill(): void
  /** What was not synced is gone. */
  cutPower(): void
  /** The disk is gone with all that is on it. */
  loseDisk(): void
  failDisk(count: number): void
  /** Ends like an orderly stop does, once its calls are over. */
  stop(): Promise<void>
}

const SEGMENT_BYTES = 24 * 1024
const JOURNAL = '/journal'

/** Records gather for so long, and are a while on their way, before the kernel has them. */
const UNWRITTEN_MS = 10
/** A journal whose disk failed begins a new segment within this. */
const RECOVERY_MS = 35_000

/** Told when a process dies: what it wrote down after that instant may not have reached its disk. */
type OnDeath = (pid: number, unwrittenSince: number) => void

export function createMachine(ground: Ground, id: string, onDeath: OnDeath): Machine {
  const { scheduler, random } = ground
  const disk = createDisk(scheduler, random.fork(`disk ${id}`))
  const boots = new Map<number, SimProcess>()
  let former: number | undefined
  let isWhole = true
  let running: { readonly process: SimProcess; node: DataNode | undefined } | undefined

  function processesOf(own: SimProcess): Processes {
    return {
      own: async () => ({ pid: own.pid, startTicks: own.pid.toString(), host: id }),
      isAlive: async ({ pid }) => boots.get(pid)?.isAlive() ?? false,
    }
  }

  async function start(process: SimProcess): Promise<DataNode> {
    const bytes = random.fork(`ids ${process.pid}`)
    const ids = createIds(process.time, (pool) => {
      for (let index = 0; index < pool.length; index++) pool[index] = bytes.between(0, 255)
    })
    const clock = process.time
    const journal = await openJournal({
      dir: JOURNAL,
      node: id,
      boot: ids.ulid(),
      clock,
      log,
      files: disk.files(process),
      processes: processesOf(process),
      segmentBytes: SEGMENT_BYTES,
      preparedBytes: 0,
    })
    const onOpen: (() => void)[] = []
    const funds = openFunds({
      connect: (listeners) => connect(ground, process, listeners),
      buckets: BUCKETS,
      clock,
      log,
      journal: journal.replay('credit'),
      onOpen: () => onOpen.forEach((run) => void run()),
    })
    const caps = createOfferCaps({ gate: funds.gate, clock, log })
    onOpen.push(() => void caps.resume().catch(() => undefined))
    return { process, ids, journal, funds, caps, calls: { running: 0, isEnding: false } }
  }

  function boot(): void {
    if (running?.process.isAlive() === true) return
    const process = scheduler.process(id)
    process.setSkew(random.between(-3_000, 3_000))
    former = isWhole ? [...boots.keys()].at(-1) : undefined
    isWhole = true
    boots.set(process.pid, process)
    const state: typeof running = { process, node: undefined }
    running = state
    // A start that fails is tried again by whoever looks after processes.
    const again = () => {
      process.kill()
      scheduler.after(500, () => running === state && boot())
    }
    start(process).then((node) => {
      state.node = node
    }, again)
  }

  function kill(): void {
    if (running?.process.isAlive() === true) {
      const now = running.process.lastActive()
      const failedAt = disk.failedAt()
      // A clock may have jumped meanwhile: then it failed long ago and has had no time to take anything.
      const isFailing = now - failedAt < RECOVERY_MS || !disk.hasRecovered()
      const since = isFailing ? failedAt - RECOVERY_MS : now - UNWRITTEN_MS
      onDeath(running.process.pid, since)
    }
    running?.process.kill()
    running = undefined
  }

  return {
    id,
    node: () => (running?.process.isAlive() === true ? running.node : undefined),
    process: () => running?.process,
    former: () => former,
    boot,
    kill,
    cutPower() {
      kill()
      isWhole = false
      disk.cutPower()
    },
    loseDisk() {
      kill()
      isWhole = false
      disk.replace()
    },
    failDisk: disk.failNext,
    async stop() {
      const own = running
      const node = own?.node
      if (node === undefined) return kill()
      node.calls.isEnding = true
      while (node.calls.running > 0) await node.process.time.sleep(20)
      await node.funds.leave(2_000)
      await node.journal.close()
      if (running === own) kill()
    },
  }
}

/** The three connections of the money path, over links in memory. */
function connect({ scheduler, redis }: Ground, owner: SimProcess, listeners: MoneyListeners): MoneyConnection {
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
