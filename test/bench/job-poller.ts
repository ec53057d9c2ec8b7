/**
 * A process that only polls open jobs, for the bench and for tests that kill it. It prints a line once it is connected.
 * Settings come from the environment of a control plane, and from `CRASH_AT`.
 */
import { readConfig } from '#control-plane/config.ts'
import { createControlPlane } from '#control-plane/plane.ts'
import { startPollJobs } from '#control-plane/workers/poll-jobs.ts'
import { armCrash, parseCrashAt } from '#shared/crash-point.ts'

armCrash(parseCrashAt(process.env['CRASH_AT'] ?? ''))
const plane = createControlPlane(readConfig(process.env))
if (!(await plane.connected(10_000))) throw new Error('Redis does not answer')
startPollJobs(plane)
process.stdout.write('ready\n')
