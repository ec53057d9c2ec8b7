import { defineConfig } from 'vitest/config'

/** `npm run check` runs the tidy test alone, which needs no servers. */
const isTidyOnly = process.argv.some((argument) => argument.endsWith('tidy.test.ts'))

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: isTidyOnly ? [] : ['test/support/services.ts'],
    reporters: ['default', './test/support/summary-reporter.ts'],
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
})
