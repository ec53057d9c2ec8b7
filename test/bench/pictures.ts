import { pngOf } from '#dev/provider/media/png.ts'
import { until } from '#test/support/run/until.ts'
import type { Driver, Load } from './load.ts'
import { findDriver } from './load.ts'
import type { BenchMarket } from './market.ts'
import { createOffer, startBenchMarket } from './market.ts'
import { memoryOf, resetPeak } from './memory.ts'
import { middle } from './middle.ts'
import { startNginx } from './nginx.ts'
import { processorSeconds } from './processor-time.ts'

/** The bytes of a large picture, and those of each of an edit's sources. */
const LARGE_MEGABYTES = 20
const SOURCE_BYTES = 4_000_000
const SOURCES = 8
const CALLS = 6
/** Number of large answers at once. A load of small ones has as many connections as in the other rows. */
const LARGE_AT_ONCE = 8
const SMALL_AT_ONCE = 128
const ROUNDS = 3
const MEGABYTE = 1_048_576
const GIGABYTE = 1_000_000_000
/** Base64 has four characters for three bytes. */
const LARGE_ANSWER_MEGABYTES = (LARGE_MEGABYTES * 4) / 3
/** Calls of each connection whose processor time is measured. */
const LARGE_CALLS = 4
const GENERATIONS = '/v1/images/generations'

type Row = { readonly what: string; readonly figure: string; readonly beside?: string }

/** Measures large pictures in both directions against nginx, and small ones against the market's own chat calls. */
export async function measurePictures(seconds: number, environment: Record<string, string>): Promise<Row[]> {
  const market = await startBenchMarket(environment, [
    'test/bench/picture-upstream.ts',
    '--megabytes',
    String(LARGE_MEGABYTES),
  ])
  try {
    for (const [model, format] of [
      ['dall-e-3', 'openai'],
      ['gpt-image-1', 'openai'],
      ['flux-1-dev', 'together'],
    ]) {
      const offer = { model, api_format: format, api_key: 'sk-bench', discount: 95 }
      await createOffer(market.network, { ...offer, seller_base_url: `${market.upstreamUrl}/v1` })
    }
    await until('the offers are routed to', 10_000, async () => (await draw(market, 'small')).isOurs)
    const driver = await findDriver()
    return [
      await measureAnswer(market),
      await measureEdit(market, 'gpt-image-1', 'sent on as a form'),
      await measureEdit(market, 'flux-1-dev', 'sent on as JSON'),
      ...(await measureAgainstNginx(market, driver, seconds)),
      await measureSmall(market, driver, seconds),
    ]
  } finally {
    await market.stop()
  }
}

const bodyOf = (prompt: string) => JSON.stringify({ prompt, model: 'dall-e-3', response_format: 'b64_json' })

async function draw({ network }: BenchMarket, prompt: string): Promise<{ bytes: number; isOurs: boolean }> {
  const answer = await fetch(network.sandbox.api_base_url + GENERATIONS, {
    method: 'POST',
    headers: { authorization: `Bearer ${network.sandbox.buyer_key}`, 'content-type': 'application/json' },
    body: bodyOf(prompt),
  })
  const bytes = (await answer.arrayBuffer()).byteLength
  if (!answer.ok) throw new Error(`${answer.status} for a picture`)
  return { bytes, isOurs: answer.headers.get('x-mkt-provider-family') === 'bench' }
}

/** Memory that a call adds to the data plane: that of each of some calls, including the first. */
async function addedBy({ network }: BenchMarket, call: () => Promise<unknown>): Promise<string> {
  const pid = network.sandbox.pids['data_plane'] ?? 0
  const added: number[] = []
  for (let each = 0; each < CALLS; each++) {
    const before = memoryOf(pid).resident
    resetPeak(pid)
    await call()
    added.push((memoryOf(pid).peak - before) / MEGABYTE)
  }
  return `at most ${Math.max(...added).toFixed(0)} MB: ${added.map((value) => value.toFixed(0)).join(', ')}`
}

async function measureAnswer(market: BenchMarket): Promise<Row> {
  let bytes = 0
  const figure = await addedBy(market, async () => {
    bytes = (await draw(market, 'large')).bytes
  })
  const what = `memory of a picture of ${LARGE_MEGABYTES} MB`
  return { what, figure, beside: `${(bytes / MEGABYTE).toFixed(0)} MB of JSON` }
}

async function measureEdit(market: BenchMarket, model: string, beside: string): Promise<Row> {
  const { sandbox } = market.network
  const source = Buffer.concat([pngOf('a source', 16, 16), Buffer.alloc(SOURCE_BYTES, 0xa5)])
  const figure = await addedBy(market, async () => {
    const form = new FormData()
    form.set('model', model)
    form.set('prompt', 'small')
    for (let each = 0; each < SOURCES; each++) form.append('image[]', new Blob([source]), `${each}.png`)
    const headers = { authorization: `Bearer ${sandbox.buyer_key}` }
    const answer = await fetch(`${sandbox.api_base_url}/v1/images/edits`, { method: 'POST', headers, body: form })
    if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`)
    await answer.arrayBuffer()
  })
  const megabytes = ((SOURCES * SOURCE_BYTES) / MEGABYTE).toFixed(0)
  return { what: `memory of an edit with ${SOURCES} sources of 4 MB, ${megabytes} MB in all`, figure, beside }
}

/** Calls per second of each side, measured in turns after a first round that warms them up. The medians. */
async function byTurns(driver: Driver, loads: readonly Load[]): Promise<readonly number[]> {
  const results = loads.map((): number[] => [])
  for (let round = 0; round <= ROUNDS; round++) {
    for (const [index, load] of loads.entries()) {
      const { perSecond, refused } = await driver.drive(load)
      if (refused > 0) throw new Error(`${refused} calls were refused`)
      if (round > 0) results[index]?.push(perSecond)
    }
  }
  return results.map(middle)
}

/** A relay of pictures, and the process whose time is measured. */
type RelayOfPictures = { readonly load: Load; readonly pid: number }

/** Seconds of processor time per gigabyte of answers, in turns. The medians. Every call comes to its end. */
async function timeByTurns(relays: readonly RelayOfPictures[]): Promise<readonly number[]> {
  const results = relays.map((): number[] => [])
  for (let round = 0; round < ROUNDS; round++) {
    for (const [index, { load, pid }] of relays.entries()) {
      const before = processorSeconds(pid)
      const bytes = await Promise.all(Array.from({ length: LARGE_AT_ONCE }, () => drawLarge(load)))
      const gigabytes = bytes.reduce((sum, each) => sum + each, 0) / GIGABYTE
      results[index]?.push((processorSeconds(pid) - before) / gigabytes)
    }
  }
  return results.map(middle)
}

/** Makes some calls one after the other. Returns the number of received bytes. */
async function drawLarge({ url, key, body }: Load): Promise<number> {
  const headers = {
    'content-type': 'application/json',
    ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
  }
  let bytes = 0
  for (let each = 0; each < LARGE_CALLS; each++) {
    const answer = await fetch(url, { method: 'POST', headers, body })
    if (!answer.ok || answer.body === null) throw new Error(`${answer.status} for a picture: ${await answer.text()}`)
    for await (const piece of answer.body) bytes += piece.length
  }
  return bytes
}

async function measureAgainstNginx(market: BenchMarket, driver: Driver, seconds: number): Promise<Row[]> {
  const what = `pictures of ${LARGE_MEGABYTES} MB, relayed`
  const nginx = await startNginx(market.upstreamUrl)
  if (typeof nginx === 'string') return [{ what, figure: 'not measured', beside: nginx }]
  try {
    const shared = { body: bodyOf('large'), connections: LARGE_AT_ONCE, seconds: Math.ceil(seconds / ROUNDS) }
    const { api_base_url: url, buyer_key: key, pids } = market.network.sandbox
    const relays = [
      { load: { ...shared, url: `${nginx.url}${GENERATIONS}` }, pid: nginx.pid },
      { load: { ...shared, key, url: url + GENERATIONS }, pid: pids['data_plane'] ?? 0 },
    ]
    const loads = relays.map(({ load }) => load)
    const [theirRate = 0, ourRate = 0] = await byTurns(driver, loads)
    const [theirTime = 0, ourTime = 0] = await timeByTurns(relays)
    const figure = (perSecond: number, time: number) =>
      `${(perSecond * LARGE_ANSWER_MEGABYTES).toFixed(0)} MB/s, ${time.toFixed(2)} s/GB`
    const beside = `${(ourRate / theirRate).toFixed(2)} of nginx, ${(theirTime / ourTime).toFixed(2)} by processor time`
    return [
      { what: `${what} by nginx`, figure: figure(theirRate, theirTime), beside: `${LARGE_AT_ONCE} at once` },
      { what, figure: figure(ourRate, ourTime), beside },
    ]
  } finally {
    nginx.stop()
  }
}

async function measureSmall(market: BenchMarket, driver: Driver, seconds: number): Promise<Row> {
  await market.postAll()
  market.pausePosting()
  const { api_base_url: url, buyer_key: key } = market.network.sandbox
  const shared = { key, connections: SMALL_AT_ONCE, seconds: Math.ceil(seconds / ROUNDS) }
  const messages = [{ role: 'user', content: 'Say a few words.' }]
  const chat = JSON.stringify({ model: market.model, max_tokens: 256, messages })
  const [chats = 0, pictures = 0] = await byTurns(driver, [
    { ...shared, url: `${url}/v1/chat/completions`, body: chat },
    { ...shared, url: url + GENERATIONS, body: bodyOf('small') },
  ])
  market.resumePosting()
  const beside = `${(pictures / chats).toFixed(2)} of ${chats.toFixed(0)} chat calls/s with answers of a kilobyte`
  return { what: 'pictures of a kilobyte', figure: `${pictures.toFixed(0)} calls/s`, beside }
}
