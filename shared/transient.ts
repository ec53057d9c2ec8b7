/**
 * SQLSTATEs after which the same work may be tried again: serialization failure, deadlock, the timeouts of a lock, a
 * statement and an idle transaction, lost connection, and a server that is stopping or starting (PostgreSQL manual,
 * appendix A).
 */
const TRANSIENT = /^(40001|40P01|55P03|57014|25P03|57P0[123]|08\w{3})$/
/**
 * Messages of the driver, which gives no code. The last one ends the rollback that follows a commit whose connection
 * broke.
 */
const TRANSIENT_TEXT =
  /^Connection terminated|timeout exceeded when trying to connect|^timeout expired$|is not queryable$/
const TRANSIENT_NETWORK = new Set(['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT'])

/** True for an error that says nothing about the work itself, so that work under a key of its own may be repeated. */
export function isTransient(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  if (TRANSIENT_TEXT.test(error.message)) return true
  if (!('code' in error) || typeof error.code !== 'string') return false
  return TRANSIENT.test(error.code) || TRANSIENT_NETWORK.has(error.code)
}

/** Messages of the Redis client, which gives no code. */
const REDIS_AWAY = /^(Command timed out|Connection is closed\.|Reached the max retries per request limit)/

/** True for an error that a busy or absent server explains, so that its stack is useless. */
export function isOutage(error: unknown): boolean {
  return isTransient(error) || (error instanceof Error && REDIS_AWAY.test(error.message))
}
