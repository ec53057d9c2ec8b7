import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { z } from 'zod'
import { startNetwork } from '#test/support/market/network.ts'
import type { ScriptFolder } from '#test/support/market/script-folder.ts'
import { openScriptFolder } from '#test/support/market/script-folder.ts'
import { until } from '#test/support/run/until.ts'

const SCRIPT = /^```js\n\/\/ sell\.mjs\n([\s\S]*?)^```$/m.exec(readFileSync('docs/sell.md', 'utf8'))?.[1]

let scripts: ScriptFolder

beforeAll(async () => {
  scripts = await openScriptFolder(await startNetwork())
})

afterAll(() => scripts?.remove())

it('the script of docs/sell.md goes from a fresh wallet to an offer that serves a paid call and shows in earnings', async () => {
  await scripts.write('sell.mjs', SCRIPT ?? '')
  const stdout = await scripts.run(process.execPath, ['sell.mjs'])
  expect(stdout).toMatch(/^seller key mkt_seller_\w{8}$/m)
  expect(stdout).toMatch(/^the provider serves \d+ models, the market sells [1-9]\d*$/m)
  expect(stdout).toContain('offer active input 3750 of 50000 micro-USD')
  expect(stdout).toContain('row gpt-5-nano duplicate_offer_for_credential')
  expect(stdout).toMatch(/^bulk [1-5] created$/m)
  const paid = Number(/^the buyer paid (\d+)$/m.exec(stdout)?.[1])
  const earned = Number(/^sold gpt-5-nano accrued earned (\d+)$/m.exec(stdout)?.[1])
  expect(paid).toBeGreaterThan(0)
  expect(earned).toBe(Math.floor(paid * 0.95))
  expect(stdout).toContain(`the same offer true pending ${earned}\n1 line of sales`)
  const [, done, total] = /^cancelled (\d+) of (\d+) succeeded$/m.exec(stdout) ?? []
  expect([done, Number(total)]).toEqual([total, expect.any(Number)])
  expect(stdout).toMatch(/^forgotten: Sandbox A, saved \d{4}-\d\d-\d\d, 0 offers$/m)
  expect(stdout).not.toContain('sk-the-key')
})

const Offer = z.object({ id: z.string(), cap_daily_usd: z.number(), cap_daily_remaining_usd: z.number() })

it('a daily cap holds to the micro-USD under parallel calls, and its rest is shown live', async () => {
  const { sandbox } = scripts.network
  const ask = async (method: string, path: string, key: string, body?: object) => {
    const answer = await fetch(sandbox.api_base_url + path, {
      method,
      headers: {
        authorization: `Bearer ${key}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json', 'idempotency-key': 'capped' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await answer.text()
    return { status: answer.status, text }
  }
  const place = { api_key: 'sk-of-a-capped-offer', seller_base_url: `${sandbox.provider_url}/v1` }
  const given = { model: 'gpt-5', ...place, discount: 97, cap_daily_usd: 0.0001 }
  const made = await ask('POST', '/v1/seller/offers', sandbox.seller_key, given)
  const { id } = Offer.parse(JSON.parse(made.text))
  const call = { model: 'gpt-5', max_tokens: 40, messages: [{ role: 'user', content: 'Say hello to me, please.' }] }
  await until('the offer is on sale', 10_000, async () => {
    const answer = await fetch(`${sandbox.api_base_url}/api/markets/gpt-5`)
    return (await answer.text()).includes('97')
  })
  const answers = await Promise.all(
    Array.from({ length: 60 }, () => ask('POST', '/v1/chat/completions', sandbox.buyer_key, call)),
  )
  // Calls beyond the cap go to the next offer.
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
  const Sales = z.object({
    recent_sales: z.array(z.object({ offer_id: z.string(), seller_cost_usdc: z.string() })),
    next_token: z.string().nullable(),
  })
  const sold = async () => {
    const page = await ask('GET', '/v1/seller/earnings/history?limit=100', sandbox.seller_key)
    return Sales.parse(JSON.parse(page.text)).recent_sales.filter((sale) => sale.offer_id === id)
  }
  const shown = async () =>
    Offer.parse(JSON.parse((await ask('GET', `/v1/seller/offers/${id}`, sandbox.seller_key)).text))
  const paidBy = async (csv: string) =>
    csv
      .split('\r\n')
      .map((line) => line.split(','))
      .filter((cells) => cells[3] === id)
      .reduce((sum, cells) => sum + Number(cells[10]), 0)
  await until('every sale is booked, and the cap agrees', 10_000, async () => {
    const csv = (await ask('GET', '/v1/seller/usage/export', sandbox.seller_key)).text
    const paid = await paidBy(csv)
    const { cap_daily_usd, cap_daily_remaining_usd } = await shown()
    expect(cap_daily_remaining_usd).toBeGreaterThanOrEqual(0)
    expect(paid).toBeLessThanOrEqual(100)
    return paid > 0 && Math.round((cap_daily_usd - cap_daily_remaining_usd) * 1e6) === paid
  })
  expect((await sold()).length).toBeGreaterThan(0)
  expect((await sold()).length).toBeLessThan(60)
})
