/**
 * The worker process of the bench of open jobs. It asks about jobs until it is killed, and prints a line once it is
 * connected. Its settings are the environment of a control plane.
 */
import { readConfig } from '#control-plane/config.ts'
import { createControlPlane } from '#control-plane/plane.ts'
import { startPollJobs } from '#control-plane/workers/poll-jobs.ts'

const plane = createControlPlane(readConfig(process.env))
if (!(await plane.connected(10_000))) throw new Error('Redis does not answer')
startPollJobs(plane)
process.stdout.write('ready\n')
