import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { classifyRefusal } from '#data-plane/pipeline/attempt/classify-refusal.ts'
import { classifyBadAnswer, classifyStatus } from '#data-plane/upstream/classify.ts'
import { readErrorBody } from '#shared/protocols/answers/error-body.ts'
import { PROTOCOL_NAMES, protocolOf } from '#shared/protocols/index.ts'
import { readProviderWait, readWait } from '#shared/retry-after.ts'
import { buildOffer } from '#test/support/bytes/build-market.ts'
import { RECORDED_REFUSALS } from '#test/support/bytes/recorded-refusals.ts'

/** A provider that never repeats its key or the request. */
const NOBODY = { holdsKey: () => false, requestText: () => '' }
const NEUTRAL: ReadonlySet<string> = new Set(['bad_request', 'context_length', 'too_large', 'wrong_protocol'])
const textOf = (body: unknown) => (typeof body === 'string' ? body : JSON.stringify(body))
const CHATS = PROTOCOL_NAMES.flatMap((apiFormat) => {
  const { chat } = protocolOf({ apiFormat })
  return chat === undefined ? [] : [{ apiFormat, chat }]
})

describe('a recorded refusal', () => {
  const outside = RECORDED_REFUSALS.map(([of, status, body, right]) => ({ of, status, body, right }))

  it.each(outside)('of $of with status $status has the right cause in every protocol', ({ status, body, right }) => {
    for (const apiFormat of PROTOCOL_NAMES) {
      const head = { status, contentType: 'application/json', headers: {}, retryAfterMs: undefined }
      const offer = { ...buildOffer({ apiFormat }), id: 'ofr_1', servedBy: 'marketplace' } as const
      const failure = classifyRefusal(offer, head, textOf(body), NOBODY)
      expect([apiFormat, failure.errorClass, failure.fault === 'offer']).toEqual([
        apiFormat,
        right,
        !NEUTRAL.has(right),
      ])
    }
  })

  const inside = RECORDED_REFUSALS.flatMap(([of, , body, , right]) =>
    right === undefined ? [] : [{ of, body, right }],
  )

  it.each(inside)(
    'of $of has the right cause in an answer of status 200, whole and as any event of a stream',
    ({ body, right }) => {
      for (const { apiFormat, chat } of CHATS) {
        const whole = chat.reader(false)
        whole.push(Buffer.from(textOf(body)))
        whole.end()
        const first = chat.reader(true)
        first.push(Buffer.from(`event: error\ndata: ${textOf(body)}\n\n`))
        const later = chat.reader(true)
        later.push(Buffer.from(OPENINGS[apiFormat] ?? ''))
        later.push(Buffer.from(`data: ${textOf(body)}\n\n`))
        for (const reader of [whole, first, later]) {
          const bad = reader.failure()
          expect(bad && classifyBadAnswer(bad, NOBODY).errorClass, apiFormat).toBe(right)
        }
      }
    },
  )
})

const CHAT_OPENING = 'data: {"choices":[{"index":0,"delta":{"role":"assistant","content":"Hel"}}]}\n\n'
const OPENINGS: Readonly<Record<string, string>> = {
  openai: CHAT_OPENING,
  together: CHAT_OPENING,
  messages:
    'data: {"type":"message_start","message":{"usage":{"input_tokens":1}}}\n\ndata: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":"Hel"}}\n\n',
}

const PHRASES = RECORDED_REFUSALS.flatMap(([, , body]) => {
  const { message } = readErrorBody(textOf(body))
  return message === '' ? [] : [message]
})
const CODES = [
  'insufficient_quota',
  'API_KEY_INVALID',
  'billing_error',
  'authentication_error',
  'Arrearage',
  'google:per_day',
]

describe('a buyer who wants to back an offer off', () => {
  const hostile = fc.record({
    phrase: fc.constantFrom(...PHRASES),
    code: fc.constantFrom(...CODES),
    before: fc.constantFrom('', "Invalid value: '", 'messages.0.content: ', 'unknown variant `', '"', '\n', 'Error: '),
    isEscaped: fc.boolean(),
  })

  it('cannot pass words of the request off as the provider’s own, wherever the provider repeats them', () => {
    fc.assert(
      fc.property(hostile, fc.constantFrom(400, 404, 422, 413), ({ phrase, code, before, isEscaped }, status) => {
        const wanted = `${phrase} {"error":{"code":"${code}","type":"${code}"}}`
        const sent = JSON.stringify({ messages: [{ role: 'user', content: wanted }] })
        const asked = isEscaped ? sent.replace(/[a-z]/g, (letter) => `\\u00${letter.charCodeAt(0).toString(16)}`) : sent
        const speaker = { holdsKey: () => false, requestText: () => asked }
        for (const body of [
          { error: { message: `${before}${wanted}`, type: 'invalid_request_error', param: 'messages' } },
          {
            detail: [
              {
                type: 'string_type',
                loc: ['body', 'messages'],
                msg: `${before}${wanted}`,
                input: { code, error: { code } },
              },
            ],
          },
          { type: 'error', error: { type: 'invalid_request_error', message: `${before}${wanted}` } },
          {
            error: {
              message: 'bad',
              type: 'invalid_request_error',
              metadata: { raw: JSON.stringify({ error: { code } }), code },
            },
          },
          [{ error: { code: 400, status: 'INVALID_ARGUMENT', message: `${before}${wanted}` } }],
        ]) {
          const { fault } = classifyStatus(status === 404 ? 400 : status, readErrorBody(JSON.stringify(body)), speaker)
          expect(fault).not.toBe('offer')
        }
      }),
      { numRuns: 300 },
    )
  })

  it('cannot pass a firewall’s page off as a refused key', () => {
    const { errorClass } = classifyStatus(
      403,
      readErrorBody('<html>blocked: Incorrect API key provided</html>'),
      NOBODY,
    )
    expect(errorClass).toBe('bad_response')
  })
})

describe('the reading of a refusal', () => {
  it('never throws and never takes long, for any bytes', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.json(),
          fc.json().map((text) => `data: ${text}`),
        ),
        (text) => {
          const body = readErrorBody(text)
          expect(classifyStatus(400, body, NOBODY).fault).toBeTypeOf('string')
        },
      ),
    )
    expect(readErrorBody(`{"error":${'['.repeat(200_000)}`).codes).toEqual([])
  })

  it('puts the advice to the seller before the provider’s words', () => {
    const text = '{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}'
    expect(classifyStatus(429, readErrorBody(text), NOBODY).detail).toBe(
      'The quota of the provider account is used up. Raise the limit at the provider, or wait for its reset. (status 429: You exceeded your current quota)',
    )
  })

  it('sees a limit of tokens in this request alone only where the request is above that limit', () => {
    const message = 'This request would exceed your organization’s rate limit of 30,000 input tokens per minute.'
    const body = readErrorBody(JSON.stringify({ type: 'error', error: { type: 'rate_limit_error', message } }))
    const of = (chars: number) => ({ holdsKey: () => false, requestText: () => 'x'.repeat(chars) })
    expect(classifyStatus(429, body, of(800_000)).errorClass).toBe('too_large')
    expect(classifyStatus(429, body, of(8_000)).errorClass).toBe('rate_limited')
    const google = readErrorBody(
      '{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"m","details":[{"violations":[{"quotaMetric":"x/generate_content_free_tier_input_token_count","quotaId":"InputTokensPerMinute","quotaValue":"125000"}]}]}}',
    )
    expect(classifyStatus(429, google, of(800_000)).errorClass).toBe('too_large')
    expect(classifyStatus(429, google, of(8_000)).errorClass).toBe('rate_limited')
  })

  it('compares refusals by status, code and words, without numbers, names and ids', () => {
    const of = (status: number, message: string, code = 'invalid_value') =>
      classifyStatus(status, readErrorBody(JSON.stringify({ error: { message, code } })), NOBODY).refusal
    expect(of(400, "max_tokens 9 is above 8 of 'gpt-a' (req_1a2b)")).toBe(
      of(400, "max_tokens 70 is above 6 of 'gpt-b' (req_9z)"),
    )
    expect(of(400, 'temperature is too high')).not.toBe(of(400, 'the role is unknown'))
    expect(of(400, 'bad')).not.toBe(of(422, 'bad'))
    expect(of(400, 'bad')).not.toBe(of(400, 'bad', 'unsupported_value'))
  })
})

describe('the back-off that a provider asks for', () => {
  const now = Date.UTC(2026, 10, 27)
  const waitOf = (headers: Record<string, string>, status = 429) =>
    readProviderWait(status, headers, { now, mostMs: 600_000 })

  it.each([
    [{ 'retry-after-ms': '1500', 'retry-after': '2' }, 1_500],
    [{ 'retry-after': '7' }, 7_000],
    [{ 'x-ratelimit-reset-requests': '8.64s', 'x-ratelimit-remaining-requests': '0' }, 8_640],
    [
      {
        'x-ratelimit-reset-requests': '1s',
        'x-ratelimit-remaining-requests': '49',
        'x-ratelimit-reset-tokens': '6m0s',
        'x-ratelimit-remaining-tokens': '0',
      },
      360_000,
    ],
    [{ 'x-ratelimit-reset-tokens': '120ms' }, 120],
    [
      { 'anthropic-ratelimit-requests-reset': '2026-11-27T00:00:30Z', 'anthropic-ratelimit-requests-remaining': '0' },
      30_000,
    ],
    [{ 'x-ratelimit-reset': String(now + 5_000) }, 5_000],
    [{ 'x-ratelimit-reset': String(now / 1_000 + 9) }, 9_000],
    [{ 'ratelimit-reset': '3' }, 3_000],
    [{ 'x-ratelimit-reset-requests': '9h' }, 600_000],
    [{ 'x-ratelimit-reset-requests': 'soon' }, undefined],
    [{}, undefined],
  ])('is read of %o', (headers, ms) => {
    expect(waitOf(headers as Record<string, string>)).toBe(ms)
  })

  it('is ignored where the status is not about a limit', () => {
    expect(waitOf({ 'x-ratelimit-reset-requests': '1s' }, 401)).toBeUndefined()
  })

  it('is read from a body, too', () => {
    const details = [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '12.5s' }]
    expect(readErrorBody(JSON.stringify([{ error: { code: 429, details } }])).retryAfterMs).toBe(12_500)
    expect(readErrorBody('{"error":{"message":"Please try again in 1m2s."}}').retryAfterMs).toBe(62_000)
    expect(readErrorBody('{"error":{"message":"please try again after 3 seconds"}}').retryAfterMs).toBe(3_000)
    expect(readErrorBody('{"error":{"message":"try again in a while"}}').retryAfterMs).toBeUndefined()
    expect([readWait('6m0s'), readWait('1h1m'), readWait('12'), readWait('s')]).toEqual([
      360_000,
      3_660_000,
      undefined,
      undefined,
    ])
  })
})
