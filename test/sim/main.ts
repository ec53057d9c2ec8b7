import { parseArgs } from 'node:util'
import { huntOf, MOST_SEEDS } from './hunts.ts'
import { readKeptCases, writeKeptCases } from './kept-cases.ts'
import { LONG_MUTANTS } from './long-mutants.ts'
import { planOf } from './plan.ts'
import { createRunners, seekNotice } from './runner.ts'
import { shrink } from './shrink.ts'

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '100' },
    first: { type: 'string', default: '1' },
    operations: { type: 'string', default: '300' },
    mutant: { type: 'string' },
    trace: { type: 'boolean', default: false },
    keep: { type: 'string' },
    relays: { type: 'string' },
    jobs: { type: 'string' },
    wallets: { type: 'string' },
    faults: { type: 'string' },
    restores: { type: 'boolean', default: false },
    mutants: { type: 'boolean', default: false },
    cases: { type: 'string' },
  },
})

const shareOf = (text: string | undefined) => (text === undefined ? undefined : Number(text))
const runners = createRunners()
const print = (line: string) => process.stdout.write(`${line}\n`)

/** Tries every mutant of the long run. Each has to be noticed within its seeds. */
async function tryMutants(): Promise<number> {
  let survivors = 0
  for (const { name, jobs, wallets = 0, restores, mostSeeds } of LONG_MUTANTS) {
    const startedAt = performance.now()
    const hunt = {
      operations: Number(values.operations),
      most: mostSeeds,
      shares: { relays: 0, jobs, wallets, restores },
    }
    const found = await seekNotice(await runners.of(name), hunt)
    if (found === undefined) survivors += 1
    const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1)
    const fate =
      found === undefined ? `SURVIVES ${mostSeeds} seeds` : `seed ${found.seed}: ${found.message.slice(0, 120)}`
    print(`${name}, ${seconds} s: ${fate}`)
  }
  print(`${LONG_MUTANTS.length} mutants, ${survivors} survive`)
  return survivors === 0 ? 0 : 1
}

/**
 * Keeps a small case of each mutant that has none which still shows it, so that the short run is short. `all`, or names
 * with commas between.
 */
async function keepCases(names: string): Promise<number> {
  const wanted = names === 'all' ? undefined : new Set(names.split(','))
  const cases = new Map(readKeptCases())
  let survivors = 0
  for (const [name, most] of Object.entries(MOST_SEEDS)) {
    if (wanted !== undefined && !wanted.has(name)) continue
    const run = await runners.of(name)
    const kept = cases.get(name)
    if (kept !== undefined && (await run(kept.seed, kept.operations)).error !== undefined) continue
    const hunt = huntOf(name, most, new Map())
    const found = await seekNotice(run, hunt)
    if (found === undefined) {
      survivors += 1
      print(`${name}: SURVIVES ${most} seeds`)
      continue
    }
    const { seed } = found
    const { operations } = await shrink(seed, planOf(seed, hunt.operations, hunt.shares), run)
    cases.set(name, { seed, operations })
    writeKeptCases(cases)
    print(`${name}: ${operations.length} operations of seed ${seed}`)
  }
  return survivors === 0 ? 0 : 1
}

/** Runs seeds one after the other. The first failure is made small and printed. */
async function main(): Promise<number> {
  const run = await runners.of(values.mutant)
  const [first, seeds, count] = [Number(values.first), Number(values.seeds), Number(values.operations)]
  const shares = {
    relays: shareOf(values.relays),
    jobs: shareOf(values.jobs),
    wallets: shareOf(values.wallets),
    faults: shareOf(values.faults),
    restores: values.restores,
  }
  const shareFlags = (['relays', 'jobs', 'wallets', 'faults'] as const).map((name) =>
    values[name] === undefined ? '' : ` --${name} ${values[name]}`,
  )
  if (values.restores) shareFlags.push(' --restores')
  const kept = values.keep?.split(',').map(Number)
  const startedAt = performance.now()
  const sum = { steps: 0, settled: 0 }
  const all: Record<string, number> = {}
  for (let seed = first; seed < first + seeds; seed++) {
    const planned = planOf(seed, count, shares)
    const operations = kept === undefined ? planned : kept.flatMap((index) => planned[index] ?? [])
    const { error, steps, settled, calls } = await run(seed, operations, values.trace ? print : undefined)
    sum.steps += steps
    sum.settled += settled
    for (const [state, number] of Object.entries(calls)) all[state] = (all[state] ?? 0) + number
    if (error === undefined) continue
    print(`seed ${seed}: ${error.message}`)
    if (values.trace) return 1
    const small = await shrink(seed, operations, run)
    print(`${small.operations.length} operations are enough: ${small.error.message}`)
    for (const operation of small.operations) print(`  ${JSON.stringify(operation)}`)
    const keep = small.operations.map((operation) => planned.indexOf(operation)).join()
    print(
      `again: npm run test:sim -- --seeds 1 --first ${seed} --operations ${count}${shareFlags.join('')} --keep ${keep} --trace`,
    )
    return 1
  }
  const seconds = (performance.now() - startedAt) / 1_000
  print(JSON.stringify(all))
  print(`${seeds} seeds from ${first}, ${sum.settled} settlements, ${sum.steps} steps, ${seconds.toFixed(1)} s`)
  return 0
}

/** Does what the arguments ask for. */
function asked(): Promise<number> {
  if (values.cases !== undefined) return keepCases(values.cases)
  return values.mutants ? tryMutants() : main()
}

try {
  process.exitCode = await asked()
} finally {
  await runners.close()
}
