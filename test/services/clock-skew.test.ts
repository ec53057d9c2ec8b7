import { spawn } from 'node:child_process'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { TestMarket } from '#test/support/doors/control-plane.ts'
import { codeOf, startMarket } from '#test/support/doors/control-plane.ts'
import { programArguments } from '#test/support/run/programs.ts'
import { BUSY_MS } from '#test/support/run/until.ts'

const WALLET = `0x${'a1'.repeat(20)}`
const SECRET = 'for tests only, 32 characters long'

let market: TestMarket
beforeAll(async () => {
  market = await startMarket()
})
afterAll(() => market.stop())

async function challenge(): Promise<string | undefined> {
  const answer = await market.rest('GET', `/v1/buyer/auth/challenge?address=${WALLET}`)
  return answer.status === 200 ? 'ok' : codeOf(answer)
}

/** Runs a process whose clock is a minute ahead. Returns its exit code and its output. */
async function runAhead(args: readonly string[], environment: Record<string, string>) {
  const ahead = 'data:text/javascript,const now = Date.now; Date.now = () => now() + 60000'
  const child = spawn(process.execPath, await programArguments('--import', ahead, ...args), {
    env: { PATH: process.env['PATH'] ?? '', ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let printed = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text: Buffer) => (printed += text.toString()))
  const limit = setTimeout(() => child.kill('SIGKILL'), BUSY_MS)
  return new Promise<{ code: number | null; printed: string }>((resolve) => {
    child.on('exit', (code) => {
      clearTimeout(limit)
      resolve({ code, printed })
    })
  })
}

describe('a plane whose clock is wrong', () => {
  it('agrees with Postgres and Redis before its clock jumps, and measures the difference', async () => {
    await market.plane.clocks.check()
    for (const name of ['redis', 'postgres']) {
      expect(Math.abs(market.plane.clocks.skews().get(name) ?? Number.NaN), name).toBeLessThan(500)
    }
    expect(await challenge()).toBe('ok')
  })

  it.each([40_000, -40_000])('refuses challenges and sign-ins while it is off by %i ms [F38]', async (offsetMs) => {
    market.advance(offsetMs)
    await market.plane.clocks.check()
    expect(await challenge()).toBe('service_unavailable')
    const signed = { message: 'any', signature: '0x' }
    for (const path of ['/v1/seller/auth/keys', '/v1/buyer/auth/keys']) {
      const answer = await market.rest('POST', path, { body: signed })
      expect(codeOf(answer), path).toBe('service_unavailable')
    }
    const { text } = await market.rest('GET', '/metrics')
    const shown = Number(/^market_clock_skew_ms\{against="postgres"\} (\S+)$/m.exec(text)?.[1])
    expect(Math.abs(shown - offsetMs)).toBeLessThan(500)
    market.advance(-offsetMs)
    await market.plane.clocks.check()
    expect(await challenge()).toBe('ok')
  })

  it('starts no process, and names the difference [F38]', async () => {
    const environment = {
      NODE_ENV: 'test',
      PORT: '0',
      DATABASE_URL: market.world.databaseUrl,
      REDIS_URL: market.world.redisUrl,
      KEY_PEPPER: SECRET,
      FINGERPRINT_PEPPER: SECRET,
      SESSION_SECRET: SECRET,
      CREDENTIAL_KEYS: `k1:${Buffer.alloc(32, 7).toString('base64')}`,
      JOURNAL_DIR: market.world.folder,
      LOG_LEVEL: 'silent',
    }
    for (const args of [
      ['control-plane/main.ts', 'server'],
      ['control-plane/main.ts', 'worker'],
      ['data-plane/main.ts'],
    ]) {
      const { code, printed } = await runAhead(args, environment)
      expect(printed, args.join(' ')).toMatch(
        /The clock of this server is (59|60|61) s ahead of that of (redis|postgres)/,
      )
      expect(code, args.join(' ')).toBe(1)
    }
  })
})
