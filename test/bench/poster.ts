/**
 * A worker process of the posting bench. It posts the usage queue until it is killed, and prints a line once it is
 * connected. Its arguments are the URL of Postgres and the URL of Redis.
 */
import { Redis } from 'ioredis'
import { createDatabase } from '#control-plane/db/database.ts'
import { createRedisGate } from '#control-plane/ports/gate/redis-gate.ts'
import { createMoneyLedger } from '#control-plane/ports/ledger/postgres-money-ledger.ts'
import { startPostUsage } from '#control-plane/workers/post-usage.ts'
import { systemClock } from '#shared/clock.ts'
import { createIds } from '#shared/ids.ts'
import { createLogger } from '#shared/logger.ts'
import { Secret } from '#shared/secret.ts'

const [databaseUrl = '', redisUrl = ''] = process.argv.slice(2)
const db = createDatabase(databaseUrl, { max: 4 })
const redis = new Redis(redisUrl)
const gate = createRedisGate({ redis, buckets: 1 })
const log = createLogger('poster', 'warn', process.stderr)
await redis.ping()
startPostUsage({
  ledger: createMoneyLedger(db),
  gate,
  ids: createIds(systemClock),
  clock: systemClock,
  log,
  redisUrl: new Secret(redisUrl),
})
process.stdout.write('ready\n')
