import { beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { newWallet } from '#test/support/doors/wallet.ts'
import { runMarket } from '#test/support/market/command-line.ts'
import type { Network } from '#test/support/market/network.ts'
import { sharedNetwork } from '#test/support/market/network.ts'
import { until } from '#test/support/run/until.ts'

let network: Network

beforeAll(async () => {
  network = await sharedNetwork()
})

async function send(path: string, headers: Record<string, string>, body?: object): Promise<Response> {
  return fetch(network.sandbox.api_base_url + path, {
    headers: { 'content-type': 'application/json', ...headers },
    ...(body && { method: 'POST', body: JSON.stringify(body) }),
  })
}

/** The headers of a browser that a new wallet has signed in. */
async function newSession(): Promise<Record<string, string>> {
  const wallet = newWallet()
  const asked = await send(`/v1/auth/challenge?address=${wallet.address}`, {})
  const { message } = z.object({ message: z.string() }).parse(await asked.json())
  const signed = await send('/v1/auth/session', {}, { message, signature: await wallet.signMessage({ message }) })
  const cookie = signed.headers.get('set-cookie')?.split(';', 1)[0] ?? ''
  return { cookie, origin: network.sandbox.base_url }
}

describe('an admin at the command line', () => {
  it('sees and sets the budgets of an organisation with its management key', async () => {
    const session = await newSession()
    const Made = z.looseObject({ id: z.string(), key: z.string().optional() })
    const make = async (path: string, body: object) => {
      const headers = { ...session, 'idempotency-key': path }
      return Made.parse(await (await send(`/v1/organizations${path}`, headers, body)).json())
    }
    const { id: organization } = await make('', { name: 'Budgeted' })
    const { id: workspace } = await make(`/${organization}/workspaces`, { name: 'research' })
    const { key = '' } = await make(`/${organization}/keys`, { label: 'cli', role: 'admin' })
    const budgets = (...args: string[]) =>
      runMarket(['budgets', ...args], { env: { MARKET_HOME: network.home, MARKET_OPERATOR_KEY: key } })
    const set = await budgets('set', organization, workspace, '--usd', '12.5')
    expect([set.code, set.out]).toEqual([0, `${workspace}: budget $12.50, spent $0.00\n`])
    expect((await budgets('list', organization)).out).toMatch(new RegExp(`${workspace} +\\$0\\.00 +\\$12\\.50`))
    const { key: callerKey = '' } = await make(`/${organization}/workspaces/${workspace}/keys`, {
      key_type: 'buyer',
      label: 'app',
    })
    const standing = async () => {
      const answer = await send('/v1/key', { authorization: `Bearer ${callerKey}` })
      return z.object({ data: z.looseObject({ limit: z.number() }) }).parse(await answer.json()).data
    }
    await until('the data plane knows the key', 10_000, () => standing().then(Boolean, () => false))
    expect(await standing()).toMatchObject({
      limit: 12.5,
      limit_remaining: 12.5,
      limit_reset: 'monthly',
      monthly: null,
      budgets: [{ budget_of: workspace, limit_usdc: '12500000', used_usdc: '0', left_usdc: '12500000' }],
    })
    const ended = await budgets('set', organization, workspace, '--none', '--json')
    expect(JSON.parse(ended.out)).toEqual({ of: workspace, limit_usdc: null, spent_usdc: '0' })
    expect((await budgets('set', organization, workspace)).code).toBe(2)
    expect((await budgets('set', organization, 'usr_nobody', '--usd', '1')).code).toBe(4)
  })
})
