import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Decoder, Receipt } from '#data-plane/call.ts'
import { transcriptions } from '#data-plane/wires/transcriptions/index.ts'
import { AppError } from '#shared/errors.ts'
import { microUsd } from '#shared/money.ts'
import { buildModel, buildPlan, buildTarget } from '#test/support/bytes/build-market.ts'
import type { FormFields } from '#test/support/bytes/transcription-form.ts'
import { TONE, transcriptionForm } from '#test/support/bytes/transcription-form.ts'
import { headOf } from '#test/support/bytes/wire-bytes.ts'

const RECEIPT: Receipt = {
  chargeMicro: microUsd(45),
  listMicro: microUsd(75),
  listInputMicro: microUsd(0),
  usage: { milliseconds: 7_500 },
}
const USAGE = {
  type: 'duration',
  seconds: 7.5,
  cost: 0.000045,
  buyer_cost_micro: 45,
  cost_details: {
    upstream_inference_cost: 0.000075,
    upstream_inference_prompt_cost: 0,
    upstream_inference_completions_cost: 0.000075,
  },
}
const read = (...fields: FormFields) => transcriptions.read(transcriptionForm([['model', 'm'], ...fields]))

function codeOf(fields: FormFields, audio?: Buffer): string | undefined {
  try {
    transcriptions.read(transcriptionForm(fields, audio))
    return undefined
  } catch (error) {
    return error instanceof AppError ? `${error.code} ${error.param ?? ''}` : String(error)
  }
}

function decode(
  fields: FormFields,
  type: string,
  ...bytes: readonly (string | Buffer)[]
): { decoder: Decoder; sent: string } {
  const decoder = read(...fields).decoder(buildPlan())
  expect(decoder.head?.takes?.(headOf(type))).toBe(true)
  let sent = ''
  for (const chunk of bytes) if (!decoder.isDone()) sent += decoder.push(Buffer.from(chunk))
  decoder.end()
  return { decoder, sent }
}

describe('a transcription request', () => {
  it.each<[FormFields, string]>([
    [[], 'invalid_request model'],
    [[['model', '']], 'invalid_request model'],
    [
      [
        ['model', 'a'],
        ['model', 'b'],
      ],
      'invalid_request model',
    ],
    [[['response_format', 'docx']], 'invalid_request response_format'],
    [[['stream', '1']], 'invalid_request stream'],
    [
      [
        ['stream', 'true'],
        ['response_format', 'verbose_json'],
      ],
      'invalid_request stream',
    ],
    [[['temperature', '2']], 'invalid_request temperature'],
    [[['prompt', 'x'.repeat(2_049)]], 'invalid_request prompt'],
    [[['temperature', '-0']], 'invalid_request temperature'],
    [[['language', 'en\u0000']], 'invalid_request language'],
    [[['timestamp_granularities[]', 'word']], 'invalid_request timestamp_granularities'],
    [
      [
        ['timestamp_granularities[]', 'year'],
        ['response_format', 'verbose_json'],
      ],
      'invalid_request timestamp_granularities',
    ],
    [[['min_discount_pct', '05']], 'invalid_minimum_discount min_discount_pct'],
    [[['allow_untrusted', 'yes']], 'invalid_request allow_untrusted'],
    [[['provider', '{"only":']], 'invalid_request provider'],
  ])('%j is %s', (fields, code) => {
    const hasModel = fields.some(([name]) => name === 'model') || fields.length === 0
    expect(codeOf(hasModel ? fields : [['model', 'm'], ...fields])).toBe(code)
  })

  it('has a file, of at most 25 MB', () => {
    expect(codeOf([['model', 'm']], Buffer.alloc(0))).toBe('invalid_request file')
    expect(codeOf([['model', 'm']], Buffer.alloc(26_214_401))).toBe('request_too_large file')
  })

  it.each(['format', 'responseFormat', 'output_format'])('accepts other names: %s, and a list without []', (name) => {
    const formOf = (fields: FormFields) => {
      const { pieces = [] } = read(...fields).encode(buildPlan())
      return Buffer.concat([...pieces]).toString('latin1')
    }
    const ours: FormFields = [
      ['timestamp_granularities[]', 'word'],
      ['timestamp_granularities[]', 'segment'],
      ['response_format', 'verbose_json'],
    ]
    const theirs: FormFields = [
      ['timestamp_granularities', '["word","segment"]'],
      [name, 'verbose_json'],
    ]
    expect(formOf(theirs)).toBe(formOf(ours))
    expect(formOf(theirs)).toContain('name="timestamp_granularities[]"\r\n\r\nsegment')
    expect(
      codeOf([
        ['model', 'm'],
        ['extra_body', '{"language":"en"}'],
      ]),
    ).toBe('invalid_request extra_body')
  })

  it('has a hold for the length of its audio, and is routed by its form', () => {
    const { demand } = read(
      ['provider[]', 'a'],
      ['provider[]', 'b'],
      ['providers_blocked', '["c"]'],
      ['min_discount_pct', '20'],
      ['allow_untrusted', 'true'],
    )
    expect(demand.bounds.units).toEqual({ most: { milliseconds: 7_500 }, least: { milliseconds: 7_500 } })
    expect(demand.hints).toMatchObject({ only: [['a', 'b']], blocked: ['c'], allowsUntrusted: true })
    expect(demand.floorPercents).toContain(20)
  })

  it('is sent with its own bytes under the seller’s name, without routing members and unknown ones', () => {
    const target = buildTarget(buildModel({ parameters: ['language'], features: ['streaming'] }))
    const call = read(
      ['language', 'en'],
      ['prompt', 'p'],
      ['provider', 'a'],
      ['include[]', 'ü'],
      ['url', 'x'],
      ['stream', 'true'],
    )
    const request = call.encode(buildPlan({ target }))
    const text = Buffer.concat([...(request.pieces ?? [])]).toString('utf8')
    const names = [...text.matchAll(/name="([^"]+)"/g)].map((match) => match[1])
    expect(names).toEqual(['model', 'language', 'include[]', 'response_format', 'stream', 'file', 'talk.wav'])
    expect(text).toContain('vendor-gpt-5-mini')
    expect([...(request.pieces ?? [])].some((piece) => piece.equals(TONE))).toBe(true)
    expect(request.adaptedParams).toEqual(['prompt', 'url'])
  })

  it('requests a text as JSON, and no stream from a model without streams', () => {
    const sent = (...fields: FormFields) => {
      const request = read(...fields).encode(buildPlan({ target: buildTarget(buildModel({ features: [] })) }))
      return { text: Buffer.concat([...(request.pieces ?? [])]).toString('latin1'), adapted: request.adaptedParams }
    }
    expect(sent(['response_format', 'text']).text).toContain('name="response_format"\r\n\r\njson\r\n')
    expect(sent(['stream', 'true'])).toMatchObject({ adapted: ['stream'] })
    expect(sent(['stream', 'true']).text).not.toContain('"stream"')
  })
})

describe('a whole transcript', () => {
  const JSON_TYPE = 'application/json'
  const PLAIN = 'text/plain; charset=utf-8'
  const heard = JSON.stringify({ text: 'Grüße.', usage: { type: 'duration', seconds: 8 }, host: 'h' })

  it('in JSON is the same however its bytes are cut, with its time and cost', () => {
    const bytes = Buffer.from(heard)
    for (let cut = 0; cut < bytes.length; cut++) {
      const { decoder } = decode([], JSON_TYPE, bytes.subarray(0, cut), bytes.subarray(cut))
      expect(JSON.parse(decoder.finish(RECEIPT))).toEqual({ text: 'Grüße.', usage: USAGE })
      expect(decoder.ending().reported).toEqual({ milliseconds: 8_000, insaneFields: 0 })
    }
  })

  it('in words and seconds keeps its known parts, in the provider’s own text', () => {
    const given = '{"task":"transcribe","language":"en","duration":"7.50","text":"a","words":[{"start":0.10}],"x":1}'
    const { decoder } = decode([['response_format', 'verbose_json']], JSON_TYPE, given)
    expect(decoder.finish(RECEIPT)).toContain('"words":[{"start":0.10}]')
    expect(decoder.finish(RECEIPT)).not.toContain('"x"')
    expect(decoder.ending().reported.milliseconds).toBe(7_500)
  })

  it('as a text or as subtitles has only the text', () => {
    const text = decode([['response_format', 'text']], JSON_TYPE, heard).decoder
    expect([text.finish(RECEIPT), text.head?.contentType?.()]).toEqual(['Grüße.\n', PLAIN])
    expect(decode([['response_format', 'text']], PLAIN, 'as it is').decoder.finish(RECEIPT)).toBe('as it is')
    const srt = '1\r\n00:00:00,000 --> 00:01:07,250\r\nGrüße\r\n'
    const cues = decode([['response_format', 'srt']], 'application/x-subrip', srt).decoder
    expect([cues.finish(RECEIPT), cues.ending().reported.milliseconds]).toEqual([srt, 67_250])
    const vtt = decode([['response_format', 'vtt']], 'text/vtt', 'WEBVTT\n\n01:00.000 --> 01:02.500\nx').decoder
    expect(vtt.ending().reported.milliseconds).toBe(62_500)
  })

  it('of silence is empty, which is no fault', () => {
    for (const [format, type, text] of [
      ['json', JSON_TYPE, '{"text":""}'],
      ['srt', PLAIN, '\n'],
      ['vtt', PLAIN, 'WEBVTT\n\n'],
    ] as const) {
      const { decoder } = decode([['response_format', format]], type, text)
      expect([decoder.failure(), decoder.ending().contentBytes]).toEqual([undefined, 0])
    }
  })

  it.each([
    ['json', JSON_TYPE, '{"text":5}', 'malformed'],
    ['json', JSON_TYPE, '{"text"', 'malformed'],
    ['json', JSON_TYPE, '{"error":{"message":"busy","code":503}}', 'error'],
    ['srt', PLAIN, 'We are busy, come back later', 'malformed'],
    ['vtt', PLAIN, Buffer.from([0xff, 0xfe]), 'malformed'],
  ] as const)('in %s of %s with the content %j is malformed: %s', (format, type, bytes, kind) => {
    expect(decode([['response_format', format]], type, bytes).decoder.failure()?.kind).toBe(kind)
  })

  it('of another type is malformed, and an impossible duration is ignored', () => {
    const takes = (format: string, type: string) =>
      read(['response_format', format]).decoder(buildPlan()).head?.takes?.(headOf(type))
    expect(takes('json', 'text/html')).toBe(false)
    expect(takes('srt', 'text/html; charset=utf-8')).toBe(false)
    expect(takes('srt', JSON_TYPE)).toBe(false)
    for (const seconds of [-1, 1e30, '1e3', {}, true]) {
      const { decoder } = decode([], JSON_TYPE, JSON.stringify({ text: 'a', usage: { seconds } }))
      expect(decoder.ending().reported).toEqual({ insaneFields: 1 })
    }
  })
})

describe('a streamed transcript', () => {
  const STREAM: FormFields = [['stream', 'true']]
  const TYPE = 'text/event-stream; charset=utf-8'
  const event = (body: object) => `event: x\nid: 7\ndata: ${JSON.stringify(body)}\n\n`
  const RECORDED = Buffer.from(
    ': hi\n\n' +
      event({ type: 'transcript.text.delta', delta: 'Grü', logprobs: [{ token: 'Grü' }], host: 'h' }) +
      event({ type: 'transcript.text.delta', delta: 'ße 👋' }) +
      event({ type: 'something.new' }) +
      event({ type: 'transcript.text.done', text: 'Grüße 👋', usage: { type: 'duration', seconds: 8 } }) +
      'data: [DONE]\n\n',
  )
  const DELTAS =
    'data: {"type":"transcript.text.delta","delta":"Grü","logprobs":[{"token":"Grü"}]}\n\n' +
    'data: {"type":"transcript.text.delta","delta":"ße 👋"}\n\n'

  it('is the same however its bytes are cut, and ends with its time and cost', () => {
    for (let cut = 0; cut < RECORDED.length; cut++) {
      const { decoder, sent } = decode(STREAM, TYPE, RECORDED.subarray(0, cut), RECORDED.subarray(cut))
      expect(decoder.failure()).toBeUndefined()
      expect(sent).toBe(DELTAS)
      expect(decoder.ending()).toMatchObject({
        reported: { milliseconds: 8_000 },
        contentBytes: 12,
        finishReason: 'stop',
      })
      const last = decoder.finish(RECEIPT)
      expect(JSON.parse(last.slice(6))).toEqual({ type: 'transcript.text.done', text: 'Grüße 👋', usage: USAGE })
    }
  })

  it('that lacks its end is cut, after content and before it', () => {
    expect(decode(STREAM, TYPE, RECORDED.subarray(0, 200)).decoder.failure()?.kind).toBe('cut')
    expect(decode(STREAM, TYPE, ': hi\n\n').decoder.failure()?.kind).toBe('cut')
  })

  it('is built from an answer that arrived whole, or from its end only', () => {
    const whole = decode(STREAM, 'application/json', '{"text":"Grüße","usage":{"seconds":8}}').decoder
    expect(whole.finish(RECEIPT)).toContain(
      'data: {"type":"transcript.text.delta","delta":"Grüße"}\n\ndata: {"type":"trans',
    )
    expect(whole.contentPieces()).toBe(1)
    const end = decode(STREAM, TYPE, event({ type: 'transcript.text.done', text: 'Grüße' }))
    expect(end.sent).toBe('data: {"type":"transcript.text.delta","delta":"Grüße"}\n\n')
  })

  it.each([
    [event({ error: { message: 'busy', code: 503 } }), 'error'],
    [event({ type: 'error', message: 'busy' }), 'error'],
    ['data: {"type"\n\n', 'malformed'],
    [`data: ${'['.repeat(100)}\n\n`, 'malformed'],
  ])('%.40j is malformed: %s', (bytes, kind) => {
    expect(decode(STREAM, TYPE, bytes).decoder.failure()?.kind).toBe(kind)
  })

  it('shows any text once, unchanged', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'binary', maxLength: 20 }), { maxLength: 10 }), (deltas) => {
        const bytes = deltas.map((delta) => event({ type: 'transcript.text.delta', delta }))
        const { sent, decoder } = decode(STREAM, TYPE, ...bytes, event({ type: 'transcript.text.done' }))
        const heard = sent.split('\n\n').slice(0, -1)
        const text = heard.map((line) => JSON.parse(line.slice(6)).delta).join('')
        const expected = Buffer.from(deltas.join('')).toString('utf8')
        expect(Buffer.from(text).toString('utf8')).toBe(expected)
        expect(JSON.parse(decoder.finish(RECEIPT).slice(6)).text).toBe(deltas.join(''))
      }),
    )
  })

  it('has a keep-alive that is not an event, and error texts', () => {
    const decoder = read(...STREAM).decoder(buildPlan())
    expect(decoder.keepAlive()).toBe(': keep-alive\n')
    expect(JSON.parse(decoder.fail(new AppError('upstream_error')).slice(6)).error.code).toBe('upstream_error')
  })
})
