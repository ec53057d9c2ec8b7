import { defineConfig } from 'vitest/config'
import { LongFilesFirst } from '#test/support/run/long-files-first.ts'
import { memoryFolder } from '#test/support/run/run-folder.ts'

/** Kinds of tests that need no servers: those of `npm run test:fast`. */
const SERVERLESS = /^(?:test\/(?:unit|wires)\b|.*\btidy\.test\.ts$)/
const named = process.argv.filter((argument) => argument.startsWith('test/'))
const isServerless = named.length > 0 && named.every((argument) => SERVERLESS.test(argument))
const services = named.length > 0 ? 'test/support/run/services.ts' : 'test/support/run/whole-run.ts'

// Workers and the processes of tests inherit it. A folder that you name in TMPDIR stays.
const folder = process.env['TMPDIR'] ?? memoryFolder()
if (folder !== undefined) process.env['TMPDIR'] = folder

export default defineConfig({
  // The packages around GraphQL load its CommonJS build. Our code has to load the same one: a type of the other build
  // would not be recognised.
  resolve: { alias: [{ find: /^graphql$/, replacement: 'graphql/index.js' }] },
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: isServerless ? [] : [services],
    reporters: ['default', './test/support/run/summary-reporter.ts'],
    // Most of a test's time is waiting for processes: three files at once, whatever the machine has.
    maxWorkers: 3,
    // No module keeps state, so files share one set of loaded modules. Loading them for each took a quarter of the run.
    isolate: false,
    // Short-lived objects cost little in a large young generation: it saves a tenth of the simulation's time.
    execArgv: ['--min-semi-space-size=16', '--max-semi-space-size=64'],
    setupFiles: ['test/support/run/file-end.ts'],
    sequence: { sequencer: LongFilesFirst },
    // Bounds, not expectations: a busy machine is ten times slower, and speed is measured by `npm run bench`.
    testTimeout: 600_000,
    hookTimeout: 600_000,
  },
})
