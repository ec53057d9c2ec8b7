import { setPriority } from 'node:os'
import { readConfig } from '#control-plane/config.ts'
import { createControlPlane } from '#control-plane/plane.ts'
import { developmentWallet } from './apply.ts'
import { makeHistory } from './history.ts'

const CONNECT_WAIT_MS = 10_000
/** Whoever uses the market goes first. */
const NICENESS = 10

/** Gives the market of `DATABASE_URL` and `REDIS_URL` a past of so many calls, the one argument; its buyer made many of them. */
setPriority(NICENESS)
const plane = createControlPlane(readConfig({ ...process.env, LOG_LEVEL: 'error' }))
try {
  await plane.connected(CONNECT_WAIT_MS)
  const posted = await makeHistory(plane, Number(process.argv[2] ?? 0), [developmentWallet('buyer')])
  process.stdout.write(`${posted} calls of the past were posted\n`)
} finally {
  await plane.close()
}
