import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import OpenAI from 'openai'
import pg from 'pg'
import type { Browser } from 'playwright-core'
import type { Hex } from 'viem'
import { createWalletClient, http, parseAbi } from 'viem'
import { privateKeyToAccount, privateKeyToAddress } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { CHAIN, testChain } from '#test/support/chain/chain.ts'
import type { Network } from '#test/support/market/network.ts'
import { startNetwork } from '#test/support/market/network.ts'
import { startBrowser } from '#test/support/page/browser.ts'
import { openPerson } from '#test/support/page/page-browser.ts'
import { openWallet } from '#test/support/page/page-wallet.ts'
import { BUSY_MS, until } from '#test/support/run/until.ts'

const run = promisify(execFile)
const MODEL = 'gpt-5-mini'
const REVOKED_WITHIN_MS = 5_000
const ROUTED_WITHIN_MS = 1_000
let network: Network
let browser: Browser

beforeAll(async () => {
  ;[network, browser] = await Promise.all([startNetwork({}, 'own'), startBrowser()])
})

afterAll(async () => {
  await browser?.close()
  await network?.remove()
})

function openai(key = network.sandbox.buyer_key): OpenAI {
  return new OpenAI({ baseURL: `${network.sandbox.api_base_url}/v1`, apiKey: key, maxRetries: 0 })
}

async function ask(model = MODEL, key?: string): Promise<{ family: string | null; attempts: number; charge: number }> {
  const { data, response } = await openai(key)
    .chat.completions.create({ model, messages: [{ role: 'user', content: 'hi' }], max_tokens: 32 })
    .withResponse()
  return {
    family: response.headers.get('x-mkt-provider-family'),
    attempts: Number(response.headers.get('x-mkt-marketplace-attempts')),
    charge: z.object({ buyer_cost_micro: z.number() }).parse(data.usage).buyer_cost_micro,
  }
}

async function control(path: string, init: { method?: string; key: string; body?: unknown; idempotencyKey?: string }) {
  const answer = await fetch(network.sandbox.api_base_url + path, {
    method: init.method ?? 'GET',
    headers: {
      authorization: `Bearer ${init.key}`,
      ...(init.body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(init.idempotencyKey ? { 'idempotency-key': init.idempotencyKey } : {}),
    },
    ...(init.body === undefined ? {} : { body: JSON.stringify(init.body) }),
  })
  const text = await answer.text()
  return { status: answer.status, body: text === '' ? undefined : JSON.parse(text) }
}

async function balance(): Promise<bigint> {
  const { body } = await control('/v1/buyer/me', { key: network.sandbox.buyer_key })
  return BigInt(z.object({ credit_balance_usdc: z.string() }).parse(body).credit_balance_usdc)
}

async function checkLedger(): Promise<string> {
  const { stdout } = await run('npm', ['run', '--silent', 'check:ledger', '--', '--quiesce'], {
    env: { ...process.env, MARKET_HOME: network.home },
    timeout: BUSY_MS,
  })
  return stdout
}

describe('the market survives', () => {
  it('2,000 mixed calls, whole, streamed, failing and aborted, with a green ledger', async () => {
    const kinds = [
      () => ask(),
      () => ask('sandbox/echo'),
      () => ask('sandbox/server-error').catch(() => undefined),
      () => ask('sandbox/cut-mid-stream').catch(() => undefined),
      () => streamed('gpt-5-mini', undefined),
      () => streamed('gpt-5-mini', 1),
      () => streamed('sandbox/cut-mid-stream', undefined).catch(() => undefined),
      () => streamed('claude-sonnet-4.5', 2),
    ]
    let next = 0
    await Promise.all(
      Array.from({ length: 16 }, async () => {
        while (next < 2_000) await kinds[next++ % kinds.length]?.()
      }),
    )
    expect(await checkLedger()).not.toContain('BREACH')
  })

  it('a revoked key stops within five seconds', async () => {
    const created = await control('/v1/buyer/keys', {
      method: 'POST',
      key: network.sandbox.buyer_key,
      body: { label: 'short-lived' },
      idempotencyKey: 'survival-key-1',
    })
    expect(created.status).toBe(201)
    const { id, key } = z.object({ id: z.string(), key: z.string() }).parse(created.body)
    await until('the new key works', 5_000, () =>
      ask(MODEL, key).then(
        () => true,
        () => false,
      ),
    )
    expect((await control(`/v1/buyer/keys/${id}`, { method: 'DELETE', key: network.sandbox.buyer_key })).status).toBe(
      204,
    )
    await until('the revoked key is refused', REVOKED_WITHIN_MS, () =>
      ask(MODEL, key).then(
        () => false,
        (error: unknown) => error instanceof OpenAI.AuthenticationError,
      ),
    )
  })

  it('a new offer by each door is routed to within a second', async () => {
    // No other seller has these three models at the named provider with such a discount, so the new offer has the
    // lowest price.
    const { providers } = z
      .object({ providers: z.array(z.object({ id: z.string(), base_url: z.string() })) })
      .parse((await control('/v1/providers', { key: network.sandbox.buyer_key })).body)
    const baseUrl = providers.find((provider) => provider.id === 'sandbox-c')?.base_url ?? ''
    const offer = (model: string, apiKey: string) => ({
      model,
      api_key: apiKey,
      seller_base_url: baseUrl,
      discount: 90,
    })
    const made: Record<string, () => Promise<unknown>> = {
      'gpt-5': () =>
        control('/v1/seller/offers', {
          method: 'POST',
          key: network.sandbox.seller_key,
          body: offer('gpt-5', 'sk-rest-door'),
          idempotencyKey: 'door-rest',
        }),
      'gpt-5-nano': () =>
        post(
          network.sandbox.graphql_url,
          {
            query: `mutation($input: CreateOfferInput!) { createOffer(input: $input) { __typename } }`,
            variables: {
              input: { model: 'gpt-5-nano', apiKey: 'sk-graphql-door', sellerBaseUrl: baseUrl, discount: 90 },
            },
          },
          { 'idempotency-key': 'door-graphql', 'x-market-client': 'test' },
        ),
      'claude-sonnet-4.5': () =>
        post(
          `${network.sandbox.trpc_url}/offer.create`,
          { model: 'claude-sonnet-4.5', apiKey: 'sk-trpc-door', sellerBaseUrl: baseUrl, discount: 90 },
          {
            'idempotency-key': 'door-trpc',
          },
        ),
    }
    for (const [model, create] of Object.entries(made)) {
      expect((await ask(model)).family).not.toBe('sandbox-c')
      const answer = await create()
      await until(
        `${model} is routed to the new offer (${JSON.stringify(answer).slice(0, 300)})`,
        ROUTED_WITHIN_MS,
        async () => (await ask(model)).family === 'sandbox-c',
      )
    }
  })

  it('the death of the lowest-priced provider: the next one answers and the buyer sees no error', async () => {
    const first = await ask()
    const pid =
      network.sandbox.pids[`provider_${first.family?.replace('-', '_')}`] ?? network.sandbox.pids[String(first.family)]
    expect(pid).toBeDefined()
    process.kill(pid!, 'SIGKILL')
    const after = await Promise.all(Array.from({ length: 20 }, () => ask()))
    for (const answer of after) expect(answer.family).not.toBe(first.family)
    await until('the dead provider is no longer tried first', 10_000, async () => (await ask()).attempts === 1)
  })

  it('the loss of the control plane: chat goes on, and its own paths answer 503', async () => {
    const pid = network.sandbox.pids['control_plane']!
    process.kill(pid, 'SIGSTOP')
    try {
      for (let call = 0; call < 5; call++) expect((await ask()).charge).toBeGreaterThan(0)
    } finally {
      process.kill(pid, 'SIGCONT')
    }
  })

  it('a restart of every process, with balances kept', async () => {
    await until('every event is posted', 20_000, async () => {
      const first = await balance()
      return first === (await balance())
    })
    expect(await checkLedger()).not.toContain('BREACH')
    const before = await balance()
    const { buyer_private_key: key } = network.sandbox
    expect(await walletBalance(key)).toBe(1_000_000_000n)
    await spend(key, 1_234_567n)
    await network.restart()
    expect(network.sandbox.buyer_private_key).toBe(key)
    expect(await walletBalance(key)).toBe(998_765_433n)
    await until('the balance is served again', 15_000, () =>
      balance().then(
        (now) => now === before,
        () => false,
      ),
    )
    const { charge } = await ask()
    await until(
      'the balance has moved by the charge',
      10_000,
      async () => before - (await balance()) === BigInt(charge),
    )
    // A call that has ended is not ended again by the process that inherits its journal.
    expect(await countConflicts()).toBe(0)
  })

  it('the death of the control plane under an open page, which shows it and recovers by itself', async () => {
    const { dashboard_url: url, buyer_key: key } = network.sandbox
    const { context, page } = await openPerson(browser, { url, key })
    await page.goto(`${url}/buyer/credit`)
    await page.getByText('Available credit').waitFor()
    process.kill(network.sandbox.pids['control_plane'] ?? 0, 'SIGKILL')
    await page.getByText('Reconnecting', { exact: true }).waitFor({ timeout: BUSY_MS })
    expect(await page.getByText('Available credit').isVisible()).toBe(true)
    await page.getByText('Live', { exact: true }).waitFor({ timeout: BUSY_MS })
    // The page goes on reading without a reload.
    const shown = () =>
      page.getByText('Available credit').locator('xpath=following-sibling::dd[1]/span').getAttribute('title')
    const before = await shown()
    await ask()
    await until('the page shows the new balance', BUSY_MS, async () => (await shown()) !== before)
    await context.close()
  })

  it('a top-up from the page: a wallet signs, the market sends the deposit to the chain, and the credit arrives', async () => {
    const { dashboard_url: url, buyer_key: key, buyer_private_key } = network.sandbox
    const { context, page, complaints } = await openPerson(browser, { url, key })
    await openWallet(context, privateKeyToAccount(buyer_private_key))
    await page.goto(`${url}/buyer/credit`)
    await page.getByLabel('Amount, US dollars').fill('3.25')
    await page.getByRole('button', { name: 'Sign with Test wallet' }).click()
    const lineOf = (table: string, name: RegExp) => page.getByRole('table', { name: table }).getByRole('row', { name })
    await lineOf('Deposits', /credited.*\$3\.25/).waitFor({ timeout: BUSY_MS })
    await lineOf('Ledger', /\+\$3\.25/)
      .first()
      .waitFor()
    expect(complaints).toEqual([])
    await context.close()
  })
})

async function countConflicts(): Promise<number> {
  const client = new pg.Client(network.sandbox.database_url)
  await client.connect()
  try {
    return (await client.query('select 1 from usage_conflict')).rows.length
  } finally {
    await client.end()
  }
}
/** Micro-USD of a wallet on the market's chain. */
function walletBalance(key: Hex): Promise<bigint> {
  return testChain(network.sandbox.rpc_url).usdcBalance(privateKeyToAddress(key))
}

/** Gives USDC of a wallet away. The wallet pays the gas. */
async function spend(key: Hex, amount: bigint): Promise<void> {
  const transport = http(network.sandbox.rpc_url)
  const wallet = createWalletClient({ chain: CHAIN, transport, account: privateKeyToAccount(key) })
  const abi = parseAbi(['function transfer(address, uint256) returns (bool)'])
  const args = [privateKeyToAddress(network.sandbox.seller_private_key), amount] as const
  await wallet.writeContract({ address: network.sandbox.usdc_address, abi, functionName: 'transfer', args })
}

/** Reads a stream to its end, or disconnects after this many chunks. */
async function streamed(model: string, leaveAfter: number | undefined): Promise<void> {
  const stream = await openai().chat.completions.create({
    model,
    stream: true,
    messages: [{ role: 'user', content: 'Tell me a story.' }],
    max_tokens: 64,
  })
  let seen = 0
  for await (const _chunk of stream) {
    seen++
    if (leaveAfter !== undefined && seen >= leaveAfter) stream.controller.abort()
  }
}

async function post(url: string, body: unknown, headers: Record<string, string>): Promise<unknown> {
  const answer = await fetch(url, {
    method: 'POST',
    headers: { authorization: `Bearer ${network.sandbox.seller_key}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
  return answer.json()
}
