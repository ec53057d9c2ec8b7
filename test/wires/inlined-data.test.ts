import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { chat } from '#data-plane/wires/chat/index.ts'
import { fullLength, putInlinedBack, readAroundInlined } from '#data-plane/wires/inlined-data.ts'
import { countTokens } from '#data-plane/wires/messages/count-tokens.ts'
import { messages } from '#data-plane/wires/messages/index.ts'
import { responses } from '#data-plane/wires/responses/index.ts'
import { buildPlan, buildRaw } from '#test/support/bytes/build-market.ts'
import { offerOf } from '#test/support/bytes/wire-bytes.ts'

const SPAN_BYTES = 16_384
const LARGE_BYTES = 1_048_576
const SENT = { path: '/', contentType: '', accept: '', adaptedParams: [] }

/** Fills the placeholders of a text with data. */
function filled(body: string, bytes: Buffer): Buffer {
  return Buffer.concat([...(putInlinedBack({ ...SENT, body }, { bytes, hasStandIns: true }).pieces ?? [])])
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return 'no JSON'
  }
}

const base64 = fc
  .tuple(fc.constantFrom('A', 'x/+', 'q-_/'), fc.integer({ min: SPAN_BYTES - 2, max: SPAN_BYTES + 9 }))
  .map(([letters, length]) => letters.repeat(length).slice(0, length))
const head = fc.constantFrom('', 'data:image/png;base64,', 'data:text/plain;base64,', 'data:a,b;base64,', 'data:,"\\;')
const tail = fc.constantFrom('', '=', '"', '\\', '\n', 'ü', '\ud800')
const held = fc.tuple(head, base64, fc.oneof(fc.constant(''), tail)).map((parts) => parts.join(''))
const holder = fc.constantFrom('url', 'image_url', 'data', 'file_data')
const name = fc.oneof(holder, fc.constantFrom('text', 'messages', 'a"b', '\\'))
const { value } = fc.letrec((tie) => ({
  value: fc.oneof({ maxDepth: 4 }, held, fc.string({ unit: 'binary' }), fc.double(), tie('list'), tie('object')),
  list: fc.array(tie('value'), { maxLength: 3 }),
  object: fc.dictionary(name, tie('value'), { maxKeys: 4 }),
}))
const messageList = fc.array(fc.oneof(fc.dictionary(holder, held, { maxKeys: 2 }), value), { maxLength: 4 })

/** A request with some client's own formatting. */
const request = fc
  .tuple(messageList, value, fc.constantFrom(0, 2), fc.boolean(), fc.constantFrom('', '\ufeff'))
  .map(([said, rest, indent, escapesSlashes, mark]) => {
    const text = JSON.stringify({ data: rest, messages: said, model: 'm', url: rest }, null, indent)
    return mark + (escapesSlashes ? text.replaceAll('/', '\\/') : text)
  })

describe('a request read around its inlined data', () => {
  it('equals the whole reading, byte for byte and in its meaning', () => {
    let found = 0
    fc.assert(
      fc.property(request, (text) => {
        const bytes = Buffer.from(text)
        const around = readAroundInlined(bytes, 'messages')
        if (around === undefined) return
        found++
        expect(filled(around, bytes).equals(bytes)).toBe(true)
        const meant = JSON.stringify(JSON.parse(around.replace('\ufeff', '')))
        const plain: unknown = JSON.parse(bytes.toString('utf8').replace('\ufeff', ''))
        // The texts are compared by hand, because a difference of such length cannot be read.
        expect(JSON.stringify(JSON.parse(filled(meant, bytes).toString('utf8'))) === JSON.stringify(plain)).toBe(true)
      }),
      { numRuns: 200 },
    )
    expect(found).toBeGreaterThan(20)
  })

  it('is refused as JSON wherever a byte is lost, inserted or changed', () => {
    const part = { image_url: { url: `data:image/png;base64,${'A'.repeat(SPAN_BYTES)}` } }
    const whole = JSON.stringify({ model: 'm', messages: [{ content: [part, { text: 'a\\"b' }, part] }] })
    const places = fc.oneof(fc.nat(120), fc.nat(whole.length))
    const change = fc.tuple(places, fc.nat(1), fc.constantFrom('', '"', '\\', ',', ':', '{', ']', '\n', '\u0000', 'ü'))
    fc.assert(
      fc.property(fc.array(change, { minLength: 1, maxLength: 2 }), (changes) => {
        let text = whole
        for (const [at, lost, put] of changes) text = text.slice(0, at) + put + text.slice(at + lost)
        const bytes = Buffer.from(text)
        const around = readAroundInlined(bytes, 'messages') ?? text
        const [read, plain] = [parsed(around), parsed(text)]
        const again = filled(JSON.stringify(read), bytes).toString('utf8')
        expect(again === JSON.stringify(plain)).toBe(true)
      }),
      { numRuns: 500 },
    )
  })

  it('is measured with its data', () => {
    const url = `data:image/png;base64,${'A'.repeat(SPAN_BYTES)}`
    const around = readAroundInlined(Buffer.from(JSON.stringify({ input: [{ url }] })), 'input') ?? ''
    expect(around.length).toBeLessThan(100)
    expect(fullLength(JSON.parse(around).input[0].url)).toBe(url.length)
    expect(fullLength('\uffff')).toBe(1)
  })

  it.each([
    ['as it is', '\uffff0:5\uffff'],
    ['escaped', '\\uFFFF0:5\\uffff'],
  ])('is read whole where its sender writes a placeholder, %s', (_name, forged) => {
    const url = `data:image/png;base64,${'A'.repeat(LARGE_BYTES)}`
    const content = [
      { type: 'text', text: 'FORGED' },
      { type: 'image_url', image_url: { url } },
    ]
    const text = JSON.stringify({ model: 'm', messages: [{ role: 'user', content }] }).replace('FORGED', forged)
    expect(readAroundInlined(Buffer.from(text), 'messages')).toBeUndefined()
    const { body, pieces } = chat.read(buildRaw(text)).encode(buildPlan())
    expect([pieces, body.includes(forged)]).toEqual([undefined, true])
  })

  it('counts as the text it is where its sender writes a placeholder: that makes no call less expensive', () => {
    const forged = 'data:image/png;base64,\uffff0:999999999\uffff'
    const image = (url: string) => ({ type: 'image_url', image_url: { url } })
    const boundOf = (...content: object[]) =>
      chat.read(buildRaw(JSON.stringify({ model: 'm', messages: [{ role: 'user', content }] }))).demand.bounds
        .inputTokens
    const text = { type: 'text', text: 'x'.repeat(10_000) }
    expect(boundOf(text, image(forged))).toBeGreaterThan(10_000)
  })
})

/** Data of each kind that a message of that wire may contain, and similar texts. `DATA` marks their place. */
const CONVERSATIONS = {
  chat: {
    model: 'm',
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'ü DATA' },
          { type: 'text', text: 'DATA' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,DATA', detail: 'low' } },
          { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,DATA' } },
        ],
      },
    ],
  },
  messages: {
    model: 'm',
    max_tokens: 9,
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'DATA' },
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'DATA' } },
        ],
      },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'b', input: { data: 'DATA', n: 1 } }] },
      {
        role: 'user',
        content: [
          {
            type: 'tool_result',
            tool_use_id: 'a',
            content: [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'DATA' } }],
          },
          { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'DATA' } },
        ],
      },
    ],
  },
  responses: {
    model: 'm',
    input: [
      {
        role: 'user',
        content: [
          { type: 'input_text', text: 'DATA' },
          { type: 'input_image', image_url: 'data:image/png;base64,DATA' },
          { type: 'input_file', filename: 'a.pdf', file_data: 'DATA' },
          { type: 'input_file', filename: 'a.txt', file_data: 'data:text/plain;base64,DATA' },
        ],
      },
    ],
  },
} as const
const DATA = Buffer.from('some data '.repeat(50_000)).toString('base64')

function conversationOf(name: string): object {
  return name === 'chat' ? CONVERSATIONS.chat : name === 'messages' ? CONVERSATIONS.messages : CONVERSATIONS.responses
}

describe.each([chat, messages, responses])('a large body on the $name wire', (wire) => {
  const text = JSON.stringify({ ...conversationOf(wire.name), x_note: 'abc' }).replaceAll('DATA', DATA)
  const around = wire.read(buildRaw(`\ufeff${text}`))
  // A text that looks like a placeholder makes the body be read whole. The replaced text has as many bytes as the
  // placeholder.
  const whole = wire.read(buildRaw(`\ufeff${text}`.replace('abc', '\uffff')))

  it.each(['openai', 'messages'] as const)('sends a seller of %s the same as when it is read whole', (apiFormat) => {
    const plan = buildPlan({ offer: offerOf({ apiFormat }) })
    const { body, pieces: sent = [], adaptedParams } = around.encode(plan)
    const pieces = [...sent]
    const plain = whole.encode(plan)
    expect([body, pieces.length > 2, adaptedParams]).toEqual(['', true, plain.adaptedParams])
    expect(Buffer.concat(pieces).toString('utf8') === plain.body.replace('\uffff', 'abc')).toBe(true)
  })

  it('buys the same', () => {
    expect(around.demand).toEqual(whole.demand)
  })
})

it('counts the same tokens around inlined data', () => {
  const text = JSON.stringify({ ...CONVERSATIONS.messages, x_note: 'abc' }).replaceAll('DATA', DATA)
  const [around, whole] = [text, text.replace('abc', '\uffff')].map((body) => countTokens(buildRaw(body)).tokens)
  // The edges of a placeholder are not ASCII.
  expect(Math.abs((around ?? 0) - (whole ?? 0))).toBeLessThan(5)
  expect(around).toBeGreaterThan(DATA.length / 4)
})
