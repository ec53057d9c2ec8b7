import { setTimeout as pause } from 'node:timers/promises'
import { countServed, lasting, STREAM, WHOLE } from '#test/faults/harness/load.ts'
import type { Row, Stage } from '#test/faults/harness/row.ts'
import type { World } from '#test/faults/harness/world.ts'

const DEATHS = 16
const LONGEST_LIFE_MS = 2_500
const LONGEST_DEATH_MS = 600

/** A sequence that depends on its seed only (a linear congruence with the constants of Numerical Recipes). */
function createDice(seed: number): (sides: number) => number {
  let state = seed >>> 0
  return (sides) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 4_294_967_296) * sides)
  }
}

type Victim = { readonly name: string; kill(): Promise<void>; start(): Promise<unknown> }

function victimsOf(world: World): readonly Victim[] {
  const programs = [...world.dataPlanes, world.control, ...world.workers]
  return [
    ...programs.map((program) => ({
      name: program.name,
      kill: () => program.kill(),
      start: () => program.start({ isHasty: true }),
    })),
    { name: 'redis', kill: () => world.redis().kill(), start: () => world.redis().start() },
    { name: 'cache', kill: () => world.cache.kill(), start: () => world.cache.start() },
    { name: 'postgres', kill: () => world.postgres.kill('SIGQUIT'), start: () => world.postgres.start() },
  ]
}

/** Kills any process at any moment, sometimes two at once, and starts it again. */
async function killAny(stage: Stage): Promise<void> {
  const { world } = stage
  const seed = Number(process.env['FAULT_SEED'] ?? Date.now() % 1_000_000)
  const dice = createDice(seed)
  const victims = victimsOf(world)
  const load = stage.load({ clients: 12, shapes: [WHOLE, STREAM, WHOLE, lasting(2)], pauseMs: 5 })
  await load.untilServed(50)
  const told: string[] = []
  for (let death = 0; death < DEATHS; death++) {
    await pause(dice(LONGEST_LIFE_MS))
    const first = victims[dice(victims.length)]
    const second = dice(3) === 0 ? victims[dice(victims.length)] : undefined
    const dying = [...new Set([first, second])].filter((victim) => victim !== undefined)
    told.push(dying.map(({ name }) => name).join(' and '))
    await Promise.all(dying.map((victim) => victim.kill()))
    await pause(dice(LONGEST_DEATH_MS))
    await Promise.all(dying.map((victim) => victim.start()))
  }
  await load.untilServed(50, 60_000)
  stage.figure('seed', String(seed))
  stage.figure('deaths', told.join(', '))
  stage.figure('served', countServed(load.seen))
}

export const ANY_DEATH_ROWS: readonly Row[] = [
  { number: 'N04', title: 'any process dies at any moment, some together', world: {}, run: killAny },
]
