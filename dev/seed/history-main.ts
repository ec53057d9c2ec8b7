import { setPriority } from 'node:os'
import { join } from 'node:path'
import { readConfig } from '#control-plane/config.ts'
import { createControlPlane } from '#control-plane/plane.ts'
import { readBuyerWallet } from './buyer-wallet.ts'
import { makeHistory } from './history.ts'
import { capSampleKeys, makeSampleKeys } from './sample-keys.ts'
import { readSeededKeys, SEEDED_KEYS_FILE } from './seeded-keys.ts'
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
  const home = process.env['MARKET_HOME'] ?? '.market'
  const wallets = [readBuyerWallet(home)]
  const calls = Number(process.argv[2] ?? 0)
  const keys = readSeededKeys(join(home, SEEDED_KEYS_FILE))
  const made = keys === undefined ? [] : await tryAgain(() => makeSampleKeys(plane, keys.buyer_key, calls))
  const postedCount = await tryAgain(() => makeHistory(plane, calls, wallets))
  if (keys !== undefined) await tryAgain(() => capSampleKeys(plane, keys.buyer_key, made))
  process.stdout.write(`${postedCount} calls of the past were posted\n`)
} finally {
  await plane.close()
}
