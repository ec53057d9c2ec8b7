import { setTimeout as delay } from 'node:timers/promises'
import { AppError } from '#shared/errors.ts'

/** How often a member that ended by itself is started again before the network gives up. */
const MAX_RESTARTS = 5
/** A member that ran for so long has its restarts back. */
const STABLE_MS = 60_000
const RESTART_PAUSE_MS = 300

/** Something that runs as a process. */
export type Running = {
  readonly pid: number
  readonly exited: Promise<number>
  readonly stop: () => Promise<void>
}

export type Member<Started extends Running = Running> = {
  readonly name: string
  /** `always` is started again when it ends by itself; `never` is only reported, for what tests kill on purpose. */
  readonly restart: 'always' | 'never'
  readonly start: () => Promise<Started>
}

export type CrewOptions = {
  /** Told in words about every member that ends by itself. */
  readonly report: (line: string, member: string) => void
  readonly onPidsChange: (pids: Readonly<Record<string, number>>) => void
  /** Called when a member could not be kept running. */
  readonly onGiveUp: (member: string) => void
}

/** The processes of the network, kept running until they are stopped. */
export type Crew = {
  readonly add: <Started extends Running>(member: Member<Started>) => Promise<Started>
  readonly pids: () => Readonly<Record<string, number>>
  /** True while the member runs. */
  readonly has: (name: string) => boolean
  /** Stops members that run, or are just starting, and starts them again: what they were told is no longer true. */
  readonly renew: (names: readonly string[]) => Promise<void>
  /** Stops everyone, group after group, and whoever is in no group at the end. */
  readonly stop: (order: readonly (readonly string[])[]) => Promise<void>
}

export function createCrew(options: CrewOptions): Crew {
  const running = new Map<string, Running>()
  const members = new Map<string, Member>()
  const launches = new Map<string, Promise<unknown>>()
  /** Whose end is meant, because they are started again. */
  const renewed = new WeakSet<Running>()
  let isStopping = false
  const pids = () => Object.fromEntries([...running].map(([name, { pid }]) => [name, pid]))

  function launch<Started extends Running>(member: Member<Started>, restarts: number): Promise<Started> {
    const launching = run(member, restarts)
    members.set(member.name, member)
    launches.set(member.name, launching)
    return launching
  }

  async function run<Started extends Running>(member: Member<Started>, restarts: number): Promise<Started> {
    const started = await member.start()
    if (isStopping) {
      await started.stop()
      throw new AppError('service_unavailable', { message: 'the network is stopping' })
    }
    running.set(member.name, started)
    options.onPidsChange(pids())
    const since = performance.now()
    void started.exited.then((code) => {
      if (running.get(member.name) !== started) return
      running.delete(member.name)
      if (isStopping || renewed.has(started)) return
      options.onPidsChange(pids())
      options.report(`${member.name} ended with code ${code}`, member.name)
      if (member.restart === 'always') void revive(member, performance.now() - since > STABLE_MS ? 0 : restarts)
    })
    return started
  }

  async function revive(member: Member, restarts: number): Promise<void> {
    if (restarts >= MAX_RESTARTS) return options.onGiveUp(member.name)
    await delay(RESTART_PAUSE_MS * (restarts + 1))
    await startAgain(member, restarts)
  }

  async function renew(name: string): Promise<void> {
    await launches.get(name)?.catch(() => undefined)
    const [member, started] = [members.get(name), running.get(name)]
    if (!member || !started) return
    renewed.add(started)
    await started.stop()
    await startAgain(member, 0)
  }

  async function startAgain(member: Member, restarts: number): Promise<void> {
    if (isStopping) return
    try {
      await launch(member, restarts + 1)
      options.report(`${member.name} was started again`, member.name)
    } catch (error) {
      if (isStopping) return
      options.report(error instanceof Error ? error.message : 'a start failed', member.name)
      await revive(member, restarts + 1)
    }
  }

  return {
    add: (member) => launch(member, 0),
    pids,
    has: (name) => running.has(name),
    renew: async (names) => {
      await Promise.all(names.map(renew))
    },
    stop: async (order) => {
      isStopping = true
      for (const group of [...order, [...running.keys()]]) {
        await Promise.all(group.map((name) => running.get(name)?.stop()))
      }
    },
  }
}
