import { z } from 'zod'
import type { SampleProvider } from '#dev/provider/server.ts'
import { createSampleProvider } from '#dev/provider/server.ts'
import { requireDescribed } from '#test/support/facts/description.ts'
import { textModel } from '#test/support/facts/text-model.ts'
import { until } from '#test/support/run/until.ts'
import type { Network } from './network.ts'
import { sharedNetwork, startNetwork } from './network.ts'

export const MODEL = 'routed'

/** The sellers, lowest price first. The last one is not trusted and has the lowest price of all. */
export const SELLERS = [
  { id: 'rt-cheap', discount: 60, isTrusted: true },
  { id: 'rt-dear', discount: 20, isTrusted: true },
  { id: 'rt-shady', discount: 80, isTrusted: false },
] as const

export type Wallet = { readonly wallet: string; readonly buyerKey: string; readonly sellerKey: string }

/** A whole market. Three providers sell one model, a fourth sells nothing, and a fifth has no seller. */
export type RoutedMarket = Doors & {
  readonly network: Network
  /** The sellers' providers in their order, then the one that sells nothing. */
  readonly providers: readonly SampleProvider[]
  /** The host of each provider. Hints may name it. */
  readonly hosts: readonly string[]
  stop(): Promise<void>
}

/** Requests of users and the operator to a market. */
export type Doors = {
  /** Without a key, the request is anonymous. */
  post(path: string, key: string | undefined, body: object, headers?: Record<string, string>): Promise<Response>
  get(path: string, key: string): Promise<unknown>
  operator(name: string, input: object): Promise<unknown>
  /** Makes a wallet with a key on each side and `creditUsd` US dollars of credit. */
  user(creditUsd?: number): Promise<Wallet>
}

type Model = ReturnType<typeof textModel>
let shared: { readonly home: string; readonly market: Promise<RoutedMarket> } | undefined

/**
 * The sellers in this worker's shared market, each in its first state. They also sell the models of `more`. All of
 * their offers stay until the market ends.
 */
export async function sharedRoutedMarket(more: readonly Model[] = []): Promise<RoutedMarket> {
  const network = await sharedNetwork()
  if (shared?.home !== network.home) {
    await (await shared?.market)?.stop()
    shared = { home: network.home, market: startRoutedMarket(network) }
  }
  const market = { ...(await shared.market), network, stop: () => Promise.resolve() }
  if (more.length > 0) {
    await market.operator('catalog.import', { source: 'test', models: more })
    await sell(
      market,
      more.map(({ canonical }) => canonical),
    )
  }
  await begin(market)
  return market
}

const Book = z.object({ offers: z.array(z.unknown()) })

/** Resets the providers after the last file, and waits until all three sellers receive calls again. */
async function begin(market: RoutedMarket): Promise<void> {
  await putProviders(market)
  const asked = { model: MODEL, messages: [{ role: 'user', content: 'hi' }], allow_untrusted: true }
  await until('all sellers receive calls', 20_000, async () => {
    const body = { path: '/v1/chat/completions', body: asked }
    const answer = await market.post('/v1/route/explain', market.network.sandbox.buyer_key, body)
    const explained = Book.safeParse(await answer.json())
    return explained.success && explained.data.offers.length === SELLERS.length
  })
}

/** Starts the sellers in a running market, or in a market of their own. */
export async function startRoutedMarket(running?: Network): Promise<RoutedMarket> {
  const network = running ?? (await startNetwork())
  const providers = await Promise.all(
    [...SELLERS.map(({ id }) => id), 'rt-own'].map((name, at) =>
      createSampleProvider({ host: `127.0.0.${61 + at}`, port: 0, name }),
    ),
  )
  const market = {
    network,
    providers,
    hosts: providers.map(({ url }) => new URL(url).host),
    ...doorsOf(network),
    async stop() {
      await Promise.all(providers.map((provider) => provider.close()))
      await network.remove()
    },
  }
  await putProviders(market)
  await market.operator('catalog.import', { source: 'test', models: [modelOf(MODEL), modelOf('unsold')] })
  await sell(market, [MODEL])
  return market
}

async function putProviders({ operator, providers }: RoutedMarket): Promise<void> {
  const put = (id: string, baseUrl: string | undefined, isTrusted = true) =>
    operator('provider.put', { id, name: `Routed ${id}`, baseUrl, isTrusted, endpoints: null })
  for (const [at, { id, isTrusted }] of SELLERS.entries()) await put(id, providers[at]?.url, isTrusted)
  await put('rt-own', providers[3]?.url)
  await put('rt-empty', 'http://127.0.0.70:1/v1')
}

/** Lets each seller offer these models, and waits until they are on sale. */
async function sell({ network, providers, user, post }: RoutedMarket, models: readonly string[]): Promise<void> {
  for (const [at, { discount }] of SELLERS.entries()) {
    const seller = await user()
    for (const model of models) {
      const offer = { model, api_key: `sk-routed-${at}`, seller_base_url: providers[at]?.url, discount }
      await post('/v1/seller/offers', seller.sellerKey, offer)
    }
  }
  await until('three offers of each model are on sale', 20_000, async () => {
    const books = await Promise.all(
      models.map(async (model) => {
        const answer = await fetch(`${network.sandbox.api_base_url}/api/markets/${model}`)
        const market = Book.safeParse(await answer.json())
        return market.success && market.data.offers.length === SELLERS.length
      }),
    )
    return books.every((isWhole) => isWhole)
  })
}

/** Fetches. Throws for a JSON answer that differs from the OpenAPI document. */
async function fetchDescribed(url: string, init: RequestInit): Promise<Response> {
  const answer = await fetch(url, init)
  const { pathname } = new URL(url)
  if (answer.headers.get('content-type')?.startsWith('application/json')) {
    const { status, headers } = answer
    requireDescribed(init.method ?? 'GET', pathname, { status, headers, text: await answer.clone().text() })
  }
  return answer
}

const User = z.object({
  result: z.object({ data: z.object({ wallet: z.string(), buyerKey: z.string(), sellerKey: z.string() }) }),
})

/**
 * A single counter for all files of a worker. In its shared market, two files would otherwise use the same wallet or
 * idempotency key.
 */
let calls = 0

export function doorsOf({ sandbox }: Network): Doors {
  const post: RoutedMarket['post'] = (path, key, body, headers = {}) =>
    fetchDescribed(path.startsWith('http') ? path : sandbox.api_base_url + path, {
      method: 'POST',
      headers: {
        ...(key !== undefined && { authorization: `Bearer ${key}` }),
        'content-type': 'application/json',
        'idempotency-key': `routing-${++calls}`,
        ...headers,
      },
      body: JSON.stringify(body),
    })
  const operator: RoutedMarket['operator'] = async (name, input) => {
    const answer = await post(`${sandbox.trpc_url}/${name}`, sandbox.management_key, input)
    if (!answer.ok) throw new Error(`${name}: ${await answer.text()}`)
    return answer.json()
  }
  return {
    post,
    operator,
    get: async (path, key) =>
      (await fetchDescribed(sandbox.api_base_url + path, { headers: { authorization: `Bearer ${key}` } })).json(),
    async user(creditUsd = 0) {
      const wallet = `0x${(0xf0_0000 + ++calls).toString(16).padStart(40, '0')}`
      const made = User.parse(await operator('user.create', { wallet, label: 'routing', keys: ['buyer', 'seller'] }))
      if (creditUsd > 0) {
        await operator('credit.grant', { wallet, amountUsd: creditUsd, ticket: `routing-${wallet}`, note: 'test' })
      }
      return made.result.data
    },
  }
}

/** At the reference price, an input token costs one micro-USD and an output token ten. */
const modelOf = (name: string) =>
  textModel(name, {
    context_length: 8_000,
    pricing: { prompt: '0.000001', completion: '0.00001', input_cache_read: '0.0000001' },
    top_provider: { max_completion_tokens: 4_000 },
    supported_parameters: ['max_tokens', 'stream', 'reasoning_effort'],
  })
