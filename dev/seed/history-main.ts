import { setPriority } from 'node:os'
import { readConfig } from '#control-plane/config.ts'
import { createControlPlane } from '#control-plane/plane.ts'
import { readBuyerWallet } from './buyer-wallet.ts'
import { makeHistory } from './history.ts'
import { tryAgain } from './try-again.ts'

const CONNECT_WAIT_MS = 10_000
/** Users of the market have priority over this program. */
const NICENESS = 10

/**
 * Gives the market of `DATABASE_URL` and `REDIS_URL` past calls. Their number is the only argument. The seeded buyer
 * made many of them.
 */
setPriority(NICENESS)
const plane = createControlPlane(readConfig({ ...process.env, LOG_LEVEL: 'error' }))
try {
  await plane.connected(CONNECT_WAIT_MS)
  const wallets = [readBuyerWallet(process.env['MARKET_HOME'] ?? '.market')]
  const postedCount = await tryAgain(() => makeHistory(plane, Number(process.argv[2] ?? 0), wallets))
  process.stdout.write(`${postedCount} calls of the past were posted\n`)
} finally {
  await plane.close()
}
