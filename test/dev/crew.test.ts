import { describe, expect, it } from 'vitest'
import { createCrew } from '#dev/network/crew.ts'
import type { CrewMember, RunningProcess } from '#dev/network/member.ts'
import { PORT_TAKEN } from '#shared/exit-codes.ts'
import { until } from '#test/support/run/until.ts'

type Actor = RunningProcess & { readonly end: (code: number) => void; readonly wasStopped: () => boolean }

/** A member whose process is a promise. The test settles it. */
function createStage() {
  const actors: Actor[] = []
  const stops: string[] = []
  const member = (name: string, restart: CrewMember['restart'] = 'always'): CrewMember<Actor> => ({
    name,
    restart,
    start: async () => {
      let end: (code: number) => void = () => undefined
      const exited = new Promise<number>((resolve) => {
        end = resolve
      })
      let isStopped = false
      const stop = async () => {
        isStopped = true
        stops.push(name)
        end(0)
        await exited
      }
      const actor = { pid: 1_000 + actors.length, exited, stop, end, wasStopped: () => isStopped }
      actors.push(actor)
      return actor
    },
  })
  return { actors, stops, member }
}

function createGate() {
  let resolve: () => void = () => undefined
  const promise = new Promise<void>((done) => {
    resolve = done
  })
  return { promise, resolve }
}

function createObservedCrew() {
  const lines: string[] = []
  const givenUp: string[] = []
  const crew = createCrew({
    report: (line) => lines.push(line),
    onPidsChange: () => undefined,
    onGiveUp: (name) => givenUp.push(name),
  })
  return { crew, lines, givenUp }
}

describe('the crew', () => {
  it('restarts a member that ended by itself, and reports it', async () => {
    const { actors, member } = createStage()
    const { crew, lines } = createObservedCrew()
    const first = await crew.add(member('plane'))
    first.end(9)
    await until('the member runs again', 5_000, () => actors.length === 2 && crew.has('plane'))
    expect(lines[0]).toBe('plane ended with code 9')
    expect(crew.pids()).toEqual({ plane: 1_001 })
    await crew.stop([])
  })

  it('does not restart a member that tests kill on purpose', async () => {
    const { actors, member } = createStage()
    const { crew, lines } = createObservedCrew()
    const provider = await crew.add(member('provider', 'never'))
    provider.end(137)
    await until('the end is reported', 5_000, () => lines.length === 1)
    expect(crew.pids()).toEqual({})
    expect(actors).toHaveLength(1)
  })

  it('gives up on a member that keeps ending', async () => {
    const { actors, member } = createStage()
    const { crew, givenUp } = createObservedCrew()
    await crew.add(member('plane'))
    await until('the member was given up', 20_000, () => {
      for (const actor of actors) actor.end(1)
      return givenUp.length > 0
    })
    expect(givenUp).toEqual(['plane'])
    expect(actors).toHaveLength(6)
  })

  it('renews running and starting members, and does not treat their end as an accident', async () => {
    const { actors, stops, member } = createStage()
    const { crew, lines } = createObservedCrew()
    await crew.add(member('plane'))
    const starting = crew.add(member('worker'))
    await crew.renew(['plane', 'worker', 'nobody'])
    await starting
    expect(new Set(stops)).toEqual(new Set(['plane', 'worker']))
    expect([crew.has('plane'), crew.has('worker')]).toEqual([true, true])
    expect(actors).toHaveLength(4)
    expect(lines.filter((line) => line.includes('ended'))).toEqual([])
    await crew.stop([])
  })

  it('runs a member once, and stops it once, though several callers want it renewed while it is ending', async () => {
    const { actors, member } = createStage()
    const { crew, givenUp } = createObservedCrew()
    const { promise: mayEnd, resolve: letEnd } = createGate()
    let asked = 0
    const draining = member('plane')
    const start = async () => {
      const actor = await draining.start()
      const stop = async () => {
        asked += 1
        await mayEnd
        await actor.stop()
      }
      return { ...actor, stop }
    }
    await crew.add({ ...draining, start })
    const renewals = [crew.renew(['plane']), crew.renew(['plane']), crew.renew(['plane'])]
    letEnd()
    await Promise.all([...renewals, crew.settled()])
    expect(actors).toHaveLength(2)
    expect(asked).toBe(1)
    expect(crew.pids()).toEqual({ plane: 1_001 })
    expect(givenUp).toEqual([])
    await crew.stop([])
  })

  it('restarts a member whose port was taken at once, and does not count it as an end', async () => {
    const { actors, member } = createStage()
    const { crew, lines, givenUp } = createObservedCrew()
    await crew.add(member('plane'))
    for (let moves = 1; moves <= 20; moves += 1) {
      actors.at(-1)?.end(PORT_TAKEN)
      await until('the member runs again', 5_000, () => actors.length === moves + 1 && crew.has('plane'))
    }
    expect(givenUp).toEqual([])
    expect(new Set(lines)).toEqual(new Set(['plane found its port taken', 'plane was started again']))
    actors.at(-1)?.end(PORT_TAKEN)
    await until('the member was given up', 5_000, () => givenUp.length > 0)
    expect(givenUp).toEqual(['plane'])
    expect(lines.at(-1)).toBe('plane found its port taken more than 20 times')
    expect(actors).toHaveLength(21)
  })

  it('stops group after group, members without a group last, and starts none afterwards', async () => {
    const { actors, stops, member } = createStage()
    const { crew } = createObservedCrew()
    for (const name of ['postgres', 'other', 'data_plane', 'worker']) await crew.add(member(name))
    await crew.stop([['data_plane'], ['worker'], ['postgres']])
    expect(stops).toEqual(['data_plane', 'worker', 'postgres', 'other'])
    await expect(crew.add(member('late'))).rejects.toMatchObject({ code: 'service_unavailable' })
    expect(actors.at(-1)?.wasStopped()).toBe(true)
  })
})
