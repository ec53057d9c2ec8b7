import { armCrash } from '#shared/crash-point.ts'
import { exitCodeOf } from '#shared/exit-codes.ts'
import { describeError } from '#shared/logger.ts'
import { readConfig } from './config.ts'
import { createDataPlane } from './plane.ts'

/**
 * Runs the data plane as a process. On SIGTERM it lets running calls end before it exits. A second SIGTERM cuts them.
 */
async function run(): Promise<void> {
  const config = readConfig()
  armCrash(config.crashAt)
  const plane = await createDataPlane(config, { onGiveUp: () => process.exit(1) })
  await plane.clocks.check()
  plane.clocks.requireTrusted()
  await plane.listen()
  let isClosing = false
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      if (isClosing) return plane.hurry()
      isClosing = true
      plane.close().then(
        () => process.exit(0),
        (error: unknown) => {
          console.error(JSON.stringify(describeError(error)))
          process.exit(1)
        },
      )
    })
  }
}

run().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : 'the data plane could not start')
  process.exit(exitCodeOf(error))
})
