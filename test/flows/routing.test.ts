import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { RoutedMarket } from '#test/support/market/routed-market.ts'
import { MODEL, SELLERS, sharedRoutedMarket } from '#test/support/market/routed-market.ts'
import { until } from '#test/support/run/until.ts'

let market: RoutedMarket

beforeAll(async () => {
  market = await sharedRoutedMarket()
})
afterAll(() => market?.stop())

const GOOD = { model: MODEL, messages: [{ role: 'user', content: 'hi' }], max_tokens: 20 }
type Ask = { fields?: object; headers?: Record<string, string>; path?: string; key?: string }

/** Makes a call, and returns the provider that served it or the error of its refusal. */
async function ask({ fields = {}, headers = {}, path = '/v1/chat/completions', key }: Ask = {}) {
  const answer = await market.post(path, key ?? market.network.sandbox.buyer_key, { ...GOOD, ...fields }, headers)
  const Refusal = z.object({ error: z.object({ code: z.string() }).loose() })
  const refusal = Refusal.safeParse(JSON.parse(await answer.text()))
  return {
    status: answer.status,
    headers: answer.headers,
    rid: answer.headers.get('x-request-id') ?? '',
    by: answer.headers.get('x-mkt-provider-family'),
    servedBy: answer.headers.get('x-mkt-served-by'),
    error: refusal.success ? refusal.data.error : undefined,
  }
}

const by = async (asked: Ask) => (await ask(asked)).by
const code = async (asked: Ask) => {
  const { status, error } = await ask(asked)
  return [status, error?.code]
}

describe('routing parameters', () => {
  it('the lowest-priced trusted offer is the default; untrusted offers by request only', async () => {
    expect(await by({})).toBe('rt-cheap')
    expect(await by({ fields: { allow_untrusted: true } })).toBe('rt-shady')
  })

  it('a list of unknown providers is refused with their names and the supported ones', async () => {
    for (const provider of ['nope', ['nope', 'nada'], { only: ['nope'] }]) {
      const { status, error } = await ask({ fields: { provider } })
      expect([status, error?.code]).toEqual([400, 'unsupported_provider'])
      expect(error?.['unknown_providers']).toContain('nope')
      expect(error?.['supported_providers']).toContain('rt-cheap')
    }
  })

  it('unknown entries are ignored beside a known one', async () => {
    expect(await by({ fields: { provider: ['nope', 'rt-dear'] } })).toBe('rt-dear')
  })

  it('a supported provider without an offer for the model: 404 no_sellers_for_model', async () => {
    expect(await code({ fields: { provider: 'rt-empty' } })).toEqual([404, 'no_sellers_for_model'])
    expect(await code({ fields: { model: 'unsold' } })).toEqual([404, 'no_sellers_for_model'])
    expect(await code({ fields: { model: 'unsold', provider: 'nope' } })).toEqual([404, 'no_sellers_for_model'])
  })

  it('every spelling of a provider is the same provider', async () => {
    const host = market.hosts[1] ?? ''
    const [name] = host.split(':')
    for (const provider of [
      'rt-dear',
      'RT-DEAR',
      'Routed rt-dear',
      host,
      `http://${host}/v1/x`,
      `${name}.`,
      `https://${host}`,
    ]) {
      expect([provider, await by({ fields: { provider } })]).toEqual([provider, 'rt-dear'])
    }
    expect(await by({ fields: { provider_url: `http://${host}/v1` } })).toBe('rt-dear')
    expect(await by({ fields: { provider_base_url: host } })).toBe('rt-dear')
    expect(await code({ fields: { provider: 'rt-cheap', provider_url: host } })).toEqual([404, 'no_sellers_for_model'])
  })

  it('block lists', async () => {
    expect(await code({ fields: { providers_blocked: {} } })).toEqual([400, 'invalid_request'])
    expect(await by({ fields: { providers_blocked: [] } })).toBe('rt-cheap')
    expect(await by({ fields: { providers_blocked: ['nope'] } })).toBe('rt-cheap')
    expect(await by({ fields: { providers_blocked: 'rt-cheap' } })).toBe('rt-dear')
    const all = SELLERS.map(({ id }) => id)
    expect(await code({ fields: { providers_blocked: all } })).toEqual([503, 'no_healthy_sellers'])
    const both = { provider: 'rt-dear', providers_blocked: 'rt-dear' }
    expect(await code({ fields: both })).toEqual([503, 'no_healthy_sellers'])
  })

  it('an order moves only offers that pass the filters', async () => {
    expect(await by({ fields: { provider_order: ['nope', 'rt-shady', 'rt-dear'] } })).toBe('rt-dear')
    expect(await by({ fields: { provider: { order: ['rt-dear'], allow_fallbacks: false } } })).toBe('rt-dear')
    const names = Array.from({ length: 10_000 }, () => 'x')
    expect(await code({ fields: { provider_order: names } })).toEqual([400, 'invalid_request'])
  })

  it('only untrusted sellers left: 404 that says so', async () => {
    const { status, error } = await ask({ fields: { provider: 'rt-shady' } })
    expect([status, error?.code, error?.['detail']]).toEqual([
      404,
      'no_sellers_for_model',
      { untrusted_available: true },
    ])
  })

  it('no member of the market reaches a provider, and retired ceilings are ignored', async () => {
    const ours = {
      provider: ['rt-cheap'],
      provider_url: market.hosts[0],
      provider_base_url: market.hosts[0],
      providers_blocked: ['rt-dear'],
      provider_order: ['rt-cheap'],
      allow_untrusted: false,
      min_discount_pct: 1,
      max_price_per_1m: 1,
      session_id: 'mine',
      usage: { include: true },
    }
    expect(await by({ fields: ours, headers: { 'x-max-price-per-1m': '1', 'x-session-id': 's' } })).toBe('rt-cheap')
    const sent = market.providers[0]?.requests.list().at(-1)
    for (const field of Object.keys(ours)) expect(sent?.body).not.toHaveProperty(field)
  })

  it('the strictest floor of body, header, path and key applies', async () => {
    for (const floor of [101, -1, 'abc', 5.5, '05', 1e9, true]) {
      expect(await code({ fields: { min_discount_pct: floor } })).toEqual([400, 'invalid_minimum_discount'])
    }
    // A null leaves a member out, as everywhere.
    expect(await by({ fields: { min_discount_pct: null } })).toBe('rt-cheap')
    const path = '/min50/v1/chat/completions'
    expect(await by({ path, fields: { min_discount_pct: 5 } })).toBe('rt-cheap')
    const { status, error } = await ask({ path, fields: { min_discount_pct: 5 }, headers: { 'x-min-discount': '90' } })
    expect([status, error?.code, error?.['best_discount_pct'], error?.['min_discount_pct']]).toEqual([
      503,
      'minimum_discount_not_met',
      60,
      90,
    ])
    expect(await code({ path: '/min100/v1/chat/completions' })).toEqual([503, 'minimum_discount_not_met'])
    expect(await by({ path: '/min0/v1/chat/completions' })).toBe('rt-cheap')
  })

  it('reasoning_effort and reasoning are two parameters: each goes only to a model that lists it', async () => {
    const sent = async (fields: object) => {
      const { headers } = await ask({ fields })
      return [headers.get('x-mkt-adapted-params'), market.providers[0]?.requests.list().at(-1)?.body]
    }
    expect(await sent({ reasoning_effort: 'low' })).toEqual([
      null,
      expect.objectContaining({ reasoning_effort: 'low' }),
    ])
    const [adapted, body] = await sent({ reasoning: { effort: 'low' } })
    expect(adapted).toContain('reasoning')
    expect(body).not.toHaveProperty('reasoning')
  })

  it('a member that costs more is refused before the hold and any provider; an unknown one is left out', async () => {
    const { wallet: _, buyerKey } = await market.user(1)
    const balance = () => market.get('/v1/credits', buyerKey)
    const [asked, full] = [market.providers[0]?.requests.list().length, await balance()]
    const { status, error } = await ask({ fields: { service_tier: 'priority' }, key: buyerKey })
    expect([status, error]).toMatchObject([400, { code: 'unsupported_parameter', param: 'service_tier' }])
    expect([market.providers[0]?.requests.list().length, await balance()]).toEqual([asked, full])
    const { headers } = await ask({ fields: { use_beam_search: true, service_tier: 'auto' }, key: buyerKey })
    expect(headers.get('x-mkt-adapted-params')).toBe('use_beam_search')
    const body = market.providers[0]?.requests.list().at(-1)?.body
    expect(body).toMatchObject({ service_tier: 'auto' })
    expect(body).not.toHaveProperty('use_beam_search')
  })

  it('an input that is too long for every tokeniser is refused with numbers, before any provider', async () => {
    const before = market.providers[0]?.requests.list().length
    const messages = [{ role: 'user', content: 'x'.repeat(8_000 * 128) }]
    const { status, error } = await ask({ fields: { messages } })
    expect([status, error?.code, error?.['context_length']]).toEqual([400, 'context_length_exceeded', 8_000])
    expect(market.providers[0]?.requests.list().length).toBe(before)
  })
})

const Explained = z.object({
  would_serve: z.boolean(),
  hold_micro: z.number().nullable(),
  offers: z.array(
    z.object({ rank: z.number(), provider: z.string(), estimate_micro: z.number(), discount_pct: z.number() }),
  ),
  excluded: z.array(z.object({ provider: z.string(), reason: z.string() })),
  refusal: z.object({ status: z.number(), error: z.object({ code: z.string() }).loose() }).nullable(),
})

async function explain(body: object, path = '/v1/chat/completions', headers: Record<string, string> = {}) {
  const answer = await market.post(
    '/v1/route/explain',
    market.network.sandbox.buyer_key,
    { path, body: { ...GOOD, ...body } },
    headers,
  )
  return { status: answer.status, body: JSON.parse(await answer.text()) as unknown }
}

/** The path of each text wire, and a request that any seller can answer. */
const WIRES = {
  chat: { path: '/v1/chat/completions', body: GOOD },
  completions: { path: '/v1/completions', body: { model: MODEL, prompt: 'hi', max_tokens: 20 } },
  responses: { path: '/v1/responses', body: { model: MODEL, input: 'hi', max_output_tokens: 20 } },
  messages: { path: '/compat/v1/messages', body: GOOD },
} as const
/** The outcome of a call: the provider's name, or the code and status of a refusal on /v1 and under /compat. */
type Rule = readonly [
  rule: string,
  given: { readonly fields?: object; readonly headers?: Record<string, string>; readonly floor?: string },
  end: string | readonly [code: string, status: number, compatStatus: number],
]
const RULES: readonly Rule[] = [
  ['the cheapest trusted seller', {}, 'rt-cheap'],
  ['the cheapest of a list', { fields: { provider: ['rt-dear', 'rt-own'] } }, 'rt-dear'],
  ['unknown names beside a known one', { fields: { provider: ['nope', 'rt-dear'] } }, 'rt-dear'],
  ['only unknown names', { fields: { provider: ['nope', 'nada'] } }, ['unsupported_provider', 400, 400]],
  ['a provider without an offer', { fields: { provider: 'rt-empty' } }, ['no_sellers_for_model', 404, 404]],
  ["another router's object", { fields: { provider: { only: ['rt-dear'], sort: 'price' } } }, 'rt-dear'],
  ['a blocked seller', { fields: { providers_blocked: 'rt-cheap' } }, 'rt-dear'],
  ['an empty block list', { fields: { providers_blocked: [] } }, 'rt-cheap'],
  ['an unreadable block list', { fields: { providers_blocked: {} } }, ['invalid_request', 400, 400]],
  ['all blocked', { fields: { providers_blocked: SELLERS.map(({ id }) => id) } }, ['no_healthy_sellers', 503, 503]],
  [
    'all blocked but an untrusted provider',
    { fields: { providers_blocked: ['rt-cheap', 'rt-dear'] } },
    ['no_sellers_for_model', 404, 404],
  ],
  ['an order', { fields: { provider_order: ['nope', 'rt-dear'] } }, 'rt-dear'],
  [
    'an order of a blocked provider',
    { fields: { provider_order: ['rt-dear'], providers_blocked: 'rt-dear' } },
    'rt-cheap',
  ],
  ['untrusted providers allowed', { fields: { allow_untrusted: true } }, 'rt-shady'],
  ['a floor in the body', { fields: { min_discount_pct: 70 } }, ['minimum_discount_not_met', 503, 404]],
  ['a floor in the header', { headers: { 'x-min-discount': '70' } }, ['minimum_discount_not_met', 503, 404]],
  ['a floor in the path', { floor: '/min70' }, ['minimum_discount_not_met', 503, 404]],
  ['the strictest floor', { fields: { min_discount_pct: 20 }, floor: '/min60' }, 'rt-cheap'],
  ['an invalid floor', { fields: { min_discount_pct: '5' } }, ['invalid_minimum_discount', 400, 400]],
]

describe.each(Object.entries(WIRES))('the %s wire', (name, { path, body }) => {
  async function given({ fields, headers, floor = '' }: Rule[1]) {
    const at = path.replace('/v1/', `${floor}/v1/`)
    const answer = await market.post(at, market.network.sandbox.buyer_key, { ...body, ...fields }, headers)
    const Refusal = z.object({ error: z.object({ code: z.string() }) })
    const refusal = Refusal.safeParse(JSON.parse(await answer.text()))
    return refusal.success
      ? [refusal.data.error.code, answer.status]
      : [answer.headers.get('x-mkt-provider-family'), answer.status]
  }

  it.each(RULES)('%s', async (_rule, asked, end) => {
    const expected = typeof end === 'string' ? [end, 200] : [end[0], end[name === 'messages' ? 2 : 1]]
    expect(await given(asked)).toEqual(expected)
  })

  it('knows a provider by its address, and forwards no member of the market', async () => {
    const url = market.providers[1]?.url
    const fields = { provider: market.hosts[1], provider_url: url, provider_base_url: url, providers_blocked: ['nope'] }
    const rest = {
      provider_order: ['nope'],
      session_id: 's',
      min_discount_pct: 0,
      max_price_per_1m: 1,
      usage: { include: true },
    }
    expect(await given({ fields: { ...fields, ...rest } })).toEqual(['rt-dear', 200])
    const sent = JSON.stringify(market.providers[1]?.requests.list().at(-1)?.body)
    for (const field of Object.keys({ ...fields, ...rest })) expect(sent).not.toContain(`"${field}"`)
  })
})

describe('explaining', () => {
  it('shows the offers in order with an estimate, and why each other offer is skipped, without a hold', async () => {
    const key = (await market.user(1)).buyerKey
    const before = market.providers.map(({ requests }) => requests.list().length)
    const answer = await market.post('/v1/route/explain', key, { path: '/v1/chat/completions', body: GOOD })
    const explained = Explained.parse(await answer.json())
    expect(explained.offers.map(({ rank, provider }) => [rank, provider])).toEqual([
      [1, 'rt-cheap'],
      [2, 'rt-dear'],
    ])
    const [cheap, dear] = explained.offers
    expect((cheap?.estimate_micro ?? 0) * 2).toBeCloseTo(dear?.estimate_micro ?? 0, -1)
    expect(explained.hold_micro).toBe(dear?.estimate_micro)
    expect(explained.excluded.map(({ provider, reason }) => [provider, reason])).toEqual([['rt-shady', 'trusted']])
    expect(market.providers.map(({ requests }) => requests.list().length)).toEqual(before)
    const me = await fetch(`${market.network.sandbox.api_base_url}/v1/key`, {
      headers: { authorization: `Bearer ${key}` },
    })
    expect(await me.json()).toMatchObject({ data: { spendable_usdc: '1000000' } })
  })

  it('shows the refusal that the call would get, on every text wire in its own form', async () => {
    const refused = Explained.parse(
      (await explain({ providers_blocked: ['rt-cheap', 'rt-dear'] }, '/min95/v1/chat/completions')).body,
    )
    expect([refused.would_serve, refused.refusal?.status, refused.refusal?.error.code]).toEqual([
      false,
      404,
      'no_sellers_for_model',
    ])
    const reasons = refused.excluded.map(({ provider, reason }) => `${provider} ${reason}`).sort()
    expect(reasons).toEqual(['rt-cheap blocked', 'rt-dear blocked', 'rt-shady trusted'])
    const floor = Explained.parse((await explain({}, '/compat/min95/v1/messages')).body)
    expect(floor.refusal).toMatchObject({ status: 404, error: { type: 'not_found_error' } })
    expect((await explain({ input: 'hi', messages: undefined, max_tokens: undefined }, '/v1/responses')).status).toBe(
      200,
    )
    const prompts = async (prompt: unknown) => {
      const told = await explain({ prompt, messages: undefined }, '/v1/completions')
      return z.object({ endpoint: z.string(), hold_micro: z.number() }).parse(told.body)
    }
    const one = await prompts('hi')
    expect(await prompts(['hi', 'ho', 'he'])).toEqual({ endpoint: 'chat', hold_micro: one.hold_micro * 3 })
  })

  it('refuses calls that would be refused before routing, and paths that it cannot explain', async () => {
    expect((await explain({ model: 'nope' })).body).toMatchObject({ error: { code: 'unknown_model' } })
    expect((await explain({ messages: 5 })).status).toBe(400)
    for (const path of ['/v1/models', '/v1/audio/transcriptions', '/nope', '/min5/v1/embeddings']) {
      expect([path, (await explain({}, path)).status]).toEqual([path, 400])
    }
    const stranger = await fetch(`${market.network.sandbox.api_base_url}/v1/route/explain`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{}',
    })
    expect(stranger.status).toBe(401)
  })

  it('keeps the same record for every call in its look-up, before and after the booking', async () => {
    const { rid } = await ask()
    const look = async (path: string) => {
      const answer = await fetch(market.network.sandbox.api_base_url + path, {
        headers: { authorization: `Bearer ${market.network.sandbox.buyer_key}` },
      })
      return answer.json() as Promise<unknown>
    }
    const routing = {
      offers: [{ provider: 'rt-cheap' }, { provider: 'rt-dear' }],
      excluded: [{ reason: 'trusted' }],
    }
    expect(await look(`/v1/requests/${rid}`)).toMatchObject({ routing })
    await until('the call is booked', 10_000, async () =>
      JSON.stringify(await look('/v1/requests?limit=5')).includes(rid),
    )
    expect(JSON.stringify(await look('/v1/requests?limit=5'))).toContain('"estimate_micro"')
  })
})

describe('session affinity', () => {
  const messages = [{ role: 'user', content: 'The same long beginning. '.repeat(400) }]
  const turn = (fields: object, headers: Record<string, string> = {}) =>
    ask({ fields: { messages, max_tokens: 5, ...fields }, headers })

  it('keeps a conversation with the seller who has it cached while that costs least, shows so, and can be switched off', async () => {
    const session = { session_id: 'talk-1' }
    for (let call = 0; call < 4; call++) expect((await turn({ ...session, provider: 'rt-dear' })).by).toBe('rt-dear')
    const asked = { ...GOOD, messages, max_tokens: 5, ...session }
    const Shown = z.object({
      offers: z.array(z.object({ provider: z.string() })),
      affinity: z.object({ saving_micro: z.number() }).nullable(),
    })
    const shown = Shown.parse((await explain(asked)).body)
    expect([shown.offers[0]?.provider, (shown.affinity?.saving_micro ?? 0) > 0]).toEqual(['rt-dear', true])
    const off = Shown.parse((await explain(asked, undefined, { 'x-mkt-affinity': 'off' })).body)
    expect([off.offers[0]?.provider, off.affinity]).toEqual(['rt-cheap', null])
    expect((await turn(session, { 'x-mkt-affinity': 'off' })).by).toBe('rt-cheap')
    for (let call = 0; call < 4; call++) await turn({ ...session, provider: 'rt-dear' })
    const { rid, by: server } = await turn(session)
    expect(server).toBe('rt-dear')
    const record = await market.get(`/v1/requests/${rid}`, market.network.sandbox.buyer_key)
    expect(record).toMatchObject({ routing: { affinity: { saving_micro: expect.any(Number) } } })
    expect(await by({ fields: { messages, max_tokens: 5, session_id: 'talk-2' } })).toBe('rt-cheap')
  })
})

describe('the public data of the market', () => {
  it('names sellers by an alias only: no wallet, account, credential or key', async () => {
    expect((await ask()).status).toBe(200)
    const { api_base_url: url } = market.network.sandbox
    for (const path of [
      '/api/markets',
      `/api/markets/${MODEL}`,
      `/api/markets/${MODEL}/performance`,
      '/api/markets/feed',
      '/v1/models',
      `/v1/models/${MODEL}`,
      '/v1/prices',
      '/api/inference/v1/models',
    ]) {
      const answer = await fetch(url + path)
      const text = await answer.text()
      expect([path, answer.status]).toEqual([path, 200])
      expect([path, /0x[0-9a-f]{40}|\b(?:acc|usr|crd|key|ses)_|mkt_|\binf_|sk-routed/i.exec(text)]).toEqual([
        path,
        null,
      ])
    }
  })
})
