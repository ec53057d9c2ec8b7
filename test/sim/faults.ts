import { violation } from './checks.ts'
import type { Operation } from './plan.ts'
import type { World } from './world.ts'

type RedisOperation = Extract<Operation, { kind: `redis${string}` }>

/** What befalls Redis, and what the model has to know of it. */
export function applyRedis({ ground, model }: World, operation: RedisOperation): void {
  const { redis, queue, scheduler } = ground
  const forget = (since: number) => {
    model.hasLostCaps = true
    model.befall('redis_lost', () => true)
    queue.lose(since)
  }
  switch (operation.kind) {
    case 'redis':
      if (operation.what === 'restart') return redis.restart()
      redis.flush()
      forget(0)
      return queue.clear()
    case 'redis_older':
      redis.lose(operation.ms)
      return forget(scheduler.wall() - operation.ms)
    case 'redis_down':
      redis.stop()
      return void scheduler.after(operation.ms, () => {
        redis.restart()
        redis.start()
      })
    case 'redis_frozen':
      redis.freeze()
      return void scheduler.after(operation.ms, redis.thaw)
    case 'redis_slow':
      redis.setSlow(true)
      return void scheduler.after(operation.ms, () => redis.setSlow(false))
  }
}

type ProcessOperation = Extract<
  Operation,
  { kind: 'kill' | 'power' | 'disk' | 'stop' | 'freeze' | 'disk_error' | 'skew' | 'kill_worker' | 'crash_at' }
>

/** What befalls processes and their machines. */
export function applyProcess(world: World, operation: ProcessOperation): void {
  const { ground, machines, workers, model } = world
  const { scheduler } = ground
  if (operation.kind === 'kill_worker') {
    const worker = workers[operation.worker % workers.length]
    worker?.kill()
    return void scheduler.after(operation.downMs, () => worker?.boot())
  }
  if (operation.kind === 'crash_at') return crashAt(world, operation)
  const machine = machines[operation.machine % machines.length]
  if (machine === undefined) return
  const later = (ms: number, run: () => void) => void scheduler.after(ms, run)
  switch (operation.kind) {
    case 'kill':
      machine.kill()
      return later(operation.downMs, machine.boot)
    case 'power':
      model.befall('journal_lost', (request) => request.machine === machine.id)
      machine.cutPower()
      return later(operation.downMs, machine.boot)
    case 'disk':
      model.befall('journal_lost', (request) => request.machine === machine.id)
      machine.loseDisk()
      return later(operation.downMs, machine.boot)
    case 'stop':
      return void machine.stop().then(() => later(operation.downMs, machine.boot))
    case 'freeze': {
      const process = machine.process()
      process?.freeze()
      return later(operation.ms, () => process?.thaw())
    }
    case 'disk_error':
      return machine.failDisk(operation.count)
    case 'skew':
      return machine.process()?.setSkew(operation.ms)
    default:
      throw violation('simulation', 'an operation that nobody applies')
  }
}

/** Arms one death at a named place. Its victim is one of the machines, or after them one of the workers. */
function crashAt({ ground, machines, workers }: World, operation: Extract<Operation, { kind: 'crash_at' }>): void {
  const victim = [...machines, ...workers][operation.victim % (machines.length + workers.length)]
  ground.crash.arm(operation.point, () => {
    victim?.kill()
    ground.scheduler.after(operation.downMs, () => victim?.boot())
  })
}
