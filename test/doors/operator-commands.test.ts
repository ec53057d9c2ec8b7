import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startRelay } from '#test/support/chain/relay.ts'
import type { TestMarket } from '#test/support/doors/control-plane.ts'
import { startMarket } from '#test/support/doors/control-plane.ts'
import { programArguments } from '#test/support/run/programs.ts'
import { until } from '#test/support/run/until.ts'

const SECRET = 'for tests only, 32 characters long'
let market: TestMarket
let wallet: string

beforeAll(async () => {
  market = await startMarket()
  wallet = (await market.person()).wallet
})
afterAll(() => market.stop())

/** Runs a command of the operator on the machine. Returns its output and exit code. */
const run = (...args: string[]) => runOn(market.world.databaseUrl, ...args)

async function runOn(databaseUrl: string, ...args: string[]): Promise<{ code: number; answer: unknown; said: string }> {
  const env = {
    // The test runner's environment gives some of these names another meaning.
    PATH: process.env['PATH'],
    DATABASE_URL: databaseUrl,
    REDIS_URL: market.world.redisUrl,
    REDIS_CACHE_URL: '',
    NODE_ENV: 'test',
    KEY_PEPPER: SECRET,
    FINGERPRINT_PEPPER: SECRET,
    SESSION_SECRET: SECRET,
    CREDENTIAL_KEYS: `k1:${Buffer.alloc(32, 7).toString('base64')}`,
  }
  const command = await programArguments('control-plane/operator.ts', ...args)
  const done = await promisify(execFile)(process.execPath, command, { env }).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    (error: { code: number; stdout: string; stderr: string }) => error,
  )
  return { code: done.code, answer: JSON.parse(done.stdout), said: done.stderr }
}

describe('the command line of the machine', () => {
  it("creates the operator's key, and the first keys of a wallet", async () => {
    const made = await run('management-key:create', '--label', 'on call', '--scope', 'operator')
    expect(made).toMatchObject({ code: 0, answer: { key: expect.stringMatching(/^mkt_mgmt_/) } })
    const user = await run('user:create', '--wallet', wallet, '--keys', 'buyer')
    expect(user).toMatchObject({ code: 0, answer: { buyerKey: expect.stringMatching(/^inf_/), sellerKey: null } })
  })

  it('names refused values, and knows no commands of the other tool', async () => {
    const refused = await run('management-key:create', '--label', 'x', '--scope', 'root')
    expect(refused).toMatchObject({ code: 1, answer: { error: { code: 'invalid_request', param: 'scope' } } })
    await expect(run('deposit:fiat', '--usd', '1')).rejects.toThrow(/JSON/)
  })

  it('waits for a database that answers late, and reports an unreachable one', async () => {
    const relay = await startRelay(market.world.databaseUrl)
    const url = new URL(market.world.databaseUrl)
    url.port = String(relay.port)
    relay.fault({ drops: 'answers' })
    const late = runOn(url.href, 'gate:status')
    await until('it connects', 60_000, () => relay.connections() > 0)
    relay.pass()
    expect(await late).toMatchObject({ code: 0 })
    relay.fault({ refuses: true })
    const { code, answer, said } = await runOn(url.href, 'gate:status')
    expect(code).toBe(1)
    const message = expect.stringMatching(/^The database cannot be reached: /)
    expect(answer).toMatchObject({ error: { code: 'service_unavailable', message } })
    expect(said).not.toMatch(/ at .*:\d+/)
    await relay.close()
  })
})
