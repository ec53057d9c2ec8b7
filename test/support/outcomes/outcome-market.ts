import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import pg from 'pg'
import { z } from 'zod'
import { readConfig } from '#data-plane/config.ts'
import type { CallLimits } from '#data-plane/pipeline/call-plane.ts'
import type { DataPlane } from '#data-plane/plane.ts'
import { createDataPlane } from '#data-plane/plane.ts'
import type { SampleProvider } from '#dev/provider/server.ts'
import { createSampleProvider } from '#dev/provider/server.ts'
import { ANY_CLIP } from '#shared/clips.ts'
import type { Time } from '#shared/clock.ts'
import { systemClock } from '#shared/clock.ts'
import { inParallel } from '#shared/in-parallel.ts'
import { createLogger } from '#shared/logger.ts'
import { filmFacts, textModel } from '#test/support/facts/text-model.ts'
import type { Network } from '#test/support/market/network.ts'
import { startNetwork } from '#test/support/market/network.ts'
import { ANY_LOOP_DELAY, until } from '#test/support/run/until.ts'
import type { Change, Meanwhile } from './outcome-changes.ts'
import { changeOf } from './outcome-changes.ts'

/**
 * The limits of production, which even a busy machine does not reach, with an interval of keep-alives short enough for
 * every silence. Milliseconds.
 */
const LIMITS = { keepAliveMs: 600 }
/** Limits of the hasty plane in milliseconds. Ends that take minutes in production take seconds there. */
const HASTY_LIMITS = {
  ...LIMITS,
  totalMs: 15_000,
  firstByteMs: 6_000,
  idleMs: 8_000,
  drainMs: 2_500,
  unseenDrainMs: 1_000,
  maxDrains: 3,
}

/** Number of listings under way at once. One address may have 128 requests open. */
const LISTED_AT_ONCE = 64

/** The providers that sell, lowest price first, and one that does not listen. */
export const SELLING = ['ends-first', 'ends-second', 'ends-third'] as const
const GONE = 'ends-gone'

/** The behaviour of a model at each provider that sells it. `well` succeeds; `gone` does not listen. */
export type Acts = readonly string[]

/** A whole market, and a data plane of its own with short limits, on which calls can end in each way. */
export type OutcomeMarket = {
  readonly url: string
  /** The plane whose limits end a call within seconds. */
  readonly hastyUrl: string
  readonly network: Network
  readonly database: pg.Pool
  readonly redis: Redis
  /** Puts models on sale. */
  sell(listings: readonly Listing[]): Promise<void>
  /** Number of requests for a model that reached a provider. */
  received(model: string): number
  /** Lets providers answer no request for a model until the returned function is called. */
  hold(model: string): () => void
  /** Makes a buyer with a key and credit in US dollars. */
  buyer(creditUsd: number, key?: object): Promise<string>
  post(path: string, key: string, body: object): Promise<unknown>
  /** The steps of a change while a call runs. */
  change(kind: Meanwhile): Change
  stop(): Promise<void>
}

/** Starts the market inside a running one, or as one of its own. */
export async function startOutcomeMarket(running?: Network): Promise<OutcomeMarket> {
  const network = running ?? (await startNetwork())
  const moved = movedClock()
  const plane = await startPlane(network, 'ends', LIMITS, moved.clock)
  const hasty = await startPlane(network, 'ends-hasty', HASTY_LIMITS)
  const [url, hastyUrl] = [await plane.listen(), await hasty.listen()]
  const held = new Map<string, Promise<void>>()
  const untilMayAnswer = (model: string) => held.get(model)
  const providers = await Promise.all(
    [...SELLING, GONE].map((name, index) =>
      createSampleProvider({ host: `127.0.0.${31 + index}`, port: 0, name, untilMayAnswer }),
    ),
  )
  const gone = providers.pop()
  const database = new pg.Pool({ connectionString: network.sandbox.database_url, max: 4 })
  database.on('error', () => undefined)
  const redis = new Redis(network.sandbox.redis_url)
  const doors = doorsOf(network)
  for (const [index, provider] of [...providers, gone].entries()) {
    const id = [...SELLING, GONE][index]
    await doors.operator('provider.put', { id, name: id, baseUrl: provider?.url, isTrusted: true })
  }
  for (const each of [url, hastyUrl]) {
    await until('the plane admits paid calls', 20_000, async () => (await fetch(`${each}/health/paid`)).status === 200)
  }
  const ports = { doors, providers, gone, urls: [url, hastyUrl] }
  return {
    url,
    hastyUrl,
    network,
    database,
    redis,
    async sell(listings) {
      const models = listings.map(({ model, isJob, isPicture, microAToken, overrides, facts }) => {
        const item = isPicture === true ? pictureItem(model) : catalogItem(model, microAToken, overrides)
        return isJob === true ? jobItem(model) : { ...item, ...facts }
      })
      await doors.operator('catalog.import', { source: 'test', models })
      await inParallel(listings, LISTED_AT_ONCE, (listing) => sell(ports, listing))
    },
    received: (model) =>
      providers
        .flatMap(({ requests }) => requests.list())
        // Providers with a queue receive requests for a model at its path.
        .filter(({ method, path, body }) => modelOf(body) === model || (method === 'POST' && path === `/v1/${model}`))
        .length,
    hold(model) {
      let release = () => {}
      held.set(model, new Promise((resolve) => (release = resolve)))
      return () => {
        held.delete(model)
        release()
      }
    },
    buyer: (creditUsd, key) => makeBuyer(doors, creditUsd, key),
    post: doors.post,
    change: (kind) => changeOf(kind, { url, operator: doors.operator, shiftClock: (ms) => moved.setBy(ms) }),
    async stop() {
      redis.disconnect()
      await Promise.all([plane.close(), hasty.close()])
      await Promise.all(providers.map((provider) => provider.close()))
      await database.end()
      await network.remove()
    },
  }
}

/** A clock that can be moved against the machine's. */
function movedClock() {
  let shiftMs = 0
  const clock = { ...systemClock, now: () => systemClock.now() + shiftMs }
  const setBy = (ms: number) => {
    shiftMs = ms
  }
  return { clock, setBy }
}

async function startPlane(
  network: Network,
  node: string,
  limits: Partial<CallLimits>,
  clock: Time = systemClock,
): Promise<DataPlane> {
  const secrets = z
    .record(z.string(), z.string())
    .parse(JSON.parse(readFileSync(join(network.home, 'secrets.json'), 'utf8')))
  const { redis_url: redisUrl, base_url: baseUrl } = network.sandbox
  const config = readConfig({
    ...secrets,
    NODE_ENV: 'development',
    PORT: '0',
    HOST: '127.0.0.1',
    REDIS_URL: redisUrl,
    BASE_URL: baseUrl,
    API_BASE_URL: baseUrl,
    NODE_ID: node,
    CONTROL_PLANE_URL: network.sandbox.control_plane_url,
    JOURNAL_DIR: join(network.home, `journal-${node}`),
    ALLOW_LOOPBACK_UPSTREAMS: '1',
    DRAIN_MS: '1000',
    // Every listing checks whether it is on sale, and is refused until then.
    ADDRESS_WORK_PER_MINUTE: '1000000',
    ...ANY_LOOP_DELAY,
  })
  return createDataPlane(config, { limits, clock, log: createLogger('data-plane', 'silent') })
}

type Doors = ReturnType<typeof doorsOf>

/** Characters of the market's output that the error of a broken request shows. */
const SHOWN_OUTPUT = 4_000

function doorsOf({ sandbox, output }: Network) {
  let count = 0
  async function post(path: string, key: string, body: object): Promise<unknown> {
    count += 1
    const answer = await fetch(path.startsWith('http') ? path : sandbox.api_base_url + path, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        'idempotency-key': `ends-${count}`,
      },
      body: JSON.stringify(body),
    }).catch((cause: unknown) => {
      throw new Error(`${path} broke off. The market's last lines:\n${output().slice(-SHOWN_OUTPUT)}`, { cause })
    })
    const text = await answer.text()
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${text.slice(0, 300)}`)
    return JSON.parse(text)
  }
  const operator = (name: string, input: object) => post(`${sandbox.trpc_url}/${name}`, sandbox.management_key, input)
  const User = z.object({
    result: z.object({ data: z.object({ wallet: z.string(), buyerKey: z.string(), sellerKey: z.string() }) }),
  })
  return {
    post,
    operator,
    async user(label: string) {
      count += 1
      const wallet = `0x${(0xe0_0000 + count).toString(16).padStart(40, '0')}`
      return User.parse(await operator('user.create', { wallet, label, keys: ['buyer', 'seller'] })).result.data
    },
  }
}

async function makeBuyer(doors: Doors, creditUsd: number, terms?: object): Promise<string> {
  const { wallet, buyerKey } = await doors.user('buyer')
  if (creditUsd > 0) {
    await doors.operator('credit.grant', { wallet, amountUsd: creditUsd, ticket: `ends-${wallet}`, note: 'test' })
  }
  if (terms === undefined) return buyerKey
  const created = await doors.post('/v1/buyer/keys', buyerKey, { label: 'with terms', ...terms })
  return z.object({ key: z.string() }).parse(created).key
}

type SellPorts = {
  readonly doors: Doors
  readonly providers: readonly SampleProvider[]
  readonly gone: SampleProvider | undefined
  /** The planes that must have an offer before it counts as on sale. */
  readonly urls: readonly string[]
}

/** A model with this behaviour and one offer for each provider. `capUsd` is the daily cap of each offer. */
export type Listing = {
  readonly model: string
  readonly acts: Acts
  readonly capUsd?: number | undefined
  /** The price of an input token in micro-USD. 1 by default. */
  readonly microAToken?: number
  /** Prices under conditions, and members with a cost that the sellers allow. */
  readonly overrides?: readonly object[] | undefined
  readonly passes?: readonly string[] | undefined
  /** Other facts of the model, in the form of a catalogue. */
  readonly facts?: object | undefined
  /** Sold as a long job. The model's name decides the behaviour of the running job. */
  readonly isJob?: boolean
  /** False for a job of a provider whose protocol has no cancellation. */
  readonly canStop?: boolean
  /** Sold on the surface of pictures. */
  readonly isPicture?: boolean
}

const Book = z.object({ offers: z.array(z.unknown()) })

async function sell(ports: SellPorts, { model, acts, capUsd, isJob, canStop = true, passes }: Listing): Promise<void> {
  const { doors, providers, gone } = ports
  // Each listing has a seller of its own, because a key's writes are limited per minute and flags count by seller.
  const seller = await doors.user('seller')
  for (const [index, act] of acts.entries()) {
    const provider = act === 'gone' ? gone : providers[index]
    await doors.post('/v1/seller/offers', seller.sellerKey, {
      model,
      api_key: `sk-${model}-${index}`,
      seller_base_url: provider?.url,
      discount: 50 - 10 * index,
      ...(capUsd === undefined ? {} : { cap_daily_usd: capUsd }),
      ...(passes !== undefined && { passes }),
      ...(isJob === true && canStop && { api_format: 'falqueue' }),
    })
    if (act === 'gone') await gone?.close()
    else if (act !== 'well') await behave(provider, model, act)
  }
  for (const url of ports.urls) {
    await until(`${model} is on sale`, 90_000, async () => {
      const answer = await fetch(`${url}/api/markets/${model}`)
      const offers = Book.safeParse(await answer.json())
      return offers.success && offers.data.offers.length === acts.length
    })
  }
}

async function behave(provider: SampleProvider | undefined, model: string, behaviour: string): Promise<void> {
  const answer = await fetch(new URL('/__sandbox/behave', provider?.url), {
    method: 'POST',
    body: JSON.stringify({ model, behaviour }),
  })
  if (!answer.ok) throw new Error(`there is no behaviour ${behaviour}`)
}

const Named = z.object({ model: z.string() })

function modelOf(body: unknown): string | undefined {
  const read = Named.safeParse(body)
  return read.success ? read.data.model : undefined
}

/** At the reference price, a second of video costs a cent. */
function jobItem(model: string): object {
  return {
    ...catalogItem(model),
    ...filmFacts('0.01'),
    clip: ANY_CLIP,
  }
}

/** A picture of the rows has two tokens, and each partial picture a hundred. */
function pictureItem(model: string): object {
  return {
    ...catalogItem(model),
    architecture: { input_modalities: ['text'], output_modalities: ['image'] },
    supported_parameters: ['size', 'quality', 'stream', 'partial_images'],
    image_output_tokens: { tokens: { low: { '64x64': 2 } }, partial: 100, source: 'test', date: '2025-12-01' },
    endpoints: ['image'],
  }
}

const usd = (micro: number) => `0.${String(micro).padStart(6, '0')}`

/** At the reference price, an input token costs `microAToken` micro-USD, and an output token ten times that. */
export const catalogItem = (model: string, microAToken = 1, overrides: readonly object[] = []): object =>
  textModel(model, {
    pricing: { prompt: usd(microAToken), completion: usd(10 * microAToken), overrides },
    architecture: { input_modalities: ['text', 'file'], output_modalities: ['text'] },
    top_provider: { max_completion_tokens: 16_384 },
    supported_parameters: ['max_tokens', 'stream'],
    endpoints: ['chat', 'embeddings', 'speech', 'transcription'],
    unit_pricing: { characters: '0.000015', seconds: '0.0001' },
  })
