import { readFileSync, watchFile } from 'node:fs'
import { z } from 'zod'
import { readConfig } from '#data-plane/config.ts'
import { createDataPlane } from '#data-plane/plane.ts'
import type { Time } from '#shared/clock.ts'
import { systemClock } from '#shared/clock.ts'
import { armCrash } from '#shared/crash-point.ts'

/**
 * The data plane with a wall clock that the harness moves at run time, and with call limits short enough for a row.
 * `FAULT_CONTROL_FILE` names the file with both. A change of the clock in the file takes effect at once.
 */
const Control = z.object({
  offsetMs: z.number().default(0),
  limits: z
    .object({
      totalMs: z.number(),
      firstByteMs: z.number(),
      idleMs: z.number(),
      keepAliveMs: z.number(),
      drainMs: z.number(),
      unseenDrainMs: z.number(),
      maxDrains: z.number(),
    })
    .partial()
    .default({}),
})

const LOOK_MS = 50
const file = process.env['FAULT_CONTROL_FILE'] ?? ''

function readControl(): z.infer<typeof Control> {
  return Control.parse(JSON.parse(readFileSync(file, 'utf8')))
}

let control = readControl()
watchFile(file, { interval: LOOK_MS, persistent: false }, () => {
  control = readControl()
})
const clock: Time = { ...systemClock, now: () => systemClock.now() + control.offsetMs }
const config = readConfig()
armCrash(config.crashAt)
const limits = Object.fromEntries(Object.entries(control.limits).filter(([, value]) => value !== undefined))
const plane = await createDataPlane(config, { clock, limits })
await plane.listen()
process.once('SIGTERM', () => void plane.close().then(() => process.exit(0)))
