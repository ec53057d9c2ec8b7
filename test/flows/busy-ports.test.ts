import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { privateKeyToAddress } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { Crew } from '#dev/network/crew.ts'
import { createCrew } from '#dev/network/crew.ts'
import { openHome } from '#dev/network/home.ts'
import { SERVICES, STOP_ORDER, startNetwork as startProcesses } from '#dev/network/start.ts'
import type { Address } from '#dev/services/ports.ts'
import { testChain } from '#test/support/chain/chain.ts'
import { startNetwork } from '#test/support/market/network.ts'
import type { Rival } from '#test/support/run/rival.ts'
import { startRival } from '#test/support/run/rival.ts'
import { until } from '#test/support/run/until.ts'

const PrivateKey = z.templateLiteral(['0x', z.string().regex(/^[0-9a-f]{64}$/)])
const READY_MS = 60_000
const folder = mkdtempSync(join(tmpdir(), 'market-busy-'))
const PLANES = ['control_plane', 'data_plane', 'worker'] as const
const MEMBERS = [...PLANES, 'postgres', 'redis', 'chain', 'provider_sandbox_a'] as const
/** A member, its public address, and the members that are restarted when the address changes. */
const KILLED = [
  ['control_plane', 'control_plane_url', ['data_plane', 'worker']],
  ['redis', 'redis_url', PLANES],
  ['chain', 'rpc_url', ['control_plane', 'worker']],
] as const
const rivals: Rival[] = []
let stop: (() => Promise<unknown>) | undefined

async function stopAll(): Promise<void> {
  await stop?.()
  stop = undefined
  for (const rival of rivals.splice(0)) await rival.close()
}

afterAll(async () => {
  await stopAll()
  rmSync(folder, { recursive: true, force: true })
})

/** Takes the ports of some members after their announcement and before the members start. */
function createMeddler(members: readonly string[]) {
  const left = new Set(members)
  const taken: string[] = []
  const beforeStart = async (member: string, { host, port }: Address) => {
    if (!left.delete(member)) return
    rivals.push(await startRival(host, port))
    taken.push(`${host}:${port}`)
  }
  return { left, taken, beforeStart }
}

type Meddler = ReturnType<typeof createMeddler>

/** A network in this process. The meddler controls its members through their ports. */
async function startMeddled(meddler: Meddler) {
  const home = await openHome(mkdtempSync(join(folder, 'home-')), false)
  const given: string[] = []
  const lines: string[] = []
  const crew: Crew = createCrew({
    report: (line) => lines.push(line),
    onPidsChange: (pids) => home.noteChildren(Object.values(pids)),
    onGiveUp: (member) => given.push(member),
  })
  stop = async () => {
    const providers = Object.keys(crew.pids()).filter((name) => name.startsWith('provider_'))
    await crew.stop([...STOP_ORDER, providers, SERVICES])
    home.release()
  }
  const services = { databaseUrl: undefined, redisUrl: undefined, chainRpcUrl: undefined }
  const options = { home, crew, log: () => undefined, port: 0, history: 0, ...services }
  const sandbox = await startProcesses({ ...options, beforeStart: meddler.beforeStart })
  return { crew, sandbox, given, lines }
}

type Meddled = Awaited<ReturnType<typeof startMeddled>>

/** Kills a member. Waits until it and the members that know its address are running again. */
async function killAndWait({ crew, lines }: Meddled, member: string, told: readonly string[]): Promise<void> {
  const pid = crew.pids()[member]
  if (pid === undefined) throw new Error(`${member} does not run`)
  const from = lines.length
  process.kill(pid, 'SIGKILL')
  await until(`${member} and the members that know it run again`, READY_MS, () =>
    [member, ...told].every((name) => lines.includes(`${name} was started again`, from)),
  )
  await crew.settled()
}

const PATHS = ['/health/paid', '/v1/models', '/v1/buyer/me'] as const

/**
 * True when the data plane accepts paid calls, serves its own reads, and reaches the control plane behind it. The
 * checks run in sequence, because the reads of a key are limited and waiting would use them up.
 */
async function answers(sandbox: { base_url: string; buyer_key: string }): Promise<boolean> {
  const headers = { authorization: `Bearer ${sandbox.buyer_key}` }
  for (const path of PATHS) {
    const status = await fetch(sandbox.base_url + path, { headers }).then(
      (answer) => answer.status,
      () => 0,
    )
    if (status !== 200) return false
  }
  return true
}

async function call(sandbox: { base_url: string; buyer_key: string }): Promise<number> {
  const answer = await fetch(`${sandbox.base_url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${sandbox.buyer_key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'gpt-5-mini', messages: [{ role: 'user', content: 'hi' }], max_tokens: 8 }),
  })
  await answer.text()
  return answer.status
}

describe('a market on a busy machine', () => {
  const meddler = createMeddler([...MEMBERS])
  let market: Meddled
  beforeAll(async () => {
    market = await startMeddled(meddler)
  })
  afterAll(stopAll)

  it('starts, and announces the right ports, though every port is taken between its choice and its use', async () => {
    const { sandbox, given, lines } = market
    expect([...meddler.left]).toEqual([])
    expect(meddler.taken).toHaveLength(MEMBERS.length)
    const told = Object.entries(sandbox()).filter(([name]) => name.endsWith('_url'))
    for (const [name, url] of told) expect(meddler.taken, name).not.toContain(new URL(String(url)).host)
    expect(Object.keys(sandbox().pids)).toEqual(expect.arrayContaining([...MEMBERS]))
    expect(await answers(sandbox())).toBe(true)
    expect(await call(sandbox())).toBe(200)
    const buyer = privateKeyToAddress(PrivateKey.parse(sandbox().buyer_private_key))
    expect(await testChain(sandbox().rpc_url).usdcBalance(buyer)).toBe(1_000_000_000n)
    expect(sandbox().facilitator_url).toBe(`${sandbox().control_plane_url}/facilitator`)
    const moved = lines.filter((line) => line.endsWith('found its port taken'))
    // A member that restarts anyway reports no port. No member moves twice.
    expect(new Set(moved).size).toBe(moved.length)
    expect(PLANES.map((name) => `${name} found its port taken`)).toEqual(expect.arrayContaining(moved))
    expect(given).toEqual([])
  })

  it('moves a killed member whose port is taken, and notifies the members that knew its port', async () => {
    const { sandbox, given } = market
    for (const [member, url, told] of KILLED) {
      const before = sandbox()
      meddler.left.add(member)
      await killAndWait(market, member, told)
      expect([...meddler.left]).toEqual([])
      expect(sandbox()[url]).not.toBe(before[url])
      const others = KILLED.map(([, other]) => other).filter((other) => other !== url)
      for (const other of others) expect(sandbox()[other]).toBe(before[other])
      await until('the member answers again', READY_MS, () => answers(sandbox()))
      expect(await call(sandbox())).toBe(200)
    }
    expect(given).toEqual([])
  })
})

describe('a market that starts', () => {
  it('starts beside another market that starts at the same moment, both at their usual ports', async () => {
    // Each market has a PostgreSQL of its own, which takes a port as well.
    const own = { PORT: '', DATABASE_URL: '' }
    const markets = await Promise.all([startNetwork(own), startNetwork(own)])
    stop = () => Promise.all(markets.map((market) => market.remove()))
    const [first, second] = markets.map(({ sandbox }) => sandbox)
    for (const sandbox of [first, second]) {
      if (sandbox === undefined) throw new Error('a market is missing')
      expect(await answers(sandbox)).toBe(true)
      expect(await call(sandbox)).toBe(200)
    }
    expect(first?.base_url).not.toBe(second?.base_url)
    expect(first?.control_plane_url).not.toBe(second?.control_plane_url)
    expect(first?.provider_url).not.toBe(second?.provider_url)
  })
})
