import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { request } from 'node:http'
import { beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { wavTone } from '#dev/provider/media/sound.ts'
import type { ChainWallet, TestChain } from '#test/support/chain/chain.ts'
import { chainOf } from '#test/support/chain/chain.ts'
import type { WalletWay } from '#test/support/chain/wallet-client.ts'
import { payDemand, WALLET_WAYS } from '#test/support/chain/wallet-client.ts'
import type { Network } from '#test/support/market/network.ts'
import { sharedNetwork } from '#test/support/market/network.ts'

let chain: TestChain
let network: Network
const wallets = new Map<WalletWay, ChainWallet>()

beforeAll(async () => {
  chain = await chainOf()
  network = await sharedNetwork()
  for (const way of WALLET_WAYS) {
    const wallet = await chain.newWallet({ usdc: 20_000_000n, eth: 10n ** 18n })
    await chain.approvePermit2(wallet)
    wallets.set(way, wallet)
  }
})

/** A call of a path. A body is JSON, or a form with a sound. */
type Call = {
  readonly name: string
  readonly body: Readonly<Record<string, unknown>> | 'none' | 'form'
  readonly fields?: Readonly<Record<string, string>>
  /** True where the market's last event contains the payment, too. */
  readonly hasLastEvent?: boolean
  readonly query?: string
}

const TEXT = { model: 'gpt-5-mini', max_tokens: 40 }
const chat = { ...TEXT, messages: [{ role: 'user', content: 'Say hello.' }] }
const whole = (body: Call['body'], fields?: Call['fields']): Call => ({
  name: 'whole',
  body,
  ...(fields && { fields }),
})
const streamed = (body: object, hasLastEvent = true): Call => ({ name: 'streamed', body: { ...body }, hasLastEvent })
const both = (body: object): readonly Call[] => [whole({ ...body }), streamed({ ...body, stream: true })]
const completion = { ...TEXT, prompt: 'Once upon a time' }
const answer = { model: TEXT.model, max_output_tokens: 40, input: 'Say hello.' }
const speech = { model: 'tts-1', voice: 'alloy', input: 'Good morning.' }
const picture = { model: 'gpt-image-1', prompt: 'A boat.', quality: 'low', size: '1024x1024' }
const heard = { model: 'gpt-4o-transcribe' }
const rpc = { jsonrpc: '2.0', id: 1, method: 'eth_chainId', params: [] }

/** Every path that a wallet can pay for, and the forwarded ones. */
const CALLS: Readonly<Record<string, readonly Call[]>> = {
  '/v1/chat/completions': both(chat),
  '/api/inference/v1/chat/completions': both(chat),
  '/x402/api/inference/v1/chat/completions': both(chat),
  '/v1/completions': both(completion),
  '/api/inference/v1/completions': both(completion),
  '/x402/api/inference/v1/completions': both(completion),
  '/v1/responses': both(answer),
  '/v1/embeddings': [whole({ model: 'text-embedding-3-small', input: 'hello' })],
  '/v1/audio/speech': [streamed(speech, false), streamed({ ...speech, stream_format: 'sse' })],
  '/v1/audio/transcriptions': [
    whole('form', heard),
    { ...whole('form', { ...heard, stream: 'true' }), name: 'streamed', hasLastEvent: true },
  ],
  '/v1/images/generations': both(picture),
  '/v1/images': [whole(picture)],
  '/v1/images/edits': both({ ...picture, image: 'https://example.com/boat.png' }),
  '/v1/video/generations': [whole({ model: 'sora-2', prompt: 'A boat on a lake.', seconds: 4 })],
  '/v1/videos': [whole({ model: 'sora-2', prompt: 'A boat on a lake.', seconds: '4' })],
  '/v1/music/generations': [whole({ model: 'music-1.5', prompt: 'A slow waltz.' })],
  '/x402/api/crypto-rpc/rpc/base-mainnet': [whole(rpc)],
  '/x402/api/social/v2/posts/search/recent': [{ ...whole('none'), query: '?query=boats&max_results=10' }],
  '/x402/resources/provider-p2/chat/completions': [whole(chat), streamed({ ...chat, stream: true }, false)],
}
const JOBS: ReadonlySet<string> = new Set(['/v1/video/generations', '/v1/videos', '/v1/music/generations'])

type Told = {
  readonly status: number
  readonly head: IncomingHttpHeaders
  readonly text: string
  readonly trailers: NodeJS.Dict<string>
}

type Content = { readonly bytes: Buffer; readonly type: string }
/** The form of each call is built once, so that its boundary is the same when the call is paid. */
const forms = new Map<Call, Promise<Content>>()

async function contentOf(call: Call): Promise<Content> {
  if (call.body !== 'form') return { bytes: Buffer.from(JSON.stringify(call.body)), type: 'application/json' }
  const form = forms.get(call) ?? formOf(call)
  forms.set(call, form)
  return form
}

async function formOf({ fields = {} }: Call): Promise<Content> {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) form.set(name, value)
  form.set('file', new File([new Uint8Array(wavTone(1))], 'a.wav', { type: 'audio/wav' }))
  const written = new Response(form)
  const type = written.headers.get('content-type') ?? ''
  return { bytes: Buffer.from(await written.arrayBuffer()), type }
}

/** Sends a call without `fetch`, which hides trailers. */
async function send(path: string, call: Call, headers: Readonly<Record<string, string>> = {}): Promise<Told> {
  const url = network.sandbox.base_url + path + (call.query ?? '')
  const { bytes, type } = await contentOf(call)
  const isGet = call.body === 'none'
  const message = await new Promise<IncomingMessage>((resolve, reject) => {
    const sent = request(url, {
      method: isGet ? 'GET' : 'POST',
      headers: isGet ? headers : { 'content-type': type, 'content-length': bytes.length, ...headers },
    })
    sent.on('response', resolve).on('error', reject)
    sent.end(isGet ? undefined : bytes)
  })
  const pieces: Buffer[] = []
  for await (const piece of message) pieces.push(Buffer.from(piece))
  const text = Buffer.concat(pieces).toString()
  return { status: message.statusCode ?? 0, head: message.headers, text, trailers: message.trailers }
}

async function pay(path: string, call: Call, way: WalletWay): Promise<Told> {
  const demand = await send(path, call)
  const headers = Object.entries(demand.head).flatMap(([name, value]): [string, string][] =>
    typeof value === 'string' ? [[name, value]] : [],
  )
  const wallet = wallets.get(way)
  if (wallet === undefined) throw new Error('there is no wallet')
  const asked = new Response(demand.text, { status: demand.status, headers })
  expect([path, asked.status]).toEqual([path, 402])
  return send(path, call, await payDemand(chain, wallet, way, asked))
}

const X402 = z.object({ success: z.literal(true), transaction: z.string().regex(/^0x[0-9a-f]{64}$/) })
/** The members that `draft-evm-charge-00` requires in a receipt. */
const Mpp = z.strictObject({
  method: z.literal('evm'),
  challengeId: z.string().min(43),
  reference: z.string().regex(/^0x[0-9a-f]{64}$/),
  status: z.literal('success'),
  timestamp: z.iso.datetime(),
  chainId: z.literal(8453),
})

/** The transaction in headers or trailers. Undefined without a settlement. */
function toldIn(of: IncomingHttpHeaders | NodeJS.Dict<string>, way: WalletWay): string | undefined {
  if (way === 'mpp') {
    const receipt = of['payment-receipt']
    return typeof receipt === 'string' ? Mpp.parse(decoded(receipt, 'base64url')).reference : undefined
  }
  expect(of['x-payment-response']).toBe(of['payment-response'])
  const response = of['payment-response']
  return typeof response === 'string' ? X402.parse(decoded(response, 'base64')).transaction : undefined
}

const decoded = (text: string, encoding: 'base64' | 'base64url'): unknown =>
  JSON.parse(Buffer.from(text, encoding).toString())

const waysOf = (path: string): readonly WalletWay[] =>
  WALLET_WAYS.filter((way) => !(JOBS.has(path) && way === 'x402-upto') && !(path.startsWith('/x402/') && way === 'mpp'))

const TABLE = Object.entries(CALLS).flatMap(([path, calls]) =>
  calls.flatMap((call) => waysOf(path).map((way) => [path, call.name, way, call] as const)),
)

describe('the receipt of a payment', () => {
  it.each(TABLE)('of %s, %s, by %s is in the head of the answer or at the end', async (path, name, way, call) => {
    const told = await pay(path, call, way)
    expect([path, told.status < 300, told.status < 300 ? '' : told.text]).toEqual([path, true, ''])
    const [inHead, atEnd] = [toldIn(told.head, way), toldIn(told.trailers, way)]
    expect(told.head['cache-control']).toMatch(/^private/)
    // The transaction is named once. A stream by upto is settled at its end: the transaction is in a trailer, or in the
    // head where the market held the answer until then.
    expect([inHead, atEnd].filter((transaction) => transaction !== undefined)).toHaveLength(1)
    if (name === 'whole' || way !== 'x402-upto') expect(atEnd).toBeUndefined()
    if (call.hasLastEvent === true) expect(told.text).toContain(`"transaction":"${inHead ?? atEnd}"`)
    // The cost is in the head, in a trailer, or in the last event. The cost of a job is unknown at this time.
    const cost = told.head['x-mkt-buyer-cost-micro'] ?? told.trailers['x-mkt-buyer-cost-micro']
    const isTold = cost !== undefined || told.text.includes('"buyer_cost_micro":')
    expect([isTold, JOBS.has(path)]).not.toEqual([false, false])
  })

  it('is checked at every path that the market sells to wallets', async () => {
    const Info = z.looseObject({
      inference: z.looseObject({ endpoints: z.array(z.looseObject({ path: z.string() })) }),
    })
    const info = Info.parse(await (await fetch(`${network.sandbox.base_url}/api/x402/info`)).json())
    for (const { path } of info.inference.endpoints) expect(Object.keys(CALLS)).toContain(path)
  })
})
