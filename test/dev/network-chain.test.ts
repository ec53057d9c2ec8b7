import { mkdtempSync, readFileSync, rmSync, statSync, truncateSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { privateKeyToAccount } from 'viem/accounts'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { fundWallets } from '#dev/chain/fund-wallets.ts'
import type { Crew } from '#dev/network/crew.ts'
import { createCrew } from '#dev/network/crew.ts'
import { planeEnvironment, settlerEnvironment } from '#dev/network/environment.ts'
import { openHome } from '#dev/network/home.ts'
import { choosePlaces } from '#dev/network/ports.ts'
import { keepSecrets } from '#dev/network/secrets.ts'
import type { Services } from '#dev/network/services.ts'
import { chainFacts, startChain } from '#dev/network/services.ts'
import { BASE_USDC } from '#shared/chain-terms.ts'
import { startChain as startTestChain, testChain } from '#test/support/chain/chain.ts'
import { rpcRelay } from '#test/support/chain/rpc-relay.ts'
import { until } from '#test/support/run/until.ts'

const FIRST_USDC = 1_000_000_000n
const folder = mkdtempSync(join(tmpdir(), 'market-network-chain-'))
const ends: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const end of ends.splice(0)) await end()
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const newHome = () => mkdtempSync(join(folder, 'home-'))

/** The chain of a home, started as by `npm start`, without the rest of the network. */
async function startIn(root: string, chainRpcUrl = '') {
  const home = await openHome(root, false)
  const places = await choosePlaces({ first: 0, providers: [], file: home.path('providers.json') })
  const lines: string[] = []
  const log = (line: string) => void lines.push(line)
  const crew: Crew = createCrew({ report: log, onPidsChange: () => undefined, onGiveUp: () => undefined })
  const services: Services = {
    databaseUrl: 'postgres://unused',
    redisUrl: 'redis://unused',
    chainRpcUrl,
    hasOwnChain: chainRpcUrl === '',
    wallets: undefined,
    pageDir: undefined,
  }
  let isStopped = false
  const stop = async () => {
    if (isStopped) return
    isStopped = true
    await crew.stop([])
    places.release()
    home.release()
  }
  ends.push(stop)
  await startChain({ home, crew, log, places }, services)
  const { wallets } = services
  if (wallets === undefined) throw new Error('the home has no wallets')
  const usdc = () => testChain(services.chainRpcUrl).usdcBalance(wallets.buyer.address)
  return { home, places, crew, lines, services, wallets, usdc, stop }
}

const StateSchema = z.object({ best_block_number: z.number() })

/** The last block in a file of the chain's state. Undefined while the file is being written. */
function blockIn(file: string): bigint | undefined {
  try {
    return BigInt(StateSchema.parse(JSON.parse(readFileSync(file, 'utf8'))).best_block_number)
  } catch {
    return undefined
  }
}

describe('the chain of a development network', () => {
  it('has wallets of its own with money, in a file for their owner only', async () => {
    const root = newHome()
    const first = await startIn(root)
    expect(await first.usdc()).toBe(FIRST_USDC)
    const { publicClient } = testChain(first.services.chainRpcUrl)
    const { buyer, facilitator } = first.wallets
    for (const { address } of [buyer, facilitator]) {
      expect(await publicClient.getBalance({ address })).toBeGreaterThan(0n)
    }
    const file = join(root, 'wallets.json')
    expect(statSync(file).mode & 0o777).toBe(0o600)
    const keys = Object.values(first.wallets).map(({ privateKey }) => privateKey)
    expect(new Set(keys).size).toBe(4)
    // The first of the keys that every copy of the chain's program prints.
    expect(keys).not.toContain('0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80')
    expect((await startIn(newHome())).wallets.buyer).not.toEqual(buyer)
    expect(first.lines).toEqual([])
  })

  it('keeps its balances over a restart and over a kill, and its address', async () => {
    const root = newHome()
    const first = await startIn(root)
    const chain = testChain(first.services.chainRpcUrl)
    await fundWallets(chain.rpcUrl, [{ address: first.wallets.buyer.address, usdcMicro: 5n, wei: 10n ** 18n }])
    await chain.approvePermit2({ ...first.wallets.buyer, account: privateKeyToAccount(first.wallets.buyer.privateKey) })
    // Reading of deposits continues only where the chain's first blocks are the same.
    const firstHash = async () => (await chain.publicClient.getBlock({ blockNumber: 0n })).hash
    const hash = await firstHash()
    const state = join(root, 'chain/state.json')
    const head = await chain.publicClient.getBlockNumber({ cacheTime: 0 })
    await until('its state is on disk', 10_000, () => blockIn(state) === head)
    process.kill(z.int().positive().parse(first.crew.pids()['chain']), 'SIGKILL')
    await until('the chain runs again', 20_000, () => first.lines.includes('chain was started again'))
    expect(first.services.chainRpcUrl).toBe(chain.rpcUrl)
    expect([await first.usdc(), await firstHash()]).toEqual([5n, hash])
    await first.stop()
    const again = await startIn(root)
    expect(again.wallets).toEqual(first.wallets)
    expect(await again.usdc()).toBe(5n)
    expect(again.lines).toEqual([])
  })

  it('reports that it began anew when its state is lost or cut short: old wallets have their first money, and a new treasury takes over', async () => {
    const root = newHome()
    const first = await startIn(root)
    await first.stop()
    truncateSync(join(root, 'chain/state.json'), 1_000)
    const cut = await startIn(root)
    expect(cut.lines).toEqual([expect.stringContaining('cut short'), expect.stringContaining('began anew')])
    expect(await cut.usdc()).toBe(FIRST_USDC)
    expect(cut.services.wallets).toEqual({ ...first.wallets, treasury: expect.anything() })
    const { treasury } = cut.services.wallets ?? first.wallets
    expect(treasury).not.toEqual(first.wallets.treasury)
    expect(JSON.parse(readFileSync(join(root, 'wallets.json.former'), 'utf8'))).toEqual(first.wallets)
    for (const file of ['wallets.json', 'wallets.json.former'])
      expect(statSync(join(root, file)).mode & 0o777).toBe(0o600)
    await cut.stop()
    const kept = await startIn(root)
    expect([kept.lines, kept.wallets.treasury]).toEqual([[], treasury])
    await kept.stop()
    rmSync(join(root, 'chain'), { recursive: true })
    const lost = await startIn(root)
    expect(lost.lines).toEqual([expect.stringContaining('the books are older')])
    await lost.stop()
    // New wallets on an old chain have money too.
    rmSync(join(root, 'wallets.json'))
    const fresh = await startIn(root)
    expect(fresh.lines).toEqual([])
    expect(fresh.wallets.buyer).not.toEqual(first.wallets.buyer)
    expect(await fresh.usdc()).toBe(FIRST_USDC)
  })

  it('does not start when an external chain is set, which gets no request', async () => {
    const given = await startTestChain()
    const relay = await rpcRelay(given.rpcUrl)
    try {
      const { crew, lines, services, wallets } = await startIn(newHome(), relay.url)
      expect(lines).toEqual([expect.stringContaining(`${wallets.facilitator.address}, which needs ETH`)])
      expect(crew.pids()).toEqual({})
      expect(services.chainRpcUrl).toBe(relay.url)
      expect(relay.calls()).toBe(0)
    } finally {
      await relay.close()
      await given.stop()
    }
  })

  it('and its key are known only to the control plane and the worker', async () => {
    const { home, places, services, wallets } = await startIn(newHome())
    const secrets = keepSecrets(home.path('secrets.json'))
    const facts = { home, places, secrets, ...services }
    expect(settlerEnvironment(facts)).toMatchObject({
      CHAIN_RPC_URL: services.chainRpcUrl,
      CHAIN_ID: '8453',
      USDC_ADDRESS: BASE_USDC,
      FACILITATOR_PRIVATE_KEY: wallets.facilitator.privateKey,
      TREASURY_ADDRESS: wallets.treasury.address,
    })
    process.env['FACILITATOR_PRIVATE_KEY'] = wallets.seller.privateKey
    try {
      expect(settlerEnvironment(facts)['FACILITATOR_PRIVATE_KEY']).toBe(wallets.seller.privateKey)
      expect(JSON.stringify(planeEnvironment(facts))).not.toContain(wallets.seller.privateKey)
    } finally {
      delete process.env['FACILITATOR_PRIVATE_KEY']
    }
    const shown = JSON.stringify([planeEnvironment(facts), chainFacts(services)])
    for (const name of ['facilitator', 'treasury'] as const) expect(shown).not.toContain(wallets[name].privateKey)
    expect(readFileSync(home.path('logs/chain.log'), 'utf8')).toBe('')
  })
})
