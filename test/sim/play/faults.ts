import { isOnDisk } from '#test/sim/model/model.ts'
import type { Operation } from '#test/sim/plan/plan.ts'
import { violation } from '#test/sim/time/violation.ts'
import type { World } from '#test/sim/world/world.ts'

type RedisOperation = Extract<Operation, { kind: `redis${string}` }>

/** Applies an operation to Redis, and notes its effects in the model. */
export function applyRedis({ ground, model }: World, operation: RedisOperation): void {
  const { redis, queue, scheduler, postgres } = ground
  const forget = (since: number) => {
    model.befall('redis_lost', () => true)
    model.forgottenAt = scheduler.now()
    model.bookedThen = new Set(postgres.tables().jobs.keys())
    queue.lose(since)
  }
  switch (operation.kind) {
    case 'redis':
      if (operation.what === 'restart') {
        redis.restart()
        return
      }
      redis.flush()
      forget(0)
      queue.clear()
      return
    case 'redis_older':
      redis.lose(operation.ms)
      forget(scheduler.wall() - operation.ms)
      return
    case 'redis_down':
      redis.stop()
      scheduler.after(operation.ms, () => {
        redis.restart()
        redis.start()
      })
      return
    case 'redis_frozen':
      redis.freeze()
      scheduler.after(operation.ms, redis.thaw)
      return
    case 'redis_slow':
      redis.setSlow(true)
      scheduler.after(operation.ms, () => redis.setSlow(false))
      return
  }
}

type ProcessOperation = Extract<
  Operation,
  { kind: 'kill' | 'power' | 'disk' | 'stop' | 'freeze' | 'disk_error' | 'skew' | 'kill_worker' | 'crash_at' }
>

/** Applies an operation to processes and their machines. */
export function applyProcess(world: World, operation: ProcessOperation): void {
  const { ground, machines, workers, model } = world
  const { scheduler } = ground
  if (operation.kind === 'kill_worker') {
    const worker = workers[operation.worker % workers.length]
    worker?.kill()
    scheduler.after(operation.downMs, () => worker?.boot())
    return
  }
  if (operation.kind === 'crash_at') {
    crashAt(world, operation)
    return
  }
  const machine = machines[operation.machine % machines.length]
  if (machine === undefined) return
  const later = (ms: number, run: () => void) => void scheduler.after(ms, run)
  switch (operation.kind) {
    case 'kill':
      machine.kill()
      later(operation.downMs, machine.boot)
      return
    case 'power':
      model.befall('journal_lost', (request) => request.machine === machine.id && !isOnDisk(request))
      machine.cutPower()
      later(operation.downMs, machine.boot)
      return
    case 'disk':
      model.befall('journal_lost', (request) => request.machine === machine.id)
      machine.loseDisk()
      later(operation.downMs, machine.boot)
      return
    case 'stop':
      machine.stop().then(() => later(operation.downMs, machine.boot))
      return
    case 'freeze': {
      const process = machine.process()
      process?.freeze()
      later(operation.ms, () => process?.thaw())
      return
    }
    case 'disk_error':
      machine.failDisk(operation.count)
      return
    case 'skew':
      machine.process()?.setSkew(operation.ms)
      return
    default:
      throw violation('simulation', 'an operation without a handler')
  }
}

/** Prepares one death at a named place. The victim's number counts the machines and then the workers. */
function crashAt({ ground, machines, workers }: World, operation: Extract<Operation, { kind: 'crash_at' }>): void {
  const victim = [...machines, ...workers][operation.victim % (machines.length + workers.length)]
  ground.crash.arm(operation.point, () => {
    victim?.kill()
    ground.scheduler.after(operation.downMs, () => victim?.boot())
  })
}
