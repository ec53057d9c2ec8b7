import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { TestChain } from '#test/support/chain/chain.ts'
import { chainOf } from '#test/support/chain/chain.ts'
import { runInTerminal, runMarket } from '#test/support/market/command-line.ts'
import { sharedNetwork } from '#test/support/market/network.ts'
import type { ScriptFolder } from '#test/support/market/script-folder.ts'
import { openScriptFolder } from '#test/support/market/script-folder.ts'

/** The lines of README that run a script of the docs. */
const LINES = [...readFileSync('README.md', 'utf8').matchAll(/^node (docs\/examples\/(\w+\.mjs))$/gm)]

let chain: TestChain
let scripts: ScriptFolder

beforeAll(async () => {
  chain = await chainOf()
  scripts = await openScriptFolder(await sharedNetwork())
})

afterAll(() => scripts?.remove())

async function runScript(name: string): Promise<string> {
  const path = LINES.find(([, , title]) => title === name)?.[1]
  if (path === undefined) return expect.fail(`README.md has no line for ${name}`)
  const { privateKey } = await chain.newWallet({ usdc: 1_000_000n })
  return scripts.run(process.execPath, [resolve(path)], { WALLET_KEY: privateKey, RPC_URL: chain.rpcUrl })
}

describe('the scripts of docs/pay.md, by the lines of README.md', () => {
  it('pay by x402, whole and streamed', async () => {
    const printed = await runScript('pay.mjs')
    expect(printed).toMatch(/^cost \d+ micro-USD, transferred 1000 in 0x[0-9a-f]{64}$/m)
    expect(printed).toMatch(/^streamed, payment settled$/m)
  })

  it('pay by MPP, whole and streamed', async () => {
    const printed = await runScript('mpp.mjs')
    expect(printed).toMatch(/^paid success 0x[0-9a-f]{64}$/m)
    expect(printed).toMatch(/^streamed, payment settled$/m)
  })

  it('buy a film by x402, and poll it with its token', async () => {
    const printed = await runScript('film.mjs')
    expect(printed).toMatch(/^paid in 0x[0-9a-f]{64}$/m)
    // The sample provider makes a video that is a second shorter.
    expect(printed).toMatch(/^succeeded cost [1-9]\d+ micro-USD 200 video\/mp4$/m)
  })

  it('read a chain by viem and posts, call by call', async () => {
    const printed = await runScript('reads.mjs')
    expect(printed).toMatch(/^chain 8453 balance 0n wei$/m)
    // Ten posts at 500 micro-USD and 75 %.
    expect(printed).toMatch(/^10 posts for 3750 micro-USD$/m)
  })
})

describe('market pay', () => {
  async function payBy(args: readonly string[], usdc = 1_000_000n) {
    const wallet = await chain.newWallet({ usdc })
    const env = {
      HOME: scripts.path,
      PATH: process.env['PATH'] ?? '',
      MARKET_CONFIG_DIR: join(scripts.path, 'config'),
      MARKET_URL: scripts.network.sandbox.api_base_url,
      WALLET_KEY: wallet.privateKey,
    }
    const ran = await runMarket(['pay', 'Say', 'hello.', '--private-key-env', 'WALLET_KEY', ...args], { env })
    return { ...ran, left: await chain.usdcBalance(wallet.address), key: wallet.privateKey.slice(2) }
  }

  it.each([['upto'], ['exact']])('buys one answer by %s and never shows the key', async (scheme) => {
    const args = ['--scheme', scheme, '--rpc-url', chain.rpcUrl, '--max-tokens', '50', '--yes']
    const { code, out, err, left, key } = await payBy(args)
    expect([code, err, left]).toEqual([0, '', 999_000n])
    expect(out).toMatch(/^transaction +0x[0-9a-f]{64}$/m)
    expect(out + err).not.toContain(key)
  })

  it('asks a person for the key where none is set, and does not echo it', async () => {
    const { privateKey, address } = await chain.newWallet({ usdc: 1_000_000n })
    const env = {
      HOME: scripts.path,
      MARKET_CONFIG_DIR: join(scripts.path, 'config'),
      MARKET_URL: scripts.network.sandbox.api_base_url,
      NO_COLOR: '1',
    }
    const args = ['pay', 'Say', 'hello.', '--scheme', 'exact', '--yes', '--max-tokens', '50']
    const answers = [{ when: '(hidden): ', type: `${privateKey}\r` }]
    const { code, out } = await runInTerminal(args, { env, answers })
    expect([code, await chain.usdcBalance(address)]).toEqual([0, 999_000n])
    expect(out).toMatch(/transaction +0x[0-9a-f]{64}/)
    expect(out).not.toContain(privateKey.slice(2, 20))
  })

  it('signs nothing without a confirmation, above its limit, or without money', async () => {
    const unasked = await payBy(['--scheme', 'exact'])
    expect([unasked.code, unasked.left]).toEqual([2, 1_000_000n])
    const dear = await payBy(['--scheme', 'exact', '--max-payment', '0.000999', '--yes'])
    expect([dear.code, dear.err, dear.left]).toEqual([2, expect.stringContaining('--max-payment'), 1_000_000n])
    const poor = await payBy(['--scheme', 'exact', '--yes'], 0n)
    expect([poor.code, poor.err]).toEqual([1, expect.stringContaining('insufficient_balance')])
  })
})
