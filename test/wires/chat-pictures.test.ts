import { describe, expect, it } from 'vitest'
import type { Decoder, ModelPlan } from '#data-plane/call.ts'
import { meterUsage } from '#data-plane/pipeline/meter/meter-usage.ts'
import { checkCapability } from '#data-plane/pipeline/plan/check-capability.ts'
import { chat } from '#data-plane/wires/chat/index.ts'
import { pngOf } from '#dev/provider/media/png.ts'
import { microUsd, picoUsd } from '#shared/money.ts'
import { buildModel, buildPlan, buildRaw, buildTarget } from '#test/support/bytes/build-market.ts'
import { chatFrame, decodePieces } from '#test/support/bytes/wire-bytes.ts'

const TABLE = { tokens: { '*': { '*': 1_290 } }, source: 'a price list', date: '2025-12-01' }
const MODEL = buildModel({
  id: 'draws',
  endpoints: ['chat', 'image'],
  outputModalities: ['image', 'text'],
  imageOutput: TABLE,
  parameters: ['max_tokens', 'tools'],
})
const PRICES = { input: picoUsd(300_000n), output: picoUsd(2_500_000n), imageOutput: picoUsd(30_000_000n) }
const PLAN: ModelPlan = buildPlan({
  target: { ...buildTarget(MODEL), price: { version: 'test', unitPrices: PRICES } },
  maxOutputTokens: 8_192,
})
const ASKED = {
  model: 'draws',
  max_tokens: 8_192,
  modalities: ['image', 'text'],
  messages: [{ role: 'user', content: 'Draw a cat.' }],
}
const RECEIPT = {
  chargeMicro: microUsd(7n),
  listMicro: microUsd(9n),
  listInputMicro: microUsd(0n),
  usage: { input: 9, output: 5, imageOutput: 1_290 },
}
/** Longer than any event of a text, with slashes in its base64. */
const picture = `data:image/png;base64,${Buffer.concat([pngOf('a cat', 16, 16), Buffer.alloc(1_200_000, 0xff)]).toString('base64')}`
const WORDS = 'Here is the picture.'
const images = [{ type: 'image_url', image_url: { url: picture } }]
const USAGE = { prompt_tokens: 9, completion_tokens: 1_295, completion_tokens_details: { image_tokens: 1_290 } }

const read = (body: object = {}) => chat.read(buildRaw(JSON.stringify({ ...ASKED, ...body })))

function whole(usage: object | undefined, message: object = { images }): Decoder {
  const decoder = read().decoder(PLAN)
  const choice = { index: 0, finish_reason: 'stop', message: { role: 'assistant', content: WORDS, ...message } }
  const text = JSON.stringify({ id: 'x', choices: [choice], usage }).replaceAll('/', '\\/')
  decodePieces(decoder, text, [100, 70_000])
  expect(decoder.failure()).toBeUndefined()
  return decoder
}

function streamed(usage: object | undefined): { decoder: Decoder; out: string } {
  const decoder = read({ stream: true }).decoder(PLAN)
  const frames = [
    chatFrame({ delta: { role: 'assistant', content: WORDS } }),
    chatFrame({ delta: { content: '', images } }),
    chatFrame({ delta: {}, finish_reason: 'stop' }),
    chatFrame(null, { usage }),
  ]
  const out = decodePieces(decoder, `${frames.join('')}data: [DONE]\n\n`, [100, 70_000])
  expect(decoder.failure()).toBeUndefined()
  return { decoder, out }
}

const meter = (decoder: Decoder) => meterUsage(PLAN, read().demand, decoder.ending())

describe('a picture in a chat', () => {
  it('comes unchanged in a whole answer, in the pieces in which it arrived', () => {
    const pieces = whole(USAGE).whole?.pieces(RECEIPT) ?? []
    const answer = JSON.parse(Buffer.concat([...pieces]).toString())
    expect(answer.choices[0].message).toEqual({ role: 'assistant', content: WORDS, images })
    expect(answer.usage).toMatchObject({
      completion_tokens: 1_295,
      completion_tokens_details: { image_tokens: 1_290 },
      buyer_cost_micro: 7,
    })
    // Pieces that the market adds contain none of the data.
    expect(
      Math.max(
        ...pieces.filter((piece) => !/^[\w+/\\=]*$/.test(piece.toString('latin1', 0, 99))).map(({ length }) => length),
      ),
    ).toBeLessThan(2_000)
  })

  it('comes in a delta of a stream', () => {
    const { out } = streamed(USAGE)
    const frames = out.split('\n\n').filter((frame) => frame !== '')
    const deltas = frames.map((frame) => JSON.parse(frame.slice(6)).choices[0].delta)
    expect(deltas).toEqual([{ role: 'assistant', content: WORDS }, { images }])
  })

  it.each([
    ['whole', whole(USAGE)],
    ['streamed', streamed(USAGE).decoder],
  ])('has tokens of a class of its own, %s', (_name, decoder) => {
    expect(meter(decoder)).toMatchObject({
      usage: { input: 9, output: 5, imageOutput: 1_290 },
      source: 'reported',
      anomalies: [],
    })
  })

  it.each([
    ['whole', whole(undefined)],
    ['streamed', streamed(undefined).decoder],
  ])('is counted by the catalogue where its provider reports no usage, not by its bytes, %s', (_name, decoder) => {
    const { usage, source } = meter(decoder)
    // Six tokens for the twenty characters of the text and one byte of the picture.
    expect([usage.imageOutput, usage.output, source]).toEqual([1_290, 6, 'estimated'])
  })

  it('is counted apart by the catalogue where its provider reports one figure for all', () => {
    expect(meter(whole({ prompt_tokens: 9, completion_tokens: 1_300 })).usage).toEqual({
      input: 9,
      output: 10,
      imageOutput: 1_290,
    })
  })

  it('adds at most as many tokens as the catalogue allows, and an answer without a picture has none', () => {
    const lies = { prompt_tokens: 9, completion_tokens: 8_000, completion_tokens_details: { image_tokens: 7_000 } }
    // The text, a byte for the picture, and the part of an answer that may count without bytes.
    expect(meter(whole(lies))).toMatchObject({
      usage: { imageOutput: 1_290, output: 20 + 1 + 64 },
      anomalies: ['output_clipped'],
    })
    expect(meter(whole(USAGE, {})).usage).toEqual({ input: 9, output: 20 + 64 })
  })
})

describe('a request for a picture in a chat', () => {
  it('is forwarded with its modalities, to sellers of the OpenAI protocol', () => {
    const { demand, encode } = read()
    expect(demand.needs).toMatchObject({ openAiFormat: true, picturesParam: 'modalities' })
    expect(JSON.parse(encode(PLAN).body)).toMatchObject({ modalities: ['image', 'text'] })
    expect(read({ modalities: ['text'] }).demand.needs.openAiFormat).toBe(false)
  })

  it('is refused for a model that makes none', () => {
    const check = () => checkCapability(buildTarget(), read().demand)
    expect(check).toThrow(expect.objectContaining({ code: 'model_capability_unsupported', param: 'modalities' }))
    expect(() => checkCapability(buildTarget(MODEL), read().demand)).not.toThrow()
  })

  it.each([
    ['a word in place of a list', { modalities: 'image' }],
    ['an empty list', { modalities: [] }],
    ['a number in the list', { modalities: ['image', 3] }],
    ['custom tools', { tools: [{ type: 'custom', custom: { name: 'shell' } }] }],
  ])('is refused with %s', (_name, body) => {
    expect(() => read(body)).toThrow(expect.objectContaining({ code: 'invalid_request', param: 'modalities' }))
  })
})
