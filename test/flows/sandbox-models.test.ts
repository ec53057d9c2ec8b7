import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { Network } from '#test/support/market/network.ts'
import { sharedNetwork } from '#test/support/market/network.ts'
import { until } from '#test/support/run/until.ts'

/** Sample providers of the OpenAI and of the messages protocol. */
const SELLERS = ['sandbox-a', 'sandbox-e']
const WIRES = ['/v1/chat/completions', '/compat/v1/messages']

let network: Network

beforeAll(async () => {
  network = await sharedNetwork()
})

afterAll(() => network?.remove())

/** Sandbox models with the status that a buyer gets, on every wire and from every seller's protocol. */
const ENDS: readonly (readonly [model: string, status: number])[] = [
  ['echo', 200],
  ['rate-limited', 429],
  ['overloaded', 503],
  ['server-error', 502],
  ['unauthorized', 502],
  ['no-credit', 502],
  ['no-credit-in-200', 502],
  ['wrong-key-in-array', 502],
  ['quota-used-up', 502],
  ['small-limit', 200],
  ['unknown-member', 400],
  ['error-in-200', 503],
  ['html-in-200', 502],
  ['malformed-sse', 502],
  ['split-utf8', 200],
  ['tool-call-whole', 200],
  ['tool-call-crumbs', 200],
  ['tool-call-missing-index', 200],
  ['tool-calls-one-index', 200],
  ['other-form', 200],
  ['usage-missing', 200],
  ['usage-zero', 200],
  ['usage-absurd', 200],
  ['usage-every-chunk', 200],
  ['usage-of-document', 200],
  ['usage-of-cache', 200],
  ['tier-priority', 200],
  ['tier-standard', 200],
  ['usage-of-prediction', 200],
  ['thoughts-only', 200],
  ['stopped-at-once', 200],
  ['context-overflow', 400],
  ['bad-request', 400],
  ['redirect', 502],
  ['no-content', 502],
  ['refuse-headers', 200],
  ['crlf-injection', 200],
  ['deep-json', 502],
  ['gzip-bomb', 502],
  ['length-lie', 502],
  ['cut-before-content', 502],
  ['reasoning', 200],
  ['wrong-model', 200],
  ['empty', 200],
]

/** Behaviours that only whole answers have. */
const WHOLE_ONLY: ReadonlySet<string> = new Set(['length-lie', 'gzip-bomb'])
/** The status of an attempt that backs its offer off at once, so that the next call has no offer. */
const BACKED_OFF = 404

const Refusal = z.looseObject({ error: z.looseObject({ message: z.string() }), request_id: z.string() })

function ask(path: string, provider: string, body: object): Promise<Response> {
  return fetch(network.sandbox.api_base_url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${network.sandbox.buyer_key}` },
    body: JSON.stringify({ max_tokens: 64, messages: [{ role: 'user', content: 'Say hello.' }], provider, ...body }),
  })
}

describe.each(SELLERS)('sandbox models of %s', (seller) => {
  it.each(WIRES.flatMap((path) => ENDS.map(([name, status]) => [path, name, status] as const)))(
    '%s %s: %i',
    async (path, name, status) => {
      const body = { model: `sandbox/${name}` }
      const whole = await ask(path, seller, body)
      const text = await whole.text()
      expect([whole.headers.get('set-cookie'), whole.headers.get('location')]).toEqual([null, null])
      expect([status, BACKED_OFF]).toContain(whole.status)
      if (whole.status !== 200) {
        expect(Refusal.parse(JSON.parse(text)).request_id).toBe(whole.headers.get('x-request-id'))
      } else expect(JSON.parse(text)).toMatchObject({ model: body.model })
      if (WHOLE_ONLY.has(name)) return
      const streamed = await ask(path, seller, { ...body, stream: true })
      const end = (await streamed.text()).trimEnd().split('\n').at(-1)
      expect([status, BACKED_OFF]).toContain(streamed.status)
      if (streamed.status === 200)
        expect(end).toBe(path === WIRES[0] ? 'data: [DONE]' : 'data: {"type":"message_stop"}')
    },
  )

  it('a stream that is cut ends with an error event and states the cost of the delivered part', async () => {
    const answer = await ask('/compat/v1/messages', seller, { model: 'sandbox/cut-mid-stream', stream: true })
    const text = await answer.text()
    expect(text).toContain('event: content_block_delta')
    const last = text.trimEnd().split('\n\n').at(-1) ?? ''
    expect(last).toMatch(/^event: error\ndata: /)
    const { error } = Refusal.parse(JSON.parse(last.split('data: ')[1] ?? ''))
    expect(error).toMatchObject({ type: 'api_error', buyer_cost_micro: 0 })
  })
})

describe('keys with limits on the messages wire', () => {
  const REQUEST = { model: 'gpt-5-mini', max_tokens: 16, messages: [{ role: 'user', content: 'hi' }] }

  async function keyWith(limits: object): Promise<string> {
    const made = await fetch(`${network.sandbox.api_base_url}/v1/buyer/keys`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        authorization: `Bearer ${network.sandbox.buyer_key}`,
        'idempotency-key': `limits-${Object.keys(limits).join('-')}`,
      },
      body: JSON.stringify({ label: 'limited', ...limits }),
    })
    expect(made.status).toBe(201)
    return z.looseObject({ key: z.string() }).parse(await made.json()).key
  }

  /** Polls until the answer is not a 401. A new key may take a moment to be known. */
  async function answerTo(key: string): Promise<Response> {
    let answer: Response | undefined
    await until('the data plane knows the key', 5_000, async () => {
      answer = await fetch(`${network.sandbox.api_base_url}/compat/v1/messages`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-api-key': key },
        body: JSON.stringify(REQUEST),
      })
      return answer.status !== 401
    })
    if (answer === undefined) throw new Error('there is no answer')
    return answer
  }

  it('over the rate: 429 with Retry-After', async () => {
    const key = await keyWith({ rate_limit_rpm: 1 })
    expect((await answerTo(key)).status).toBe(200)
    const refused = await answerTo(key)
    expect(refused.status).toBe(429)
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(Refusal.parse(await refused.json()).error).toMatchObject({ type: 'rate_limit_error' })
  })

  it('over the cap of the key: 400, never 402', async () => {
    const refused = await answerTo(await keyWith({ cap_daily_usd: 0.000001 }))
    expect([refused.status, refused.headers.get('payment-required')]).toEqual([400, null])
    expect(Refusal.parse(await refused.json()).error).toMatchObject({ type: 'invalid_request_error' })
  })
})
