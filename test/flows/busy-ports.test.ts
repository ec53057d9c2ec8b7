import { afterEach, describe, expect, it } from 'vitest'
import { startNetwork } from '#test/support/network.ts'

const SLOW_MS = 150_000
let stop: (() => Promise<unknown>) | undefined

afterEach(async () => {
  await stop?.()
  stop = undefined
}, 60_000)

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
