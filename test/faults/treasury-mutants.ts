/**
 * `npm run test:treasury-mutants`: makes each mistake of `mutants/treasury.ts`, `mutants/paid-jobs.ts`,
 * `mutants/metering.ts` and `mutants/restores.ts` alone and runs the tests that must fail because of it.
 * `-- --only NAME,NAME` picks some. Ends with 1 when a mistake is not noticed.
 */
import { spawn } from 'node:child_process'
import { parseArgs } from 'node:util'
import { REPOSITORY } from '#dev/network/programs.ts'
import type { TestMutant } from './mutants/mutated.ts'
import { TEST_MUTANTS } from './mutants/mutated.ts'

const LIMIT_MS = 300_000

const { values } = parseArgs({ options: { only: { type: 'string' } } })
const wanted = values.only?.split(',')
const chosen = TEST_MUTANTS.filter(({ name }) => wanted?.includes(name) ?? true)

/** Runs the tests with a mistake in the code. Answers what they made of it. */
function judge({ name, caughtBy }: TestMutant): Promise<'caught' | 'MISSED' | 'NOT ENDED'> {
  const child = spawn('node', ['node_modules/vitest/vitest.mjs', 'run', '--bail=1', `test/${caughtBy}.test.ts`], {
    cwd: REPOSITORY,
    env: { ...process.env, TREASURY_MUTANT: name },
    stdio: 'ignore',
    timeout: LIMIT_MS,
  })
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    // A run that hangs has noticed nothing, and may not have come to the test that would.
    child.on('exit', (code) => resolve(code === 1 ? 'caught' : code === null ? 'NOT ENDED' : 'MISSED'))
  })
}

let missed = 0
for (const mutant of chosen) {
  const verdict = await judge(mutant)
  if (verdict !== 'caught') missed += 1
  process.stdout.write(`${verdict} ${mutant.name} by ${mutant.caughtBy}\n`)
}
process.stdout.write(`${chosen.length - missed} of ${chosen.length} mistakes are noticed\n`)
process.exitCode = missed === 0 ? 0 : 1
