/**
 * `npm run test:faults [-- rows…] [-- --quick] [-- --mutant NAME]`: breaks a market of real processes row by row and
 * prints what held. Exit code 1 when something did not.
 */
import { parseArgs } from 'node:util'
import type { Result, Row } from './harness/row.ts'
import { runRow } from './harness/row.ts'
import type { World } from './harness/world.ts'
import { startWorld } from './harness/world.ts'
import { ROWS } from './rows/index.ts'

const { values, positionals } = parseArgs({
  options: { quick: { type: 'boolean', default: false } },
  allowPositionals: true,
})

const chosen = ROWS.filter(
  (row) =>
    (positionals.length === 0 || positionals.some((name) => row.number.startsWith(name))) &&
    (!values.quick || row.isQuick === true),
)
const began = performance.now()
let shared: World | undefined
let failures = 0

for (const row of chosen) {
  const result = await runIn(row)
  print(result)
  if (result.wrong.length > 0) failures += 1
}
await shared?.remove()
console.log(
  `${chosen.length - failures} of ${chosen.length} rows held, ${seconds(performance.now() - began)} s` +
    (failures > 0 ? `; build ${process.version}` : ''),
)
process.exit(failures > 0 ? 1 : 0)

/** In the shared world or one of its own; a world in which something did not hold is not used again. */
async function runIn(row: Row): Promise<Result> {
  if (row.world !== undefined) {
    const own = await startWorld(row.world)
    try {
      return await runRow(own, row, values.quick)
    } finally {
      await own.remove()
    }
  }
  shared ??= await startWorld()
  const result = await runRow(shared, row, values.quick)
  if (result.wrong.length > 0) {
    console.log(`     the world is kept in ${shared.folder}`)
    await shared.abandon()
    shared = undefined
  }
  return result
}

function print({ row, wrong, tookMs, figures }: Result): void {
  const told = [...figures].map(([name, value]) => `${name} ${value}`).join(', ')
  console.log(
    `${row.number.padEnd(5)} ${wrong.length === 0 ? 'held ' : 'BROKE'} ${seconds(tookMs).padStart(6)} s  ${row.title}: ${told}`,
  )
  for (const line of wrong) console.log(`      ${line}`)
}

function seconds(ms: number): string {
  return (ms / 1_000).toFixed(1)
}
