import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The places of the three records of money. */
export type CheckConfig = {
  readonly databaseUrl: string
  readonly redisUrl: string
  /** The directory with one folder of journal segments per boot. Undefined when there is none to read. */
  readonly journalDir: string | undefined
}

/**
 * Reads `DATABASE_URL`, `REDIS_URL` and `JOURNAL_DIR`. An unset variable means the development network that runs in
 * `MARKET_HOME` (`.market`). Throws an Error that names what is missing.
 */
export function readConfig(environment: NodeJS.ProcessEnv = process.env): CheckConfig {
  const home = environment['MARKET_HOME'] || '.market'
  const sandbox = readSandbox(join(home, 'sandbox.json'))
  const databaseUrl = environment['DATABASE_URL'] || sandbox['database_url']
  const redisUrl = environment['REDIS_URL'] || sandbox['redis_url']
  if (typeof databaseUrl !== 'string') throw new Error(`DATABASE_URL is unset and no network runs in ${home}`)
  if (typeof redisUrl !== 'string') throw new Error(`REDIS_URL is unset and no network runs in ${home}`)
  const ownJournal = join(home, 'journal')
  const journalDir = environment['JOURNAL_DIR'] || (existsSync(ownJournal) ? ownJournal : undefined)
  return { databaseUrl, redisUrl, journalDir }
}

function readSandbox(file: string): Record<string, unknown> {
  if (!existsSync(file)) return {}
  const parsed: unknown = JSON.parse(readFileSync(file, 'utf8'))
  return typeof parsed === 'object' && parsed !== null ? Object.fromEntries(Object.entries(parsed)) : {}
}
