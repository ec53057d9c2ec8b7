import { spawn } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import type { CopiedTree } from './copied-tree.ts'
import { copyTree } from './copied-tree.ts'
import type { Judge } from './judge.ts'

/** The slowest of these files takes four minutes while the machine has other work. */
const LIMIT_MS = 600_000

const ReportSchema = z.object({
  testResults: z.array(
    z.object({
      status: z.string(),
      message: z.string(),
      assertionResults: z.array(z.object({ status: z.string(), title: z.string() })),
    }),
  ),
})

/**
 * Makes each mistake in a copy of the sources, so that tests in process, bundles and started processes all contain it.
 */
export function createTestJudge(): Judge<'tests'> {
  let copied: CopiedTree | undefined
  return {
    async judge({ edits }, noticer) {
      copied ??= copyTree()
      const takeBack = copied.mutate(edits)
      const file = `test/${noticer.file}.test.ts`
      const code = await runTests(copied.folder, file)
      takeBack()
      // A run that hangs has noticed no mistake, and may not have reached the right test.
      if (code === null) return { is: 'NOT ENDED', by: file }
      const failed = code === 0 ? undefined : findFailed(copied.folder)
      return failed === undefined ? { is: 'MISSED', by: file } : { is: 'caught', by: `${file}: ${failed}` }
    },
    close: async () => copied?.remove(),
  }
}

const reportIn = (folder: string) => join(folder, 'report.json')

/** The exit code of a test file, or null when it did not end in time. */
function runTests(folder: string, file: string): Promise<number | null> {
  rmSync(reportIn(folder), { force: true })
  const report = ['--reporter=json', `--outputFile=${reportIn(folder)}`]
  const child = spawn('node', ['node_modules/vitest/vitest.mjs', 'run', '--bail=1', ...report, file], {
    cwd: folder,
    stdio: 'ignore',
    timeout: LIMIT_MS,
  })
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('exit', resolve)
  })
}

/**
 * The title of the first failed test, or the reason why its file failed. A run that failed for another reason has no
 * report.
 */
function findFailed(folder: string): string | undefined {
  const { testResults } = ReportSchema.parse(JSON.parse(readFileSync(reportIn(folder), 'utf8')))
  const failed = testResults.find(({ status }) => status === 'failed')
  const test = failed?.assertionResults.find(({ status }) => status === 'failed')
  return test?.title ?? failed?.message
}
