import { join } from 'node:path'
import { readConfig } from '#control-plane/config.ts'
import { createControlPlane } from '#control-plane/plane.ts'
import { AppError } from '#shared/errors.ts'
import { applySeeds } from './apply.ts'
import { readBuyerWallet } from './buyer-wallet.ts'
import { PROVIDERS_FILE, readProviderAddresses } from './provider-addresses.ts'
import { SEEDED_KEYS_FILE } from './seeded-keys.ts'
import { tryAgain } from './try-again.ts'

const CONNECT_WAIT_MS = 10_000

/** Seeds the market of `DATABASE_URL` and `REDIS_URL` with the addresses and keys in `MARKET_HOME`. */
const home = process.env['MARKET_HOME']
if (home === undefined) throw new AppError('internal_error', { message: 'MARKET_HOME is not set' })

// A person who starts a market sees only failures.
const plane = createControlPlane(readConfig({ ...process.env, LOG_LEVEL: 'error' }))
try {
  await plane.connected(CONNECT_WAIT_MS)
  const options = {
    keysFile: join(home, SEEDED_KEYS_FILE),
    buyerWallet: readBuyerWallet(home),
    addresses: readProviderAddresses(join(home, PROVIDERS_FILE)),
  }
  await tryAgain(() => applySeeds(plane, options))
} finally {
  await plane.close()
}
