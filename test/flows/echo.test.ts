import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Network } from '#test/support/network.ts'
import { startNetwork } from '#test/support/network.ts'

let network: Network
beforeAll(async () => {
  network = await startNetwork()
}, 120_000)
afterAll(() => network?.remove(), 60_000)

const ask = (path: string, init: RequestInit = {}) => fetch(network.sandbox.api_base_url + path, init)
const keyed = () => ({ headers: { authorization: `Bearer ${network.sandbox.buyer_key}` } })

it('is a GET that is sold by credit and streams', async () => {
  for (const path of ['/v1/echo/sandbox/echo?text=hello%20there', '/min0/v1/echo/sandbox/echo?text=hello%20there']) {
    const answer = await ask(path, keyed())
    const { headers } = answer
    expect([answer.status, headers.get('content-type')]).toEqual([200, 'text/event-stream; charset=utf-8'])
    expect(headers.get('x-mkt-marketplace-status')).toBe('served')
    const frames = (await answer.text()).split('\n\n').filter((frame) => frame.startsWith('data: '))
    const events = frames.map((frame): unknown => JSON.parse(frame.slice('data: '.length)))
    expect(events.filter((event) => typeof event === 'string').join('')).toBe('hello there')
    expect(events.at(-1)).toMatchObject({ usage: { buyer_cost_micro: 0 } })
  }
})

it('has no free twin, and refuses as any call does', async () => {
  const twin = await ask('/v1/echo/sandbox/echo?text=hi', { ...keyed(), method: 'HEAD' })
  expect([twin.status, twin.headers.get('allow')]).toEqual([405, 'GET, OPTIONS'])
  expect((await ask('/v1/echo/sandbox/echo?text=hi')).status).toBe(402)
  expect((await ask('/v1/echo/sandbox/echo', keyed())).status).toBe(400)
  expect((await ask('/v1/echo/nope?text=hi', keyed())).status).toBe(400)
  expect((await ask('/min101/v1/echo/nope?text=hi', keyed())).status).toBe(400)
})
