import type { Reporter, TestModule } from 'vitest/node'

/**
 * Ends a run with one line for machines: `12 passed, 0 failed`. A file that could not be loaded counts as a failure.
 */
export default class SummaryReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly unknown[]): void {
    let passed = 0
    let failed = unhandled.length
    for (const file of modules) {
      const results = [...file.children.allTests()].map((test) => test.result().state)
      const broken = results.filter((state) => state === 'failed').length
      passed += results.filter((state) => state === 'passed').length
      failed += broken === 0 && !file.ok() ? 1 : broken
    }
    // The default reporter prints its summary at the end of the run, and this line has to come after it.
    process.once('exit', () => console.log(`${passed} passed, ${failed} failed`))
  }
}
