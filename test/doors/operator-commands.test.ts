import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { TestMarket } from '#test/support/control-plane.ts'
import { startMarket } from '#test/support/control-plane.ts'

/** Each command is a process of its own. */
const SLOW_MS = 90_000
const SECRET = 'for tests only, 32 characters long'
let market: TestMarket
let wallet: string

beforeAll(async () => {
  market = await startMarket()
  wallet = (await market.person()).wallet
})
afterAll(() => market.stop())

/** Runs a command of the operator on the machine. Answers its output and exit code. */
async function run(...args: string[]): Promise<{ code: number; answer: unknown }> {
  const env = {
    // The test runner's environment gives some of these names another meaning.
    PATH: process.env['PATH'],
    DATABASE_URL: market.world.databaseUrl,
    REDIS_URL: market.world.redisUrl,
    REDIS_CACHE_URL: '',
    NODE_ENV: 'test',
    KEY_PEPPER: SECRET,
    FINGERPRINT_PEPPER: SECRET,
    SESSION_SECRET: SECRET,
    CREDENTIAL_KEYS: `k1:${Buffer.alloc(32, 7).toString('base64')}`,
  }
  const command = ['--import', 'tsx', 'control-plane/operator.ts', ...args]
  const done = await promisify(execFile)(process.execPath, command, { env }).then(
    ({ stdout }) => ({ code: 0, stdout }),
    (error: { code: number; stdout: string }) => error,
  )
  return { code: done.code, answer: JSON.parse(done.stdout) }
}

describe('the command line of operators', () => {
  it(
    'books money in and out, and says what it may not take',
    async () => {
      const deposit = await run('deposit:fiat', '--wallet', wallet, '--usd', '2.5', '--event-id', 'evt_cli')
      expect(deposit).toMatchObject({ code: 0, answer: { key: 'deposit:fiat:evt_cli', isRepeat: false } })
      const refund = await run('refund:fiat', '--wallet', wallet, '--usd', '3', '--ticket', 'T-1')
      expect(refund).toMatchObject({
        code: 1,
        answer: { error: { code: 'insufficient_balance', detail: { available: '2500000' } } },
      })
    },
    SLOW_MS,
  )

  it(
    'runs the checks and lists what waits',
    async () => {
      expect(await run('invariants:run')).toMatchObject({ code: 0, answer: { breaches: [], failure: null } })
      expect(await run('poison:list', '--limit', '5')).toEqual({ code: 0, answer: [] })
    },
    SLOW_MS,
  )
})
