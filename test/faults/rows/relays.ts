import { machineOperator } from '#control-plane/operation/actor.ts'
import { invoke } from '#control-plane/operation/invoke.ts'
import { putResource } from '#control-plane/services/catalog/resources.ts'
import { createLentOffer } from '#control-plane/services/lending/create-lent-offer.ts'
import type { ResourceInput } from '#shared/catalog/resources.ts'
import type { CrashPoint } from '#shared/crash-point.ts'
import type { Buyer } from '#test/faults/harness/market.ts'
import { wasKilled } from '#test/faults/harness/process.ts'
import type { Row, Stage } from '#test/faults/harness/row.ts'
import { owes, readRequests } from '#test/faults/harness/verify.ts'
import type { World } from '#test/faults/harness/world.ts'
import { newProviderKey } from '#test/support/doors/offers.ts'
import { until } from '#test/support/run/until.ts'

const RELAY = 'relay'
const PATH = `/resources/${RELAY}/chat/completions`
const SOON_MS = 20_000
const BUYER_USD = 100
/** The list price of a word in micro-USD, and the discount of the lent keys. */
const WORD_MICRO = 20
const DISCOUNT_PERCENT = 25
const MAX_WORDS = 24
/** More bytes than the head of an answer has, and fewer than the whole answer. */
const CUT_AFTER_BYTES = 300

/** Chats of the first seller's provider, whose keys any seller may lend. */
const recordAt = (baseUrl: string): ResourceInput => ({
  id: RELAY,
  kind: 'resource',
  name: 'Relay',
  unit: 'per word',
  style: 'path',
  hosts: [{ role: 'api', baseUrl }],
  credential: { header: 'authorization', prefix: 'Bearer ' },
  probe: { host: 'api', path: '/models', accepts: [200] },
  goods: [{ id: 'words', prices: { output: `0.0000${WORD_MICRO}` } }],
  routes: [
    {
      id: 'chat',
      title: 'Chat',
      kind: 'sale',
      methods: ['POST'],
      host: 'api',
      path: '/chat/completions',
      good: 'words',
      quote: { output: 'body.max_tokens' },
      reported: { output: 'answer.usage.completion_tokens' },
    },
  ],
})

/** Lends two keys, so that the second could take over, and creates a buyer for the row. */
async function lend({ market, relays, origin, secrets }: World): Promise<Buyer> {
  const record = recordAt(`${relays.sellerA.url}/v1`)
  await invoke(market.plane, machineOperator('fault run'), putResource, { record, source: 'fault run' })
  for (const name of ['a', 'b'] as const) {
    const apiKey = newProviderKey()
    secrets.all.set(`the lent key of ${name}`, apiKey)
    await invoke(market.plane, market.seller(name), createLentOffer, {
      resourceType: RELAY,
      apiKey,
      discountPercent: DISCOUNT_PERCENT,
      ackPersistsState: true,
      ackProviderTerms: true,
    })
  }
  for (const node of [0, 1]) {
    await until('both keys are lent', SOON_MS, async () => {
      const answer = await fetch(`${origin(node)}/v1/resource/book/${RELAY}`)
      return answer.ok && (await answer.text()).split('"ofr_').length === 3
    })
  }
  return market.buyer(BUYER_USD)
}

type Call = { readonly words: string; readonly isStreamed: boolean; readonly model?: string }
/** The answer of a call that its buyer received. Empty where the process died before the answer. */
type Seen = { readonly status: number; readonly isWhole: boolean; readonly cost: string | null; readonly text: string }

/** Sends a call to the first node. */
async function send({ origin }: World, { key }: Buyer, { words, isStreamed, model }: Call): Promise<Seen> {
  const body = {
    model: model ?? (isStreamed ? 'sandbox/drip' : 'gpt-5-mini'),
    max_tokens: MAX_WORDS,
    messages: [{ role: 'user', content: words }],
    ...(isStreamed && { stream: true, stream_options: { include_usage: true } }),
  }
  const nothing: Seen = { status: 0, isWhole: false, cost: null, text: '' }
  const answer = await fetch(origin(0) + PATH, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  }).catch(() => undefined)
  if (answer === undefined) return nothing
  const text = await answer.text().catch(() => undefined)
  const cost = answer.headers.get('x-mkt-buyer-cost-micro')
  return { status: answer.status, isWhole: text !== undefined, cost, text: text ?? '' }
}

/** The number of requests to the provider for a call. */
async function timesAsked(world: World, { words }: Call): Promise<number> {
  return (await readRequests(world, 0)).filter(({ text }) => text.includes(words)).length
}

/** The charges of the buyer, one by one, once no call is open. */
async function chargesOf(world: World, { account }: Buyer): Promise<readonly number[]> {
  await until('the buyer has no open call', SOON_MS, async () => !(await owes(world, account)))
  const { rows } = await world.sql.query<{ charge: string }>(
    'select charge::text from settlement where account = $1 and charge > 0 order by rid',
    [account],
  )
  return rows.map(({ charge }) => Number(charge))
}

/**
 * A place at which the process of a call dies, the number of requests to the provider by then, and whether the call is
 * paid. Without a capture the call is free, even when an answer was delivered.
 */
type Death = Omit<Call, 'words'> & { readonly point: CrashPoint; readonly asked: 0 | 1; readonly isPaid: boolean }

const DEATHS: readonly Death[] = [
  { point: 'after_reserve', isStreamed: false, asked: 0, isPaid: false },
  { point: 'before_dispatch', isStreamed: false, asked: 0, isPaid: false },
  { point: 'after_headers', isStreamed: false, asked: 1, isPaid: false },
  { point: 'after_headers', isStreamed: true, asked: 1, isPaid: false },
  { point: 'after_first_content', isStreamed: true, asked: 1, isPaid: false },
  { point: 'mid_stream', isStreamed: true, asked: 1, isPaid: false },
  { point: 'before_C', isStreamed: false, asked: 1, isPaid: false },
  { point: 'before_capture', isStreamed: false, asked: 1, isPaid: false },
  { point: 'after_capture', isStreamed: false, asked: 1, isPaid: true },
]

/** The death of the short selection: half of the answer is out, and the journal has its progress. */
const FEW_DEATHS: readonly CrashPoint[] = ['mid_stream']

async function dieInRelay(stage: Stage, buyer: Buyer): Promise<void> {
  const { world, isQuick } = stage
  const node = world.dataPlanes[0]
  const deaths = DEATHS.filter(({ point }) => !isQuick || FEW_DEATHS.includes(point))
  for (const { point, asked, isPaid, isStreamed } of deaths) {
    const call = { words: `relay to its death at ${point}, ${isStreamed ? 'streamed' : 'whole'}`, isStreamed }
    const before = await chargesOf(world, buyer)
    await node.kill()
    await node.start({ environment: { CRASH_AT: `${point}#1` }, mustEnd: true })
    await world.untilPaid()
    const seen = await send(world, buyer, call)
    stage.require(!seen.isWhole, `${call.words}: was answered with ${seen.status}`)
    stage.require(wasKilled(await node.ended()), `${call.words}: the node did not die`)
    await node.start()
    await world.untilPaid()
    const taken = (await chargesOf(world, buyer)).slice(before.length)
    stage.require(taken.length === (isPaid ? 1 : 0), `${call.words}: costs ${taken.join()}`)
    const times = await timesAsked(world, call)
    stage.require(times === asked, `${call.words}: the provider was asked ${times} times`)
  }
  stage.figure('deaths', deaths.length)
}

type Cut = Omit<Call, 'words'> & {
  readonly name: string
  /** True for the short selection, in which every mutant of the row is noticed. */
  readonly isQuick?: boolean
  cut(provider: World['relays']['sellerA'], words: string): void
}

const CUTS: readonly Cut[] = [
  {
    name: 'whose answer is lost',
    isStreamed: false,
    isQuick: true,
    cut: (provider, words) => provider.cutReplyTo(words),
  },
  {
    name: 'that breaks off',
    isStreamed: false,
    cut: (provider) => provider.fault({ cutsAfterBytes: CUT_AFTER_BYTES }),
  },
  {
    name: 'that breaks off, streamed',
    isStreamed: true,
    isQuick: true,
    cut: (provider) => provider.fault({ cutsAfterBytes: 2 * CUT_AFTER_BYTES }),
  },
  { name: 'that fails', isStreamed: false, model: 'sandbox/server-error', cut: () => undefined },
]

/** The provider is reached, and its answer breaks off or never comes. No other key may take over. */
async function breakOff(stage: Stage, buyer: Buyer): Promise<void> {
  const { world } = stage
  const { sellerA } = world.relays
  const before = await chargesOf(world, buyer)
  const cuts = CUTS.filter(({ isQuick }) => !stage.isQuick || isQuick === true)
  for (const { name, cut, ...shape } of cuts) {
    const call: Call = { words: `relay ${name}`, ...shape }
    // Earlier connections would carry the bytes that the cut counts.
    sellerA.cut()
    cut(sellerA, call.words)
    const seen = await send(world, buyer, call)
    sellerA.pass()
    stage.require(!seen.isWhole || seen.status === 502, `${name}: was answered with ${seen.status} ${seen.text}`)
    const times = await timesAsked(world, call)
    stage.require(times === 1, `${name}: the provider was asked ${times} times`)
  }
  const taken = (await chargesOf(world, buyer)).slice(before.length)
  stage.require(taken.length === 0, `calls that broke off cost ${taken.join()}`)
  stage.figure('cuts', cuts.length)
}

/** A successful call is served whole, and costs the amount in its answer. */
async function goOn(stage: Stage, buyer: Buyer): Promise<void> {
  const before = await chargesOf(stage.world, buyer)
  const seen = await send(stage.world, buyer, { words: 'relay that goes well', isStreamed: false })
  const taken = (await chargesOf(stage.world, buyer)).slice(before.length)
  const words = Number(/"completion_tokens":\s*(\d+)/.exec(seen.text)?.[1])
  const due = Math.ceil((words * WORD_MICRO * (100 - DISCOUNT_PERCENT)) / 100)
  stage.require(seen.status === 200 && words > 0, `a good call was answered with ${seen.status} ${seen.text}`)
  stage.require(seen.cost === String(due), `${words} words cost ${seen.cost} instead of ${due}`)
  stage.require(taken.join() === String(due), `${words} words were charged ${taken.join()} instead of ${due}`)
}

export const RELAY_ROWS: readonly Row[] = [
  {
    number: 'N06',
    title: 'a data plane dies in the midst of a call on a lent key, and providers break off: it is sent once',
    isQuick: true,
    async run(stage) {
      const buyer = await lend(stage.world)
      await goOn(stage, buyer)
      await dieInRelay(stage, buyer)
      await breakOff(stage, buyer)
      await goOn(stage, buyer)
    },
  },
]
