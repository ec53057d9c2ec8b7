import { describe, expect, it } from 'vitest'
import type { Decoder, ModelPlan } from '#data-plane/call.ts'
import { meterUsage } from '#data-plane/pipeline/meter/meter-usage.ts'
import { checkCapability } from '#data-plane/pipeline/plan/check-capability.ts'
import { boundOf } from '#data-plane/pipeline/plan/quote-call.ts'
import { imageEdits, images } from '#data-plane/wires/images/index.ts'
import { pngOf } from '#dev/provider/media/png.ts'
import { AppError } from '#shared/errors.ts'
import { microUsd, picoUsd } from '#shared/money.ts'
import { canServe } from '#shared/protocols/index.ts'
import { buildModel, buildPlan, buildRaw, buildTarget } from '#test/support/bytes/build-market.ts'
import { decodePieces, headOf, offerOf } from '#test/support/bytes/wire-bytes.ts'

const TABLE = { tokens: { low: { '1024x1024': 272 } }, partial: 100, source: 'a guide', date: '2025-12-01' }
const MODEL = buildModel({
  id: 'gpt-image-1',
  endpoints: ['image', 'image-edit'],
  outputModalities: ['image'],
  imageOutput: TABLE,
  parameters: ['size', 'quality', 'stream', 'partial_images'],
})
const PRICES = { input: picoUsd(5_000_000n), imageOutput: picoUsd(40_000_000n) }
const TARGET = { ...buildTarget(MODEL), price: { version: 'test', unitPrices: PRICES } }
const PLAN: ModelPlan = buildPlan({ target: TARGET })
const RECEIPT = {
  chargeMicro: microUsd(7n),
  listMicro: microUsd(9n),
  listInputMicro: microUsd(0n),
  usage: { input: 2, imageOutput: 472 },
}
const ASKED = {
  model: 'gpt-image-1',
  prompt: 'a cat',
  quality: 'low',
  size: '1024x1024',
  stream: true,
  partial_images: 2,
}
/** A picture whose event is longer than any event of a text. */
const large = Buffer.concat([pngOf('a cat', 16, 16), Buffer.alloc(1_100_000, 7)]).toString('base64')
const small = pngOf('a cat', 16, 16).toString('base64')
const USAGE = { input_tokens: 2, output_tokens: 472, total_tokens: 474 }

const read = (body: object = {}, wire = images) => wire.read(buildRaw(JSON.stringify({ ...ASKED, ...body })))

/** An event as OpenAI sends it. */
function event(kind: string, members: object, family = 'image_generation'): string {
  const type = `${family}.${kind}`
  const told = { created_at: 1, size: '1024x1024', quality: 'low', background: 'opaque', output_format: 'png' }
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...told, ...members })}\n\n`
}

const partial = (index: number, b64_json = small) => event('partial_image', { b64_json, partial_image_index: index })
const completed = (b64_json = small, usage: object | undefined = USAGE) => event('completed', { b64_json, usage })

function decode(text: string, cuts: readonly number[] = [], plan = PLAN): { decoder: Decoder; out: string } {
  const decoder = read().decoder(plan)
  expect(decoder.head?.takes?.(headOf(text.startsWith('{') ? 'application/json' : 'text/event-stream'))).toBe(true)
  return { decoder, out: decodePieces(decoder, text, cuts) }
}

/** The data of the events in a text, each under its own name. */
function dataOf(text: string): Record<string, unknown>[] {
  const blocks = text.split('\n\n').filter((block) => block !== '')
  return blocks.map((block) => {
    const [name, data = ''] = block.split('\ndata: ')
    const body: Record<string, unknown> = JSON.parse(data)
    expect(name).toBe(`event: ${body['type']}`)
    return body
  })
}

const meter = (decoder: Decoder) => meterUsage(PLAN, read().demand, decoder.ending())

describe('a streamed picture', () => {
  const answer = partial(0) + partial(1, large) + completed(large)

  it('shows partial pictures at once, and keeps the whole one for its cost', () => {
    const { decoder, out } = decode(answer)
    expect(dataOf(out).map(({ b64_json, partial_image_index: index }) => [index, b64_json])).toEqual([
      [0, small],
      [1, large],
    ])
    expect([decoder.failure(), decoder.isDone(), decoder.contentPieces()]).toEqual([undefined, true, 3])
    const [last] = dataOf(decoder.finish(RECEIPT))
    expect(last).toMatchObject({
      type: 'image_generation.completed',
      b64_json: large,
      size: '1024x1024',
      output_format: 'png',
      usage: { input_tokens: 2, output_tokens: 472, cost: 0.000007, buyer_cost_micro: 7 },
    })
  })

  it('is the same wherever its bytes are cut', () => {
    const text = partial(0) + completed()
    const whole = decode(text)
    for (let cut = 1; cut < text.length; cut += 7) expect(decode(text, [cut]).out).toBe(whole.out)
    expect(decode(text.replaceAll('\n', '\r\n')).out).toBe(whole.out)
  })

  it('is named by the requested path, whatever the provider calls it', () => {
    const source = { image: `data:image/png;base64,${small}` }
    const text = event('partial_image', { b64_json: small }, 'image_edit') + completed()
    for (const [wire, family] of [
      [images, 'image_generation'],
      [imageEdits, 'image_edit'],
    ] as const) {
      const decoder = read(source, wire).decoder(PLAN)
      decoder.head?.takes?.(headOf('text/event-stream'))
      const types = dataOf(decodePieces(decoder, text, []) + decoder.finish(RECEIPT)).map(({ type }) => type)
      expect(types).toEqual([`${family}.partial_image`, `${family}.completed`])
    }
  })

  it('shows no more partial pictures than requested', () => {
    const { out, decoder } = decode(partial(0) + partial(1) + partial(2) + completed())
    expect([dataOf(out).length, decoder.ending().reported.partialImages]).toEqual([2, 2])
  })

  it('comes in one event where a provider answers whole', () => {
    const { decoder, out } = decode(JSON.stringify({ data: [{ b64_json: small }], usage: USAGE }))
    expect([out, decoder.failure(), meter(decoder).usage]).toEqual(['', undefined, { input: 2, imageOutput: 472 }])
    expect(dataOf(decoder.finish(RECEIPT))).toMatchObject([{ type: 'image_generation.completed', b64_json: small }])
  })

  it.each([
    ['no end', partial(0), 'cut'],
    ['an end mark before its end', `${partial(0)}data: [DONE]\n\n`, 'cut'],
    ['an event without its image', event('completed', {}), 'malformed'],
    ['an address in place of bytes', event('completed', { url: 'https://a.example/a.png' }), 'malformed'],
    ['data that is not an image', completed(Buffer.from('<html><body>no').toString('base64')), 'malformed'],
    ['malformed base64', completed(`${small.slice(0, 40)}*${small}`), 'malformed'],
    ['an error event', 'data: {"type":"error","code":"server_error","message":"no"}\n\n', 'error'],
    ['an error object', 'data: {"error":{"message":"no"}}\n\n', 'error'],
    ['a whole answer without a picture', '{"data":[]}', 'malformed'],
    ['a whole answer that is not a list', '{"data":3}', 'malformed'],
  ])('with %s has failed', (_name, text, kind) => {
    const { decoder } = decode(text)
    expect([decoder.failure()?.kind, decoder.isDone()]).toEqual([kind, false])
  })

  it('skips unknown events', () => {
    const { decoder } = decode(`data: {"type":"image_generation.queued"}\n\n: a comment\n\n${completed()}`)
    expect([decoder.failure(), decoder.isDone()]).toEqual([undefined, true])
  })
})

describe('the bill of a streamed picture', () => {
  it('is that of the provider’s figures, at most the picture and its partial ones', () => {
    expect(meter(decode(partial(0) + completed()).decoder)).toMatchObject({
      usage: { input: 2, imageOutput: 472 },
      source: 'reported',
      anomalies: [],
    })
    const more = { ...USAGE, output_tokens: 473 }
    expect(meter(decode(completed(small, more)).decoder)).toMatchObject({
      usage: { imageOutput: 472 },
      anomalies: ['output_clipped'],
    })
    // Text beside a picture is no anomaly of the seller. Its tokens count up to the bound.
    const spoken = (image_tokens: number) => ({ ...USAGE, output_tokens: 480, output_tokens_details: { image_tokens } })
    const bills = [272, 472, 473].map((pictures) => meter(decode(completed(small, spoken(pictures))).decoder))
    expect(bills.map(({ usage, anomalies }) => [usage, anomalies])).toEqual([
      [{ input: 2, imageOutput: 272, output: 200 }, ['unpriced_output']],
      [{ input: 2, imageOutput: 472 }, []],
      [{ input: 2, imageOutput: 472 }, ['output_clipped']],
    ])
  })

  it('is that of the catalogue where the provider reports none: the picture, and each delivered partial one', () => {
    const { usage, source } = meter(decode(partial(0) + completed(small, {})).decoder)
    expect([usage, source]).toEqual([{ input: 2, imageOutput: 272 + 100 }, 'estimated'])
  })

  it('is that of the partial pictures where the whole one never arrived', () => {
    expect(meter(decode(partial(0)).decoder).usage).toEqual({ input: 2, imageOutput: 100 })
    const pieces = { version: 'test', unitPrices: { images: picoUsd(40_000_000_000n) } }
    const plan = { ...PLAN, target: { ...TARGET, price: pieces } }
    const { decoder } = decode(partial(0), [], plan)
    expect(meterUsage(plan, read().demand, decoder.ending()).usage).toEqual({})
  })

  it('has a hold for all partial pictures that may come', () => {
    const bound = (body: object) => boundOf(TARGET, read(body).demand).outputTokens
    expect([bound({}), bound({ partial_images: 0 }), bound({ partial_images: 3 })]).toEqual([472, 272, 572])
  })
})

describe('a request for a streamed picture', () => {
  it.each([
    ['n of 2', { n: 2 }, 'n'],
    ['4 partial pictures', { partial_images: 4 }, 'partial_images'],
    ['half a partial picture', { partial_images: 0.5 }, 'partial_images'],
    ['a string of partial pictures', { partial_images: '1' }, 'partial_images'],
    ['partial pictures without a stream', { stream: false }, 'partial_images'],
    ['a stream that is not a boolean', { stream: 'true' }, 'stream'],
  ])('is refused with %s', (_name, body, param) => {
    expect(() => read(body)).toThrow(expect.objectContaining({ code: 'invalid_request', param }))
  })

  it('is sent in the provider’s own members, and names unsupported ones', () => {
    const asked = (body: object) => {
      const { body: text, accept, adaptedParams } = read(body).encode(PLAN)
      return [JSON.parse(text), accept, adaptedParams]
    }
    const { prompt, quality, size } = ASKED
    const sent = { model: 'vendor-gpt-5-mini', prompt, quality, size, stream: true, partial_images: 2 }
    expect(asked({})).toEqual([sent, 'text/event-stream', []])
    expect(asked({ response_format: 'url' })).toEqual([sent, 'text/event-stream', ['response_format']])
  })

  it('goes to models that show partial pictures, and to protocols that have them', () => {
    const refused = (model: Partial<typeof MODEL>) => () =>
      checkCapability(buildTarget({ ...MODEL, ...model }), read().demand)
    expect(refused({})).not.toThrow()
    for (const model of [{ parameters: [] }, { endpoints: ['chat', 'image'] as ('chat' | 'image')[] }]) {
      expect(refused(model)).toThrow(AppError)
      expect(refused(model)).toThrow(expect.objectContaining({ code: 'model_capability_unsupported', param: 'stream' }))
    }
    const able = (['openai', 'together', 'fal', 'messages'] as const).filter((apiFormat) =>
      canServe(offerOf({ apiFormat }), 'image-stream'),
    )
    expect(able).toEqual(['openai'])
  })
})
