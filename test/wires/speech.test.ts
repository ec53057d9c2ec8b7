import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { billUsage } from '#data-plane/pipeline/meter/bill-usage.ts'
import { meterUsage } from '#data-plane/pipeline/meter/meter-usage.ts'
import { boundOf } from '#data-plane/pipeline/plan/quote-call.ts'
import { speech } from '#data-plane/wires/speech/index.ts'
import { AppError } from '#shared/errors.ts'
import { microUsd, picoUsd } from '#shared/money.ts'
import { buildModel, buildPlan, buildRaw, buildTarget } from '#test/support/bytes/build-market.ts'
import { headOf } from '#test/support/bytes/wire-bytes.ts'

const GOOD = { model: 'm', voice: 'alloy', input: 'Hello.' }
const read = (body: object) => speech.read(buildRaw(JSON.stringify(body)))

function codeOf(body: object): string | undefined {
  try {
    read(body)
    return undefined
  } catch (error) {
    return error instanceof AppError ? `${error.code} ${error.param ?? ''}` : String(error)
  }
}

describe('a speech request', () => {
  it.each([
    [{ ...GOOD, model: '' }, 'invalid_request model'],
    [{ ...GOOD, input: '' }, 'invalid_request input'],
    [{ ...GOOD, input: ['a'] }, 'invalid_request input'],
    [{ ...GOOD, input: 'x'.repeat(16_385) }, 'invalid_request input'],
    [{ ...GOOD, voice: '' }, 'invalid_request voice'],
    [{ ...GOOD, voice: {} }, 'invalid_request voice'],
    [{ ...GOOD, speed: 5 }, 'invalid_request speed'],
    [{ ...GOOD, speed: '1' }, 'invalid_request speed'],
    [{ ...GOOD, response_format: 'midi' }, 'invalid_request response_format'],
    [{ ...GOOD, response_format: 'constructor' }, 'invalid_request response_format'],
    [{ ...GOOD, instructions: 5 }, 'invalid_request instructions'],
    [{ ...GOOD, stream_format: 'frames' }, 'invalid_request stream_format'],
    [{ ...GOOD, stream: 'yes' }, 'invalid_request stream'],
    [{ ...GOOD, min_discount_pct: -1 }, 'invalid_minimum_discount min_discount_pct'],
  ])('%.60j is %s', (body, code) => {
    expect(codeOf(body)).toBe(code)
  })

  it('is sold by the character, and a surrogate pair counts as one', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', minLength: 1, maxLength: 200 }), (input) => {
        const { bounds } = read({ ...GOOD, input }).demand
        expect(bounds.speech?.characters).toBe(Array.from(input).length)
        const characters = Array.from(input).length
        expect(bounds.units).toEqual({ most: { characters }, least: { characters } })
      }),
    )
  })

  it('is forwarded unchanged, without routing members and unsupported ones', () => {
    const target = buildTarget(buildModel({ parameters: ['voice', 'speed'] }))
    const body = { ...GOOD, provider: 'a', speed: 1.5, instructions: 'Whisper.', stream_format: 'audio' }
    const request = read(body).encode(buildPlan({ target }))
    expect(request.path).toBe('/audio/speech')
    expect(JSON.parse(request.body)).toEqual({
      model: 'vendor-gpt-5-mini',
      voice: 'alloy',
      input: 'Hello.',
      speed: 1.5,
    })
    expect(request.adaptedParams).toEqual(['instructions'])
  })
})

describe('a speech request without a voice', () => {
  it.each([undefined, null])('gets a default voice for %j, and the report of changes names the member', (voice) => {
    const { body, adaptedParams } = read({ ...GOOD, voice }).encode(buildPlan())
    expect(JSON.parse(body)).toEqual({ model: 'vendor-gpt-5-mini', input: 'Hello.', voice: 'alloy' })
    expect(adaptedParams).toEqual(['voice'])
    expect(read(GOOD).encode(buildPlan()).adaptedParams).toEqual([])
  })
})

const BY_TOKENS = {
  ...buildTarget(buildModel({ parameters: ['voice', 'speed', 'instructions'], maxCompletionTokens: 16_384 })),
  price: { version: 'test', unitPrices: { input: picoUsd(600_000n), audioOutput: picoUsd(12_000_000n) } },
}

describe('a voice that is billed by its tokens', () => {
  const plan = buildPlan({ target: BY_TOKENS })
  const event = (type: string, members: object) =>
    `data: ${JSON.stringify({ type: `speech.audio.${type}`, ...members })}\n\n`
  const SOUND = Buffer.from([0, 255, 13, 10])
  const USAGE = { input_tokens: 10, output_tokens: 200, total_tokens: 210 }
  const EVENTS = event('delta', { audio: SOUND.toString('base64') }) + event('done', { usage: USAGE })
  const boundOfText = (more: object) => boundOf(BY_TOKENS, read({ ...GOOD, ...more }).demand)
  const chargeOf = (more: object, text: string, type = 'text/event-stream') => {
    const request = read({ ...GOOD, ...more })
    const decoder = request.decoder(plan)
    expect(decoder.head?.takes?.(headOf(type))).toBe(true)
    decoder.push(Buffer.from(text))
    decoder.end()
    const metered = meterUsage(plan, request.demand, decoder.ending())
    return { ...metered, micro: Number(billUsage(BY_TOKENS.price, metered).whole) / 1e6 }
  }

  it('is requested in events, because only they report the tokens, with text and pace', () => {
    const asked = { ...GOOD, speed: 0.25, instructions: 'Whisper.' }
    expect(JSON.parse(read(asked).encode(plan).body)).toEqual({
      ...asked,
      model: 'vendor-gpt-5-mini',
      stream_format: 'sse',
    })
  })

  it("is charged by text in and sound out, by its provider's report", () => {
    expect(chargeOf({}, EVENTS)).toMatchObject({
      usage: { input: 10, audioOutput: 200 },
      source: 'reported',
      micro: 2_406,
    })
    const silent = chargeOf({}, 'abc', 'audio/mpeg')
    expect(silent).toMatchObject({ source: 'estimated', anomalies: ['usage_missing'] })
    expect(silent.usage.audioOutput).toBeGreaterThan(0)
    expect(chargeOf({}, event('done', { usage: USAGE })).usage).toEqual({})
  })

  it('has a hold for every token that text, pace and length can cause, and is charged no more', () => {
    const plain = boundOfText({})
    expect(boundOfText({ speed: 0.25 }).outputTokens).toBe(4 * plain.outputTokens)
    expect(boundOfText({ speed: 4 }).outputTokens).toBe(plain.outputTokens)
    expect(boundOfText({ instructions: 'Slowly.' })).toMatchObject({
      outputTokens: 16_384,
      inputTokens: plain.inputTokens + 'Slowly.'.length,
    })
    expect(boundOfText({ input: 'x'.repeat(1_000) }).outputTokens).toBe(12_500)
    const vast = event('delta', { audio: 'AAAA' }) + event('done', { usage: { input_tokens: 9e6, output_tokens: 9e6 } })
    const clipped = chargeOf({}, vast)
    expect(clipped.anomalies).toEqual(['input_clipped', 'output_clipped'])
    expect(BigInt(Math.round(clipped.micro * 1e6))).toBe(plain.bill)
  })

  it('reaches the buyer as sound, or in events with its tokens and its cost', () => {
    const sound = read(GOOD).decoder(plan)
    expect(sound.head?.takes?.(headOf('text/event-stream'))).toBe(true)
    expect(sound.head?.contentType?.()).toBe('audio/mpeg')
    // An event may be cut anywhere.
    const pieces = [...EVENTS].map((letter) => sound.push(Buffer.from(letter))).filter((piece) => piece.length > 0)
    expect(Buffer.concat(pieces.map((piece) => Buffer.from(piece)))).toEqual(SOUND)
    expect([sound.isDone(), sound.failure(), sound.head?.isPriced?.()]).toEqual([true, undefined, false])
    const events = read({ ...GOOD, stream_format: 'sse' }).decoder(plan)
    events.head?.takes?.(headOf('text/event-stream'))
    expect(String(events.push(Buffer.from(EVENTS)))).toContain(SOUND.toString('base64'))
    const usage = { input: 10, audioOutput: 200 }
    const receipt = { chargeMicro: microUsd(2), listMicro: microUsd(3), listInputMicro: microUsd(1), usage }
    expect(events.finish(receipt)).toContain('"type":"tokens","input_tokens":10,"output_tokens":200,"total_tokens":210')
  })

  it('that breaks off, or fails in an event, is a failure', () => {
    const cut = read(GOOD).decoder(plan)
    cut.head?.takes?.(headOf('text/event-stream'))
    cut.push(Buffer.from(event('delta', { audio: 'AAAA' })))
    cut.end()
    expect(cut.failure()).toBeDefined()
    for (const bad of ['data: {"error":{"message":"no"}}\n\n', event('delta', { audio: '<html>' })]) {
      const failed = read(GOOD).decoder(plan)
      failed.head?.takes?.(headOf('text/event-stream'))
      failed.push(Buffer.from(bad))
      expect([failed.failure() !== undefined, failed.contentPieces()]).toEqual([true, 0])
    }
  })
})

describe('an answer in sound', () => {
  const decoder = (format = 'opus') => read({ ...GOOD, response_format: format }).decoder(buildPlan())

  it.each([
    ['audio/mpeg', 'audio/mpeg'],
    ['audio/pcm; rate=24000; channels=1; evil="x"', 'audio/pcm; rate=24000; channels=1'],
    ['application/octet-stream', 'audio/ogg'],
  ])('of the type %s is sent as %s', (given, sent) => {
    const sound = decoder()
    expect(sound.head?.takes?.(headOf(given))).toBe(true)
    expect(sound.head?.contentType?.()).toBe(sent)
  })

  it.each(['application/json', 'text/html; charset=utf-8', 'text/event-stream', '', 'video/mp4', 'audio/x-unheard-of'])(
    'of the type %s is refused',
    (given) => expect(decoder().head?.takes?.(headOf(given))).toBe(false),
  )

  it('is passed on unchanged, and has no text', () => {
    const sound = decoder()
    const bytes = Buffer.from([0, 255, 13, 10])
    expect(sound.push(Buffer.alloc(0))).toBe('')
    expect(sound.contentPieces()).toBe(0)
    expect(sound.push(bytes)).toBe(bytes)
    sound.end()
    expect(sound.contentPieces()).toBe(1)
    expect(sound.ending()).toMatchObject({ contentBytes: 4, finishReason: null })
    expect([sound.keepAlive(), sound.fail(new AppError('upstream_error'))]).toEqual(['', ''])
  })
})

describe('an answer in sound, requested in events', () => {
  const decoder = () => read({ ...GOOD, stream_format: 'sse' }).decoder(buildPlan())
  const eventsOf = (text: string) =>
    text
      .split('\n\n')
      .filter(Boolean)
      .map((part) => JSON.parse(part.slice(6)))

  it('has each piece in an event of its own, and its cost at the end', () => {
    const events = decoder()
    expect([events.head?.takes?.(headOf('audio/mpeg')), events.head?.takes?.(headOf('text/event-stream'))]).toEqual([
      true,
      false,
    ])
    expect(events.head?.contentType?.()).toBe('text/event-stream; charset=utf-8')
    const pieces = [Buffer.from([0, 255]), Buffer.from([13, 10, 1])]
    const sent = pieces.map((piece) => String(events.push(piece))).join('')
    events.end()
    expect([events.contentPieces(), events.ending().contentBytes]).toEqual([2, 5])
    const receipt = {
      chargeMicro: microUsd(54),
      listMicro: microUsd(90),
      listInputMicro: microUsd(0),
      usage: { characters: 6 },
    }
    const all = eventsOf(sent + events.finish(receipt))
    expect(Buffer.concat(all.slice(0, 2).map(({ audio }) => Buffer.from(audio, 'base64')))).toEqual(
      Buffer.concat(pieces),
    )
    expect(all.map(({ type }) => type)).toEqual(['speech.audio.delta', 'speech.audio.delta', 'speech.audio.done'])
    expect(all[2].usage).toEqual({
      type: 'characters',
      characters: 6,
      cost: 0.000054,
      buyer_cost_micro: 54,
      cost_details: {
        upstream_inference_cost: 0.00009,
        upstream_inference_prompt_cost: 0,
        upstream_inference_completions_cost: 0.00009,
      },
    })
  })

  it('has an event for a failure and a comment for a silence', () => {
    const [failed] = eventsOf(decoder().fail(new AppError('upstream_error')))
    expect(failed.error.code).toBe('upstream_error')
    expect(decoder().keepAlive()).toBe(': keep-alive\n')
    expect(decoder().push(Buffer.alloc(0))).toBe('')
  })
})
