import type { Processes } from '#data-plane/journal/processes.ts'
import type { SimProcess } from '#test/sim/time/scheduler.ts'
import type { DataNode, NodeParts } from './data-node.ts'
import { openNode } from './data-node.ts'
import { createDisk } from './memory-files.ts'

/** A machine that runs data-plane processes one after the other over one disk. */
export type Machine = {
  readonly id: string
  /** The process that serves calls. Undefined while none is running. */
  node(): DataNode | undefined
  process(): SimProcess | undefined
  /** The number of the process before the present one. Undefined unless the present one has all its records. */
  former(): number | undefined
  boot(): void
  /** Kills the process (SIGKILL). Bytes that the kernel has stay. */
  kill(): void
  /** Cuts the power. Unsynced bytes are lost. */
  cutPower(): void
  /** Replaces the disk by an empty one. */
  loseDisk(): void
  failDisk(count: number): void
  /** Stops gracefully, once its calls are over. */
  stop(): Promise<void>
}

/** Milliseconds that calls may still run when their process ends gracefully. */
const DRAIN_MS = 10_000
/** Milliseconds until the kernel has a record, because the process gathers records before it writes them. */
const UNWRITTEN_MS = 10
/** Milliseconds within which a journal begins a new segment after a failure of its disk. */
const RECOVERY_MS = 35_000

/** Called when a process dies. Its records since `unwrittenSince` may not have reached the disk. */
type OnDeath = (pid: number, unwrittenSince: number) => void

export function createMachine(parts: NodeParts, id: string, onDeath: OnDeath): Machine {
  const { scheduler, random } = parts.watch.ground
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
    const seam = { files: disk.files(process), processes: processesOf(process) }
    return openNode(parts, { id, process, random: random.fork(`ids ${process.pid}`), ...seam })
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
    // A supervisor retries a failed start.
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
      // A clock may have jumped meanwhile. The failure is long past then, but the disk has had no time to take records
      // since.
      const isFailing = now - failedAt < RECOVERY_MS || !disk.hasRecovered()
      const since = isFailing ? scheduler.before(failedAt, RECOVERY_MS) : scheduler.before(now, UNWRITTEN_MS)
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
      const { time } = node.process
      const deadline = time.monotonic() + DRAIN_MS
      while (node.calls.running > 0) {
        node.plane.process.ending.isDue = time.monotonic() >= deadline
        await time.sleep(20)
      }
      await node.close()
      if (running === own) kill()
    },
  }
}
