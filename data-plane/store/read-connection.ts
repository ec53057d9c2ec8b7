import { Redis } from 'ioredis'
import { describeCause } from '#shared/errors.ts'
import type { Logger } from '#shared/logger.ts'

/**
 * Opens a connection for reads. Commands wait for a short time only, because a call is better refused than kept
 * waiting.
 */
export function connectReads(url: string, log: Logger): Redis {
  const redis = new Redis(url, {
    maxRetriesPerRequest: 1,
    connectTimeout: 2_000,
    commandTimeout: 2_000,
    retryStrategy: (times) => Math.min(50 * times, 1_000),
    maxLoadingRetryTime: 200,
  })
  redis.on('error', (error: Error) => log.debug({ cause: describeCause(error) }, 'redis connection'))
  return redis
}
