/**
 * `npm run test:faults [-- rows…] [-- --quick] [-- --watch] [-- --mutant NAME | --mutants]`: breaks a market of real
 * processes row by row and prints the results. `--watch` checks the ledger all the while. The exit code is 1 when a
 * requirement failed, and with `--mutants` when a mutant was not noticed.
 */
import { parseArgs } from 'node:util'
import type { Mutant } from './harness/build.ts'
import type { Result, Row } from './harness/row.ts'
import { runRow } from './harness/row.ts'
import type { World } from './harness/world.ts'
import { startWorld } from './harness/world.ts'
import { MUTANTS } from './mutants/index.ts'
import { ROWS } from './rows/index.ts'

const { values, positionals } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    watch: { type: 'boolean', default: false },
    mutant: { type: 'string' },
    mutants: { type: 'boolean', default: false },
  },
  allowPositionals: true,
})

const options = { isQuick: values.quick, isWatched: values.watch }
let shared: World | undefined

/** Runs a row in the shared world or in one of its own. A world in which a requirement failed is not used again. */
async function runIn(row: Row, mutant: Mutant | undefined): Promise<Result> {
  if (row.world !== undefined || mutant !== undefined) {
    const own = await startWorld({ ...row.world, ...(mutant === undefined ? {} : { mutant }) })
    return runAlone(own, row, mutant)
  }
  shared ??= await startWorld()
  const result = await runRow(shared, row, options)
  if (result.wrong.length > 0) {
    await keep(shared)
    shared = undefined
  }
  return result
}

/** Runs a row in a world that is removed afterwards. */
async function runAlone(world: World, row: Row, mutant: Mutant | undefined): Promise<Result> {
  const result = await runRow(world, row, options)
  if (result.wrong.length > 0 && mutant === undefined) await keep(world)
  else await world.remove()
  return result
}

/** Runs rows together that mostly wait. Their worlds start one after the other. */
async function runTogether(rows: readonly Row[]): Promise<Result[]> {
  const worlds: { readonly row: Row; readonly world: World }[] = []
  for (const row of rows) worlds.push({ row, world: await startWorld(row.world) })
  return Promise.all(
    worlds.map(async ({ row, world }) => {
      const result = await runAlone(world, row, undefined)
      print(result)
      return result
    }),
  )
}

async function keep(world: World): Promise<void> {
  console.log(`      logs and journals are kept in ${world.folder}`)
  await world.abandon()
}

function print({ row, wrong, skipped, tookMs, figures }: Result): void {
  const told = [...figures].map(([name, value]) => `${name} ${value}`).join(', ')
  const verdict = wrong.length > 0 ? 'BROKE' : skipped === undefined ? 'held ' : 'not run'
  console.log(`${row.number.padEnd(5)} ${verdict} ${seconds(tookMs).padStart(6)} s  ${row.title}: ${told}`)
  for (const line of wrong) console.log(`      ${line}`)
}

function seconds(ms: number): string {
  return (ms / 1_000).toFixed(1)
}

/** Runs each mutant's row. Answers how many mutants nobody noticed. */
async function runMutants(mutants: readonly Mutant[]): Promise<number> {
  let missed = 0
  for (const mutant of mutants) {
    const row = ROWS.find(({ number }) => number === mutant.caughtBy)
    if (row === undefined) throw new Error(`${mutant.name}: there is no row ${mutant.caughtBy}`)
    const { wrong, skipped, tookMs } = await runIn(row, mutant)
    if (wrong.length === 0) missed += 1
    const verdict = wrong.length === 0 ? 'MISSED' : 'caught'
    const why = wrong[0] ?? skipped ?? ''
    console.log(`${mutant.name.padEnd(24)} ${verdict} by ${row.number} in ${seconds(tookMs)} s  ${why}`)
  }
  return missed
}

async function runRows(mutant: Mutant | undefined): Promise<number> {
  const began = performance.now()
  const wanted = positionals.length > 0 || mutant === undefined ? positionals : [mutant.caughtBy]
  const chosen = ROWS.filter(
    (row) =>
      (wanted.length === 0 || wanted.some((name) => row.number.startsWith(name))) &&
      (!values.quick || row.isQuick === true || mutant !== undefined),
  )
  const results: Result[] = []
  const isLong = (row: Row) => row.isLong === true && !values.quick && mutant === undefined
  for (const row of chosen.filter((row) => !isLong(row))) {
    const result = await runIn(row, mutant)
    print(result)
    results.push(result)
  }
  await shared?.remove()
  results.push(...(await runTogether(chosen.filter(isLong))))
  const broken = results.filter(({ wrong }) => wrong.length > 0).length
  const skipped = results.filter((result) => result.skipped !== undefined && result.wrong.length === 0)
  const held = results.length - broken - skipped.length
  console.log(`${held} of ${results.length} rows held, ${seconds(performance.now() - began)} s`)
  for (const { row, skipped: why } of skipped) console.log(`not run: ${row.number} ${row.title}, because ${why}`)
  return broken
}

const named = MUTANTS.find(({ name }) => name === values.mutant)
if (values.mutant !== undefined && named === undefined) {
  throw new Error(`the mutants are: ${MUTANTS.map(({ name }) => name).join(', ')}`)
}
const failures = values.mutants ? await runMutants(MUTANTS) : await runRows(named)
process.exit(failures > 0 ? 1 : 0)
