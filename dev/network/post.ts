import { AppError } from '#shared/errors.ts'
import type { CrewMember, CrewOptions, RunningProcess } from './member.ts'
import { createPatience } from './patience.ts'

/** A member of a crew through all of its starts. */
export type Post = {
  /** The running process. Undefined between two starts. */
  readonly running: () => RunningProcess | undefined
  /** Starts the member for the first time. */
  readonly begin: <Started extends RunningProcess>(start: () => Promise<Started>) => Promise<Started>
  /**
   * Stops the running process, or the one that is just starting. Resolves once the member has started with its present
   * settings, or has ended.
   */
  readonly renew: () => Promise<void>
  readonly halt: () => Promise<void>
}

export type House = CrewOptions & {
  readonly onChange: () => void
  readonly isStopping: () => boolean
}

/** Only this loop starts the member again, so a member never runs twice. */
export function createPost(member: CrewMember, house: House): Post {
  const patience = createPatience(member, house)
  const waiting: (() => void)[] = []
  let running: RunningProcess | undefined
  let stopping: Promise<void> | undefined
  /** True when the settings of the last start are outdated. */
  let isStale = false
  let isOver = false

  async function launch<Started extends RunningProcess>(start: () => Promise<Started>): Promise<Started> {
    isStale = false
    const started = await start()
    if (house.isStopping()) {
      await started.stop()
      throw new AppError('service_unavailable', { message: 'the network is stopping' })
    }
    running = started
    stopping = undefined
    house.onChange()
    return started
  }

  async function keep(first: RunningProcess): Promise<void> {
    for (let current: RunningProcess | undefined = first; current; current = await launchAgain()) {
      const since = performance.now()
      if (isStale) void halt()
      else endWaiting()
      const code = await current.exited
      running = undefined
      if (house.isStopping()) break
      house.onChange()
      if (!isStale && !(await patience.afterEnd(code, performance.now() - since))) break
    }
    retire()
  }

  async function launchAgain(): Promise<RunningProcess | undefined> {
    while (!house.isStopping()) {
      try {
        const started = await launch(member.start)
        house.report(`${member.name} was started again`, member.name)
        return started
      } catch (error) {
        if (house.isStopping()) break
        house.report(error instanceof Error ? error.message : 'a start failed', member.name)
        if (!(await patience.afterFailure())) break
      }
    }
    return undefined
  }

  /** Stops the process once. A second signal would cut the calls that a plane is finishing. */
  async function halt(): Promise<void> {
    stopping ??= running?.stop()
    await stopping
  }

  function endWaiting(): void {
    for (const resolve of waiting.splice(0)) resolve()
  }

  function retire(): void {
    isOver = true
    endWaiting()
  }

  return {
    running: () => running,
    async begin(start) {
      try {
        const started = await launch(start)
        void keep(started)
        return started
      } catch (error) {
        retire()
        throw error
      }
    },
    async renew() {
      if (isOver) return
      isStale = true
      void halt()
      await new Promise<void>((resolve) => waiting.push(resolve))
    },
    halt,
  }
}
