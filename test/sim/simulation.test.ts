import { describe, expect, it } from 'vitest'
import { readFalseAlarms } from './kept-cases.ts'
import type { Operation } from './plan/plan.ts'
import { planOf } from './plan/plan.ts'
import { runOperations } from './run.ts'

/** The first hundred seeds show all quick mutants but two. `SIM_SEEDS=500` plays more. */
const SEEDS = Number(process.env['SIM_SEEDS'] ?? 100)
/** Operations of a seed. The long run, `npm run test:sim`, plays half as many again. */
const OPERATIONS = 200
/** Number of seeds in one test. The title of a failed test then says which seeds to look at. */
const AT_ONCE = 20
/** Number of seeds in a world with budgets. */
const BUDGETED = 100
const BUDGET_OPERATIONS = 100
/** Number of seeds in which a backup of the ledger is restored under payments by wallet, and the operations of each. */
const RESTORES = 60
const RESTORE_OPERATIONS = 60

describe('the money path in a simulated deployment', () => {
  for (let first = 1; first <= SEEDS; first += AT_ONCE) {
    it(`keeps every promise in ${AT_ONCE} runs of ${OPERATIONS} operations from seed ${first}`, async () => {
      const broken: string[] = []
      for (let seed = first; seed < first + AT_ONCE; seed++) {
        const { error } = await runOperations(seed, planOf(seed, OPERATIONS))
        if (error !== undefined) broken.push(`npm run test:sim -- --first ${seed} --seeds 1: ${error.message}`)
      }
      expect(broken).toEqual([])
    })
  }

  for (let first = 1; first <= BUDGETED; first += AT_ONCE) {
    it(`keeps every promise in ${AT_ONCE} runs with budgets from seed ${first}`, async () => {
      const broken: string[] = []
      for (let seed = first; seed < first + AT_ONCE; seed++) {
        const { error } = await runOperations(seed, planOf(seed, BUDGET_OPERATIONS, { budgets: true }))
        const flags = `--budgets --first ${seed} --seeds 1 --operations ${BUDGET_OPERATIONS}`
        if (error !== undefined) broken.push(`npm run test:sim -- ${flags}: ${error.message}`)
      }
      expect(broken).toEqual([])
    })
  }

  it(`keeps every promise in ${RESTORES} runs of ${RESTORE_OPERATIONS} operations in which an older ledger is restored`, async () => {
    const broken: string[] = []
    for (let seed = 1; seed <= RESTORES; seed++) {
      const { error } = await runOperations(seed, planOf(seed, RESTORE_OPERATIONS, { restores: true }))
      if (error === undefined) continue
      const flags = `--restores --first ${seed} --seeds 1 --operations ${RESTORE_OPERATIONS}`
      broken.push(`npm run test:sim -- ${flags}: ${error.message}`)
    }
    expect(broken).toEqual([])
  })

  it('happens in the same way again from the same seed', async () => {
    const lines: string[][] = [[], []]
    for (const trace of lines) await runOperations(7, planOf(7, 120), { trace: (line) => trace.push(line) })
    expect(lines[0]).toEqual(lines[1])
    expect(lines[0]?.length).toBeGreaterThan(200)
  })
})

const debit: Operation = { kind: 'debit', gapMs: 0, buyer: 2, amount: 24_541, worker: 0 }
const call: Operation = {
  kind: 'call',
  gapMs: 1,
  machine: 0,
  plan: {
    buyer: 3,
    offers: [0, 2],
    failures: [],
    inputTokens: 217,
    maxOutputTokens: 171,
    isStreamed: true,
    pieces: [3, 32],
    paceMs: 117,
    ending: 'cut',
    stallMs: 0,
  },
}
const pass = (ms: number): Operation => ({ kind: 'pass', gapMs: 0, ms })

/** Shortened failures that the simulation has found. Each plan broke a promise once. */
const FOUND: readonly (readonly [name: string, operations: readonly Operation[]])[] = [
  [
    'a debit whose hold an older epoch left open sets its money aside again',
    [
      debit,
      { kind: 'postgres_down', gapMs: 1, ms: 3_000 },
      pass(500),
      { kind: 'redis', gapMs: 0, what: 'restart' },
      pass(9_000),
    ],
  ],
  [
    'a debit whose hold runs out while it is being posted takes another',
    [
      debit,
      { kind: 'postgres_down', gapMs: 1, ms: 3_000 },
      pass(500),
      { kind: 'jump', gapMs: 0, ms: 6_551_908 },
      { kind: 'sweep', gapMs: 2_600, worker: 0 },
      pass(9_000),
    ],
  ],
  [
    'a hold that comes to Redis after its owner has died is given back',
    [{ kind: 'redis_slow', gapMs: 74, ms: 5_110 }, call, { kind: 'kill', gapMs: 3, machine: 0, downMs: 1_525 }],
  ],
]

describe('a failure that the simulation found stays mended', () => {
  it.each(FOUND)('%s', async (_name, operations) => {
    for (let seed = 1; seed <= 20; seed++) {
      const { error } = await runOperations(seed, operations)
      expect(error?.message, `seed ${seed}`).toBeUndefined()
    }
  })
})

describe('a check of the simulation', () => {
  it.each([...readFalseAlarms()])('is quiet when %s', async (_name, { seed, operations }) => {
    const { error } = await runOperations(seed, operations)
    expect(error?.message).toBeUndefined()
  })
})
