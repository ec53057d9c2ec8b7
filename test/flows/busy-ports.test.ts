import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import type { Crew } from '#dev/network/crew.ts'
import { createCrew } from '#dev/network/crew.ts'
import { openHome } from '#dev/network/home.ts'
import type { Program } from '#dev/network/programs.ts'
import { startProgram } from '#dev/network/programs.ts'
import { SERVICES, STOP_ORDER, startNetwork as startProcesses } from '#dev/network/start.ts'
import { startNetwork } from '#test/support/network.ts'
import type { Rival } from '#test/support/rival.ts'
import { startRival } from '#test/support/rival.ts'
import { until } from '#test/support/until.ts'

const READY_MS = 60_000
const SLOW_MS = 150_000
const folder = mkdtempSync(join(tmpdir(), 'market-busy-'))
const rivals: Rival[] = []
let stop: (() => Promise<unknown>) | undefined

afterEach(async () => {
  await stop?.()
  stop = undefined
  for (const rival of rivals.splice(0)) await rival.close()
}, 60_000)
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Where a program is about to listen. */
function addressOf({ args, env }: Program): { host: string; port: number } {
  const flag = (name: string) => args[args.indexOf(name) + 1]
  return args.includes('--port')
    ? { host: flag('--host') ?? '', port: Number(flag('--port')) }
    : { host: '127.0.0.1', port: Number(env['PORT']) }
}

/** Starts programs, and is faster than those of some logs: it takes their port after they were told of it. */
function createMeddler(logs: readonly string[]) {
  const left = new Set(logs)
  const launch = async (program: Program) => {
    const log = program.logFile.split('/').at(-1) ?? ''
    if (left.delete(log)) {
      const { host, port } = addressOf(program)
      rivals.push(await startRival(host, port))
    }
    return startProgram(program)
  }
  return { left, launch }
}

const PATHS = ['/health/paid', '/v1/models', '/v1/buyer/me'] as const

/** True when the data plane takes paid calls, and answers by itself and for the control plane behind it. */
async function answers(sandbox: { base_url: string; buyer_key: string }): Promise<boolean> {
  const headers = { authorization: `Bearer ${sandbox.buyer_key}` }
  const asked = PATHS.map((path) =>
    fetch(sandbox.base_url + path, { headers }).then(
      ({ status }) => status,
      () => 0,
    ),
  )
  return (await Promise.all(asked)).every((status) => status === 200)
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
  it(
    'comes up, and tells the right ports, though every one is taken between being found and being bound',
    async () => {
      const meddler = createMeddler(['data-plane.log', 'control-plane.log', 'worker.log', 'provider-sandbox-a.log'])
      const home = await openHome(mkdtempSync(join(folder, 'home-')), false)
      const given: string[] = []
      const crew: Crew = createCrew({
        report: () => undefined,
        onPidsChange: (pids) => home.noteChildren(Object.values(pids)),
        onGiveUp: (member) => given.push(member),
      })
      stop = async () => {
        const providers = Object.keys(crew.pids()).filter((name) => name.startsWith('provider_'))
        await crew.stop([...STOP_ORDER, providers, SERVICES])
        home.release()
      }
      const services = { databaseUrl: undefined, redisUrl: undefined }
      const options = { home, crew, log: () => undefined, port: 0, history: 0, ...services }
      const sandbox = await startProcesses({ ...options, launch: meddler.launch })
      expect([...meddler.left]).toEqual([])
      const taken = rivals.map(({ host, port }) => `http://${host}:${port}`)
      expect(taken).toHaveLength(4)
      for (const url of [sandbox().base_url, sandbox().control_plane_url, sandbox().provider_url]) {
        expect(taken).not.toContain(url)
      }
      await until('it answers', READY_MS, () => answers(sandbox()))
      expect(await call(sandbox())).toBe(200)

      const before = sandbox()
      meddler.left.add('control-plane.log')
      const { control_plane: pid = 0 } = before.pids
      process.kill(pid, 'SIGKILL')
      await until(
        'the control plane has moved',
        READY_MS,
        () => sandbox().control_plane_url !== before.control_plane_url,
      )
      await until('it answers again', READY_MS, () => answers(sandbox()))
      expect(sandbox().base_url).toBe(before.base_url)
      expect(await call(sandbox())).toBe(200)
      expect(given).toEqual([])
    },
    SLOW_MS,
  )

  it(
    'comes up beside another one that starts at the same moment, both where they always do',
    async () => {
      const markets = await Promise.all([startNetwork({ PORT: '' }), startNetwork({ PORT: '' })])
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
    },
    SLOW_MS,
  )
})
