/**
 * `npm run test:faults [-- rows…] [-- --quick] [-- --watch]`: breaks a market of real processes row by row and prints
 * the results. `--watch` checks the ledger during each row. The exit code is 1 when a requirement failed.
 */
import { parseArgs } from 'node:util'
import type { Result, Row } from './harness/row.ts'
import { runRow } from './harness/row.ts'
import type { World } from './harness/world.ts'
import { startWorld } from './harness/world.ts'
import { ROWS } from './rows/index.ts'

const { values, positionals } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    watch: { type: 'boolean', default: false },
  },
  allowPositionals: true,
})

const options = { isQuick: values.quick, isWatched: values.watch }
let shared: World | undefined

/** Runs a row in the shared world or in one of its own. A world with a failed requirement is not used again. */
async function runIn(row: Row): Promise<Result> {
  if (row.world !== undefined) return runAlone(await startWorld(row.world), row)
  shared ??= await startWorld()
  const result = await runRow(shared, row, options)
  if (result.wrong.length > 0) {
    await keep(shared)
    shared = undefined
  }
  return result
}

/** Runs a row in a world that is removed afterwards. */
async function runAlone(world: World, row: Row): Promise<Result> {
  const result = await runRow(world, row, options)
  if (result.wrong.length > 0) await keep(world)
  else await world.remove()
  return result
}

/** Runs slow rows together. Their worlds start one after the other. */
async function runTogether(rows: readonly Row[]): Promise<Result[]> {
  const worlds: { readonly row: Row; readonly world: World }[] = []
  for (const row of rows) worlds.push({ row, world: await startWorld(row.world) })
  return Promise.all(
    worlds.map(async ({ row, world }) => {
      const result = await runAlone(world, row)
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

async function runRows(): Promise<number> {
  const began = performance.now()
  const chosen = ROWS.filter(
    (row) =>
      (positionals.length === 0 || positionals.some((name) => row.number.startsWith(name))) &&
      (!values.quick || row.isQuick === true),
  )
  const results: Result[] = []
  const isLong = (row: Row) => row.isLong === true && !values.quick
  for (const row of chosen.filter((row) => !isLong(row))) {
    const result = await runIn(row)
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

process.exit((await runRows()) > 0 ? 1 : 0)
