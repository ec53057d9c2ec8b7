import { parseArgs } from 'node:util'
import { planOf } from './plan/plan.ts'
import { runOperations } from './run.ts'
import { shrink } from './shrink.ts'

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '100' },
    first: { type: 'string', default: '1' },
    operations: { type: 'string', default: '300' },
    trace: { type: 'boolean', default: false },
    keep: { type: 'string' },
    relays: { type: 'string' },
    jobs: { type: 'string' },
    wallets: { type: 'string' },
    faults: { type: 'string' },
    restores: { type: 'boolean', default: false },
    budgets: { type: 'boolean', default: false },
  },
})

const shareOf = (text: string | undefined) => (text === undefined ? undefined : Number(text))
const print = (line: string) => process.stdout.write(`${line}\n`)

/** Runs seeds one after the other. The first failure is shortened and printed. */
async function main(): Promise<number> {
  const [first, seeds, count] = [Number(values.first), Number(values.seeds), Number(values.operations)]
  const shares = {
    relays: shareOf(values.relays),
    jobs: shareOf(values.jobs),
    wallets: shareOf(values.wallets),
    faults: shareOf(values.faults),
    restores: values.restores,
    budgets: values.budgets,
  }
  const shareFlags = (['relays', 'jobs', 'wallets', 'faults'] as const).map((name) =>
    values[name] === undefined ? '' : ` --${name} ${values[name]}`,
  )
  if (values.restores) shareFlags.push(' --restores')
  if (values.budgets) shareFlags.push(' --budgets')
  const kept = values.keep?.split(',').map(Number)
  const startedAt = performance.now()
  const sum = { steps: 0, settled: 0 }
  const all: Record<string, number> = {}
  for (let seed = first; seed < first + seeds; seed++) {
    const planned = planOf(seed, count, shares)
    const operations = kept === undefined ? planned : kept.flatMap((index) => planned[index] ?? [])
    const { error, steps, settled, calls } = await runOperations(seed, operations, values.trace ? { trace: print } : {})
    sum.steps += steps
    sum.settled += settled
    for (const [state, number] of Object.entries(calls)) all[state] = (all[state] ?? 0) + number
    if (error === undefined) continue
    print(`seed ${seed}: ${error.message}`)
    if (values.trace) return 1
    const small = await shrink(seed, operations, runOperations)
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

process.exitCode = await main()
