/**
 * `npm run test:treasury-mutants`: makes each mistake of `mutants/test-mutants.ts` alone, in a copy of the sources, and runs
 * the tests that must fail because of it. `-- --only NAME,NAME` picks some. Ends with 1 when a mistake is not noticed.
 */

import { spawn } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { z } from 'zod'
import { SECOND } from '#shared/clock.ts'
import { copyTree } from './mutants/copied-tree.ts'
import type { TestMutant } from './mutants/test-mutant.ts'
import { TEST_MUTANTS } from './mutants/test-mutants.ts'

/** The longest of these files takes four minutes while the machine has other work. */
const LIMIT_MS = 600_000

const { values } = parseArgs({ options: { only: { type: 'string' } } })
const wanted = values.only?.split(',')
const chosen = TEST_MUTANTS.filter(({ name }) => wanted?.includes(name) ?? true)
const tree = copyTree()
const reportFile = join(tree.folder, 'report.json')

const ReportSchema = z.object({
  testResults: z.array(
    z.object({
      status: z.string(),
      message: z.string(),
      assertionResults: z.array(z.object({ status: z.string(), title: z.string() })),
    }),
  ),
})

type Verdict = { readonly is: 'caught' | 'MISSED' | 'NOT ENDED'; readonly by: string }

/** Runs the tests with a mistake in the code. Answers what they made of it, and the title of the test that failed. */
async function judge({ caughtBy, ...edit }: TestMutant): Promise<Verdict> {
  const takeBack = tree.mutate(edit)
  rmSync(reportFile, { force: true })
  const report = ['--reporter=json', `--outputFile=${reportFile}`]
  const file = `test/${caughtBy}.test.ts`
  const child = spawn('node', ['node_modules/vitest/vitest.mjs', 'run', '--bail=1', ...report, file], {
    cwd: tree.folder,
    stdio: 'ignore',
    timeout: LIMIT_MS,
  })
  const code = await new Promise<number | null>((resolve, reject) => {
    child.on('error', reject)
    child.on('exit', resolve)
  })
  takeBack()
  // A run that hangs has noticed nothing, and may not have come to the test that would.
  if (code === null) return { is: 'NOT ENDED', by: file }
  const failed = code === 0 ? undefined : findFailed()
  return failed === undefined ? { is: 'MISSED', by: file } : { is: 'caught', by: `${file}: ${failed}` }
}

/** The title of the first test that failed, or why its file did. A run that failed for another reason has no report. */
function findFailed(): string | undefined {
  const { testResults } = ReportSchema.parse(JSON.parse(readFileSync(reportFile, 'utf8')))
  const failed = testResults.find(({ status }) => status === 'failed')
  const test = failed?.assertionResults.find(({ status }) => status === 'failed')
  return test?.title ?? failed?.message
}

let missed = 0
const begunAt = performance.now()
try {
  // A text that moved is told now, and not after an hour.
  for (const mutant of chosen) tree.mutate(mutant)()
  for (const mutant of chosen) {
    const { is, by } = await judge(mutant)
    if (is !== 'caught') missed += 1
    process.stdout.write(`${is} ${mutant.name} by ${by}\n`)
  }
} finally {
  tree.remove()
}
const seconds = Math.round((performance.now() - begunAt) / SECOND)
process.stdout.write(`${chosen.length - missed} of ${chosen.length} mistakes are noticed, in ${seconds} s\n`)
process.exitCode = missed === 0 ? 0 : 1
