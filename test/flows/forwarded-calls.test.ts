import { isDeepStrictEqual } from 'node:util'
import OpenAI from 'openai'
import { createPublicClient, http } from 'viem'
import { base } from 'viem/chains'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { moneyKeys } from '#shared/contract/redis-keys.ts'
import { payingFetch } from '#test/support/chain/wallet-client.ts'
import { describeBodies } from '#test/support/forwarded/forwarded-bodies-suite.ts'
import { describeHeaders } from '#test/support/forwarded/forwarded-headers-suite.ts'
import { describeProviderH } from '#test/support/forwarded/forwarded-jobs-suite.ts'
import {
  ask,
  chain,
  costOf,
  IMAGE,
  image,
  json,
  KEY,
  lendImages,
  lending,
  network,
  post,
  provider,
  refusalOf,
  startForwarding,
  stopForwarding,
} from '#test/support/forwarded/forwarded-market.ts'
import { driveForwarded, forwardedPage } from '#test/support/forwarded/forwarded-outcomes.ts'
import { describeRefusals } from '#test/support/forwarded/forwarded-refusals-suite.ts'
import { describeWallets } from '#test/support/forwarded/forwarded-wallets-suite.ts'
import { doorsOf } from '#test/support/market/routed-market.ts'
import { until } from '#test/support/run/until.ts'

beforeAll(startForwarding)
afterAll(stopForwarding)

describe('a relayed call', () => {
  beforeEach(() => json(200, { data: [{ url: 'x' }] }))

  it('costs the lower of report and quote, and shows both prices to any origin', async () => {
    for (const [made, charged] of [
      [3, '72000'],
      [2, '48000'],
      [9, '72000'],
      [0, '0'],
    ] as const) {
      json(200, { data: Array.from({ length: made }, () => ({ url: 'x' })) })
      const answer = await image({ headers: { origin: 'https://page.example' } }, { ...IMAGE, n: 3 })
      // 40,000 micro-USD per picture, of which 60 % are kept.
      expect([answer.status, costOf(answer)]).toEqual([200, charged])
      expect(answer.headers.get('access-control-allow-origin')).toBe('*')
      const exposed = answer.headers.get('access-control-expose-headers')?.split(', ')
      expect(exposed).toEqual(expect.arrayContaining(['x-mkt-buyer-cost-micro', 'x-mkt-list-cost-micro']))
    }
  })

  it('runs again with the same Idempotency-Key', async () => {
    const headers = { 'idempotency-key': 'the-same' }
    const answers = [await image({ headers }), await image({ headers })]
    expect(answers.map(costOf)).toEqual(['24000', '24000'])
    expect(provider.heard.length).toBe(2)
    expect(new Set(answers.map((answer) => answer.headers.get('x-request-id'))).size).toBe(2)
  })

  it.each(['PATCH', 'DELETE', 'HEAD'])('by %s is 405', async (method) => {
    expect((await ask('/resources/provider-p1/v1/images', { method })).status).toBe(405)
  })

  it('needs a buyer’s key, and never asks for a payment', async () => {
    const { seller_key, management_key } = network.sandbox
    const keys = [seller_key, management_key].map((key) => ({ authorization: `Bearer ${key}` }))
    for (const headers of [
      { authorization: '' },
      { authorization: '', 'payment-signature': 'eyJ4IjoxfQ==' },
      ...keys,
    ]) {
      const answer = await image({ headers })
      expect([answer.status, answer.headers.get('payment-required')]).toEqual([401, null])
    }
    expect(provider.heard).toEqual([])
  })

  it('without credit is 402 insufficient_credit, without a list of ways to pay', async () => {
    const { buyerKey } = await doorsOf(network).user()
    const answer = await image({ key: buyerKey })
    const body = z
      .object({ error: z.looseObject({ code: z.string() }) })
      .loose()
      .parse(await answer.json())
    expect([answer.status, body.error.code, costOf(answer)]).toEqual([402, 'insufficient_credit', '0'])
    expect(JSON.stringify(body)).not.toContain('accepts')
    const Standing = z.looseObject({ held_usdc: z.string(), credit_balance_usdc: z.string() })
    const standing = Standing.parse(await (await ask('/v1/buyer/me', { key: buyerKey })).json())
    expect([standing.held_usdc, standing.credit_balance_usdc].map(Number)).toEqual([0, 0])
    expect(provider.heard).toEqual([])
  })

  it('obeys the floor of its path', async () => {
    const at = (floor: string) => post(`/${floor}/resources/provider-p1/v1/images`, IMAGE)
    expect((await at('min40')).status).toBe(200)
    expect(await refusalOf(at('min41'))).toEqual([404, 'no_resource_offer', '0'])
    expect((await refusalOf(at('min041')))[1]).toBe('invalid_minimum_discount')
  })

  it('under a floor is refused by the rules and traits of only those keys that meet the floor', async () => {
    const at = (floor: string, headers = {}) =>
      refusalOf(post(`/${floor}/resources/provider-p1/v1/images`, IMAGE, { headers }))
    const scope = { models: ['canvas-1-mini'], methods: null, paths: null }
    await lendImages([
      { key: KEY, keptBps: 4_000, scope },
      { key: KEY, keptBps: 9_000, traits: [{ name: 'account.tier2', provenance: 'probed' }] },
    ])
    expect(await at('min60')).toEqual([403, 'policy_refused', '0'])
    expect(await at('min60', { 'x-mkt-require': 'account.tier2' })).toEqual([404, 'trait_unavailable', '0'])
    expect(await at('min61')).toEqual([404, 'no_resource_offer', '0'])
    expect((await image()).status).toBe(200)
  })

  it('that asks for unclaimed traits is 404', async () => {
    await lendImages([{ key: KEY, traits: [{ name: 'account.tier2', provenance: 'probed' }] }])
    expect((await image({ headers: { 'x-mkt-require': 'account.tier2' } })).status).toBe(200)
    const both = image({ headers: { 'x-mkt-require': 'account.tier2, region.eu' } })
    expect(await refusalOf(both)).toEqual([404, 'trait_unavailable', '0'])
  })

  it('that lenders do not allow is 403 policy_refused, and the refused demand is counted', async () => {
    const scope = { models: ['canvas-1-mini'], methods: null, paths: null }
    const [offer = ''] = await lendImages([{ key: KEY, scope }])
    expect(await refusalOf(image())).toEqual([403, 'policy_refused', '0'])
    expect((await image({}, { ...IMAGE, model: 'canvas-1-mini' })).status).toBe(200)
    // The lender reads at the control plane which calls the data plane has refused: a picture of 40,000 micro-USD.
    const Refused = z.object({ refused_demand: z.array(z.looseObject({ offer_id: z.string() })) })
    await until('the lender sees the refused demand', 10_000, async () => {
      const answer = await ask('/v1/resource/seller/analytics', { key: network.sandbox.seller_key })
      const mine = Refused.parse(await answer.json()).refused_demand.filter(({ offer_id: id }) => id === offer)
      return isDeepStrictEqual(mine, [{ offer_id: offer, rule: 'models', calls: 1, quoted_micro: 40_000 }])
    })
    await lendImages([{ key: KEY, scope: { models: null, methods: ['GET'], paths: null } }])
    expect((await refusalOf(image()))[1]).toBe('policy_refused')
    await lendImages([{ key: KEY, scope: { models: null, methods: null, paths: ['/v1/models'] } }])
    expect((await refusalOf(image()))[1]).toBe('policy_refused')
    await lendImages([{ key: KEY, ratePerMinute: 1 }])
    const codes = [await image(), await image(), await image()].map(({ status }) => status)
    expect(codes).toContain(403)
  })

  it('uses no more than a buyer’s share of a cap, nor more than the cap', async () => {
    await lendImages([{ key: KEY, capDailyMicro: '100000', buyerSharePct: 50 }])
    expect([(await image()).status, (await image()).status]).toEqual([200, 200])
    expect((await refusalOf(image()))[1]).toBe('policy_refused')
    await lendImages([{ key: KEY, capDailyMicro: '30000' }])
    expect((await image()).status).toBe(200)
    expect((await refusalOf(image())).slice(0, 2)).toEqual([429, 'seller_cap_reached'])
    const full = await image()
    const Full = z.object({ error: z.looseObject({ code: z.string(), resets_at: z.number() }) })
    const { error } = Full.parse(await full.json())
    expect([full.status, error.code, error['limit_source']]).toEqual([429, 'seller_cap_reached', 'seller_cap'])
    // The cap lifts at the next 00:00 UTC.
    expect([error.resets_at % 86_400, error.resets_at * 1_000 > Date.now()]).toEqual([0, true])
    expect(Number(full.headers.get('retry-after'))).toBeLessThanOrEqual(86_400)
  })

  it('gives a buyer’s share back where the cap is full', async () => {
    const [offer = ''] = await lendImages([{ key: KEY, capDailyMicro: '60000', buyerSharePct: 80 }])
    const { buyerKey } = await doorsOf(network).user(1)
    expect([(await image()).status, (await image({ key: buyerKey })).status]).toEqual([200, 200])
    expect((await refusalOf(image({ key: buyerKey })))[1]).toBe('seller_cap_reached')
    const [name = ''] = await lending.redis.keys(moneyKeys.offerBuyers(offer, '*'))
    await until('each buyer has its share of the spend', 5_000, async () =>
      isDeepStrictEqual(await lending.redis.hvals(name), ['24000', '24000']),
    )
  })

  it('goes to the next key when no byte was sent, and never after one was sent', async () => {
    await lendImages([{ key: 'unsendable\nkey', keptBps: 5_000 }, { key: KEY }])
    const answer = await image()
    expect([answer.status, answer.headers.get('x-mkt-marketplace-attempts'), costOf(answer)]).toEqual([
      200,
      '2',
      '24000',
    ])
    await lendImages([{ key: KEY, keptBps: 5_000 }, { key: KEY }])
    provider.answers((request) => request.socket.destroy())
    expect(await refusalOf(image())).toEqual([502, 'upstream_error', '0'])
    expect(provider.heard.length).toBe(1)
  })

  it.each([
    ['a failure', 500, 502, 'upstream_error'],
    ['a refused key', 401, 502, 'upstream_error'],
    ['an empty account', 402, 502, 'upstream_error'],
    ['a redirect', 302, 502, 'upstream_error'],
    ['a bad request', 422, 400, 'upstream_rejected'],
    ['a rate limit', 429, 429, 'rate_limited'],
  ])('costs nothing after %s, and its error contains no key', async (_name, said, status, code) => {
    await lendImages([{ key: KEY }])
    json(
      said,
      { error: { message: `Incorrect API key ${KEY} given to https://inner.example` } },
      { location: 'http://127.0.0.1:1/' },
    )
    const answer = await image()
    const text = await answer.clone().text()
    expect(await refusalOf(Promise.resolve(answer))).toEqual([status, code, '0'])
    expect(text).not.toContain(KEY)
    expect(provider.heard.length).toBe(1)
  })

  it('to keys that are all backed off is 503 offers_unhealthy', async () => {
    await lendImages([{ key: KEY }])
    json(401, { error: { message: 'no' } })
    await image()
    json(200, { data: [] })
    const answer = await image()
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(await refusalOf(Promise.resolve(answer))).toEqual([503, 'offers_unhealthy', '0'])
    await lendImages([{ key: KEY }])
  })
})

describeHeaders()
describeBodies()
describeRefusals()
describeProviderH()
describeWallets()

describe('provider-p2', () => {
  it('works with the stock client of its protocol at another base URL', async () => {
    const { api_base_url, buyer_key } = network.sandbox
    const client = new OpenAI({ baseURL: `${api_base_url}/resources/provider-p2`, apiKey: buyer_key, maxRetries: 0 })
    const request = {
      model: 'gpt-5-mini',
      max_tokens: 50,
      messages: [{ role: 'user' as const, content: 'Say hello.' }],
    }
    const whole = await client.chat.completions.create(request).withResponse()
    expect(whole.data.choices[0]?.message.content).toEqual(expect.any(String))
    const { prompt_tokens: input = 0, completion_tokens: output = 0 } = whole.data.usage ?? {}
    const due = Math.ceil(((input * 25 + output * 200) * 6_000) / 10_000 / 100)
    expect(costOf(whole.response)).toBe(String(due))
    const stream = await client.chat.completions.create({
      ...request,
      stream: true,
      stream_options: { include_usage: true },
    })
    let text = ''
    for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? ''
    expect(text).toBe(whole.data.choices[0]?.message.content)
    expect((await client.models.list()).data.length).toBeGreaterThan(0)
  })

  it('costs the same streamed and whole though its buyer requests no usage, and ten cents suffice', async () => {
    const { buyerKey } = await doorsOf(network).user(0.1)
    const chat = { model: 'gpt-5-mini', messages: [{ role: 'user', content: 'Say hello.' }] }
    const path = '/resources/provider-p2/chat/completions'
    const whole = await post(path, chat, { key: buyerKey })
    expect([whole.status, whole.headers.get('x-mkt-adapted-params')]).toEqual([200, 'max_completion_tokens'])
    const streamed = await post(path, { ...chat, stream: true }, { key: buyerKey })
    expect(streamed.status).toBe(200)
    expect(streamed.headers.get('x-mkt-adapted-params')).toBe('max_completion_tokens, stream_options')
    const Used = z.object({
      prompt_tokens: z.number(),
      completion_tokens: z.number(),
      prompt_tokens_details: z.object({ cached_tokens: z.number() }).nullish(),
    })
    const [, told = ''] = /"usage":(\{.*\})\}/.exec(await streamed.text()) ?? []
    const used = Used.parse(JSON.parse(told))
    const cached = used.prompt_tokens_details?.cached_tokens ?? 0
    // In thousandths of a micro-USD, of which 60 % are kept.
    const list = (used.prompt_tokens - cached) * 250 + cached * 25 + used.completion_tokens * 2_000
    const due = Math.ceil((list * 6) / 10_000)
    expect([due > 0, due <= Number(costOf(whole))]).toEqual([true, true])
    const rid = streamed.headers.get('x-request-id')
    const Record = z.looseObject({ settlement_status: z.string(), buyer_cost_micro: z.number() })
    await until('the stream is booked', 20_000, async () => {
      const record = Record.parse(await (await ask(`/v1/requests/${rid}`, { key: buyerKey })).json())
      return record.settlement_status !== 'pending' && record.buyer_cost_micro === due
    })
  })
})

describe('every end of a forwarded call', () => {
  it('is listed in docs/outcomes-forwarded.md', async () => {
    const text = forwardedPage(await driveForwarded())
    await expect(text).toMatchFileSnapshot('../../docs/outcomes-forwarded.md')
    await lendImages([{ key: KEY }])
  })
})

describe('a relay whose process is killed in the middle', () => {
  it('is never sent again, and costs nothing', async () => {
    const half = Buffer.alloc(100_000, 'f')
    provider.answers((_request, response) => {
      response.writeHead(200, { 'content-type': 'video/mp4', 'content-length': 2 * half.length })
      response.write(half)
    })
    const path = '/resources/provider-p1/v1/uploads/film.bin'
    const answer = await ask(path, { method: 'PUT', body: 'x', headers: { 'content-type': 'video/mp4' } })
    process.kill(network.sandbox.pids['data_plane'] ?? 0, 'SIGKILL')
    await expect(answer.arrayBuffer()).rejects.toThrow()
    const rid = answer.headers.get('x-request-id')
    const Record = z.looseObject({ settlement_status: z.string(), buyer_cost_micro: z.number() })
    await until('the next process has ended the call', 90_000, async () => {
      const found = await ask(`/v1/requests/${rid}`).catch(() => undefined)
      const record = found?.ok === true ? Record.parse(await found.json()) : undefined
      return record !== undefined && record.settlement_status !== 'pending' && record.buyer_cost_micro === 0
    })
    expect(provider.heard.length).toBe(1)
  })
})

describe('a family of calls', () => {
  const paid = async () => payingFetch(chain, await chain.newWallet({ usdc: 5_000_000n, eth: 10n ** 17n }), 'upto')

  it('is challenged with its price, paid by a wallet, and never repeated', async () => {
    json(200, { data: [], meta: { result_count: 12 } })
    const url = `${network.sandbox.base_url}/x402/api/social/v2/posts/search/recent?query=boats&max_results=50`
    const asked = await fetch(url)
    expect(asked.status).toBe(402)
    const { accepts } = z.object({ accepts: z.array(z.object({ amount: z.string() })) }).parse(await asked.json())
    // 50 posts at 500 micro-USD and 60 %.
    expect(accepts[0]?.amount).toBe('15000')
    expect(provider.heard).toEqual([])
    const answer = await (await paid())(url)
    expect([answer.status, costOf(answer)]).toEqual([200, '3600'])
    expect(answer.headers.get('payment-response')).not.toBeNull()
    expect(provider.heard.map(({ url: path }) => path)).toEqual([
      '/social/v2/posts/search/recent?query=boats&max_results=50',
    ])
  })

  it('reads a chain for viem, paid call by call', async () => {
    const url = `${network.sandbox.base_url}/x402/api/crypto-rpc/rpc/base-mainnet`
    const fetchFn = await paid()
    const client = createPublicClient({ chain: base, transport: http(url, { fetchFn, batch: true, retryCount: 0 }) })
    const [id, block, balance] = await Promise.all([
      client.getChainId(),
      client.getBlockNumber(),
      client.getBalance({ address: '0x0000000000000000000000000000000000000001' }),
    ])
    expect([id, typeof block, typeof balance]).toEqual([8453, 'bigint', 'bigint'])
    const sent = client.request({ method: 'eth_sendRawTransaction', params: ['0x00'] } as never)
    await expect(sent).rejects.toThrow()
  })
})
