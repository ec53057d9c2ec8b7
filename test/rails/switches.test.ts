import { afterAll, beforeAll, expect, it } from 'vitest'
import { z } from 'zod'
import type { TestChain } from '#test/support/chain/chain.ts'
import { chainOf } from '#test/support/chain/chain.ts'
import { inHeader, signPayment, stockClient } from '#test/support/chain/wallet-client.ts'
import type { Network } from '#test/support/market/network.ts'
import { sharedNetwork } from '#test/support/market/network.ts'
import { until } from '#test/support/run/until.ts'

const NAMES = ['x402_upto', 'x402_exact', 'mpp'] as const
let chain: TestChain
let network: Network

beforeAll(async () => {
  chain = await chainOf()
  network = await sharedNetwork()
})

// The market is shared with other files.
afterAll(async () => {
  for (const name of NAMES) await turn(name, true)
  await until('every way is on', 10_000, async () => (await offered()).length === 3)
})

const BODY = JSON.stringify({ model: 'gpt-5-mini', max_tokens: 50, messages: [{ role: 'user', content: 'Hello' }] })
const Demand = z.object({ accepts: z.array(z.object({ scheme: z.string() })) })
const Refusal = z.object({ error: z.object({ code: z.string(), limit_source: z.string() }) })
const Rails = z.object({ result: z.object({ data: z.array(z.object({ rail: z.string(), state: z.string() })) }) })

function ask(headers: Record<string, string> = {}): Promise<Response> {
  const url = `${network.sandbox.base_url}/v1/chat/completions`
  return fetch(url, { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body: BODY })
}

async function turn(name: string, isOn: boolean): Promise<void> {
  const body = JSON.stringify({ name, isOn, reason: 'drill' })
  const headers = { authorization: `Bearer ${network.sandbox.management_key}`, 'content-type': 'application/json' }
  expect((await fetch(`${network.sandbox.trpc_url}/feature.put`, { method: 'POST', headers, body })).status).toBe(200)
}

/** The ways to pay in a 402 to a stranger. */
async function offered(): Promise<readonly string[]> {
  const answer = await ask()
  if (answer.status !== 402) return []
  const { accepts } = Demand.parse(await answer.json())
  const isMpp = answer.headers.get('www-authenticate')?.includes('Payment ') === true
  return [...accepts.map(({ scheme }) => scheme), ...(isMpp ? ['mpp'] : [])]
}

async function states(): Promise<Record<string, string>> {
  const { result } = Rails.parse(await (await fetch(`${network.sandbox.trpc_url}/market.rails`)).json())
  return Object.fromEntries(result.data.map(({ rail, state }) => [rail, state]))
}

async function paymentBy(scheme: 'upto' | 'exact'): Promise<Record<string, string>> {
  const wallet = await chain.newWallet({ usdc: 1_000_000n })
  const demand = await (await ask()).json()
  return inHeader(await signPayment(stockClient(chain, wallet, scheme), demand))
}

it('a way to pay that operators switch off is no longer offered and takes nothing, and the others go on', async () => {
  const up = { credit: 'up', 'x402-upto': 'up', 'x402-exact': 'up', mpp: 'up' }
  expect([await offered(), await states()]).toEqual([['upto', 'exact', 'mpp'], up])
  const [upto, exact] = [await paymentBy('upto'), await paymentBy('exact')]
  await turn('x402_upto', false)
  await until('the way is no longer offered', 10_000, async () => (await offered()).length === 2)
  expect([await offered(), await states()]).toEqual([['exact', 'mpp'], { ...up, 'x402-upto': 'switched_off' }])
  const refused = await ask(upto)
  expect([refused.status, Refusal.parse(await refused.json()).error.code]).toEqual([503, 'service_unavailable'])
  expect((await ask(exact)).status).toBe(200)
  await turn('x402_upto', true)
  await until('the way is offered again', 10_000, async () => (await offered()).length === 3)
  expect((await ask(upto)).status).toBe(200)
})

it('with all ways switched off a stranger is offered none, and keys go on', async () => {
  for (const name of NAMES) await turn(name, false)
  await until('no way is offered', 10_000, async () => (await offered()).length === 0)
  const answer = await ask()
  expect([answer.status, Demand.parse(await answer.json()).accepts]).toEqual([402, []])
  expect(answer.headers.get('www-authenticate')).toBeNull()
  expect((await ask({ authorization: `Bearer ${network.sandbox.buyer_key}` })).status).toBe(200)
})
