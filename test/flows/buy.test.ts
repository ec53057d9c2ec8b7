import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { generatePrivateKey } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { TestChain } from '#test/support/chain/chain.ts'
import { chainOf } from '#test/support/chain/chain.ts'
import { runMarket } from '#test/support/market/command-line.ts'
import { startNetwork } from '#test/support/market/network.ts'
import type { ScriptFolder } from '#test/support/market/script-folder.ts'
import { openScriptFolder } from '#test/support/market/script-folder.ts'
import { until } from '#test/support/run/until.ts'

const SCRIPTS = [...readFileSync('docs/buy.md', 'utf8').matchAll(/^```js\n\/\/ (\S+)\n([\s\S]*?)^```$/gm)]

let scripts: ScriptFolder

let chain: TestChain
let database: pg.Pool

beforeAll(async () => {
  chain = await chainOf()
  // The market's treasury signs, draws from wallets at once, and has money for gas.
  const { address, privateKey } = await chain.newWallet({ eth: 10n ** 18n })
  const treasury = { TREASURY_ADDRESS: address, TREASURY_PRIVATE_KEY: privateKey, CHAIN_CONFIRMATIONS: '1' }
  scripts = await openScriptFolder(
    await startNetwork({ ...treasury, ALLOWANCE_BATCH_SECONDS: '1', ALLOWANCE_READ_SECONDS: '1' }),
  )
  database = new pg.Pool({ connectionString: scripts.network.sandbox.database_url, max: 1 })
  database.on('error', () => undefined)
})

afterAll(async () => {
  await database?.end()
  await scripts?.remove()
})

async function runScript(name: string): Promise<string> {
  const text = SCRIPTS.find(([, title]) => title === name)?.[2]
  if (text === undefined) return expect.fail(`docs/buy.md has no ${name}`)
  await scripts.write(name, text)
  return scripts.run(process.execPath, [name])
}

describe('the scripts of docs/buy.md', () => {
  it('lead from a new wallet to a limited key, a paid call and its records', async () => {
    const printed = await runScript('buy.mjs')
    expect(printed).toMatch(/^main key inf_\w{8}$/m)
    const paid = Number(/^paid (\d+) micro-USD$/m.exec(printed)?.[1])
    expect(paid).toBeGreaterThan(0)
    expect(printed).toMatch(/403 .*"code":"model_not_allowed"/)
    expect(printed).toMatch(/PATCH .*403 .*"code":"forbidden"/)
    expect(printed.match(/^limit 0\.25 used today 0\.0+\d+$/gm)).toHaveLength(2)
    expect(printed).toContain(`statement ${-paid} 5000000 leaves ${5_000_000 - paid}`)
    expect(printed).toContain(`balance ${5_000_000 - paid} saved`)
    expect(printed).toMatch(/^1 line of usage$/m)
  })

  it('receive genuine alerts', async () => {
    expect(await runScript('alerts.mjs')).toMatch(/^heard webhook\.test\ndelivered 204\n$/)
  })
})

const Allowance = z.looseObject({
  status: z.string(),
  balance_usdc: z.string().nullable(),
  allowance_usdc: z.string().nullable(),
  advanced_usdc: z.string(),
  owed_usdc: z.string(),
  draws: z.array(z.looseObject({ status: z.string(), amount_usdc: z.string(), tx_hash: z.string().nullable() })),
})
const Me = z.looseObject({
  credit_balance_usdc: z.string(),
  balance_usdc: z.string().nullable(),
  allowance_usdc: z.string().nullable(),
})

describe('a wallet with USDC and no ETH', () => {
  it("pays for its key's calls, deposits, and ends both, with the same numbers everywhere", async () => {
    const { sandbox } = scripts.network
    const wallet = await chain.newWallet({ usdc: 5_000_000n })
    const env = {
      HOME: scripts.path,
      PATH: process.env['PATH'] ?? '',
      MARKET_CONFIG_DIR: join(scripts.path, 'wallet'),
      MARKET_URL: sandbox.api_base_url,
      WALLET_KEY: wallet.privateKey,
    }
    const signing = ['--private-key-env', 'WALLET_KEY', '--yes']
    const market = async <Schema extends z.ZodType>(schema: Schema, ...args: string[]): Promise<z.output<Schema>> => {
      const ran = await runMarket([...args, '--json'], { env })
      expect([args.join(' '), ran.code, ran.err]).toEqual([args.join(' '), 0, ''])
      return schema.parse(JSON.parse(ran.out))
    }
    await market(z.unknown(), 'login', '--private-key-env', 'WALLET_KEY')
    const { key } = await market(z.looseObject({ key: z.string() }), 'keys', 'create', '--label', 'spender')
    const ask = async (path: string, body?: object) => {
      const answer = await fetch(sandbox.api_base_url + path, {
        ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      })
      return { status: answer.status, body: (await answer.json()) as unknown }
    }
    const call = { model: 'gpt-5-mini', max_tokens: 100, messages: [{ role: 'user', content: 'Say hello.' }] }
    expect((await ask('/v1/chat/completions', call)).status).toBe(402)

    // The key of another wallet opens nothing, and the answer says so.
    const stranger = { ...env, WALLET_KEY: generatePrivateKey() }
    const refused = await runMarket(['allowance', 'open', '--usd', '20', ...signing], { env: stranger })
    expect(refused).toMatchObject({ code: 2, out: '' })
    expect(refused.err).toMatch(/The private key is that of the wallet 0x\w{40}, and this account pays from 0x\w{40}/)
    expect(refused.err.toLowerCase()).toContain(wallet.address.toLowerCase())
    expect((await market(Allowance, 'allowance', 'show')).status).toBe('none')

    expect((await market(Allowance, 'allowance', 'open', '--usd', '20', ...signing)).status).toBe('open')
    const read = async () => Allowance.parse((await ask('/v1/buyer/allowance')).body)
    // Reads through the API are limited.
    const untilStored = (what: string, found: string) =>
      until(what, 30_000, async () => (await database.query(found)).rowCount !== 0)
    await untilStored('credit is advanced', `select from account where kind = 'wallet_advance' and balance = -1000000`)
    let paid = await ask('/v1/chat/completions', call)
    // The gate learns of credit a moment after the books.
    await until('the call is paid', 5_000, async () => {
      if (paid.status !== 200) paid = await ask('/v1/chat/completions', call)
      return paid.status === 200
    })
    const Paid = z.looseObject({ usage: z.looseObject({ buyer_cost_micro: z.number().positive() }) })
    const cost = BigInt(Paid.parse(paid.body).usage.buyer_cost_micro)
    await untilStored(
      'the wallet has paid, and was read again',
      `select from allowance_line where balance = ${5_000_000n - cost} and owed_since is null and exists (
          select from allowance_draw where state = 'settled')`,
    )
    expect(await read()).toMatchObject({ status: 'open', owed_usdc: '0', draws: [{ status: 'settled' }] })
    const left = await chain.usdcBalance(wallet.address)
    const expected = { balance_usdc: left.toString(), allowance_usdc: (20_000_000n - cost).toString() }
    expect(left).toBe(5_000_000n - cost)
    const shown = await market(Allowance, 'allowance', 'show')
    expect(shown).toMatchObject({ ...expected, draws: [{ status: 'settled', amount_usdc: cost.toString() }] })
    expect(Me.parse((await ask('/v1/buyer/me')).body)).toMatchObject({ ...expected, credit_balance_usdc: '1000000' })
    const query = '{ me { balanceUsdc allowanceUsdc creditBalanceUsdc } allowance { owedUsdc draws { txHash } } }'
    expect((await ask('/graphql', { query })).body).toMatchObject({
      data: {
        me: {
          balanceUsdc: expected.balance_usdc,
          allowanceUsdc: expected.allowance_usdc,
          creditBalanceUsdc: '1000000',
        },
        allowance: { owedUsdc: '0', draws: [{ txHash: shown.draws[0]?.tx_hash }] },
      },
    })

    await market(z.unknown(), 'deposit', '--usd', '1', ...signing)
    const credited = `select from deposit where method = 'authorization' and state = 'credited'`
    await untilStored('the deposit is credited', credited)
    expect(Me.parse((await ask('/v1/buyer/me')).body).credit_balance_usdc).toBe('2000000')
    expect(await chain.usdcBalance(wallet.address)).toBe(left - 1_000_000n)
    expect((await market(Allowance, 'allowance', 'revoke', ...signing)).status).toBe('closed')
    expect(Me.parse((await ask('/v1/buyer/me')).body)).toMatchObject({
      credit_balance_usdc: '1000000',
      balance_usdc: null,
      allowance_usdc: null,
    })
  })
})
