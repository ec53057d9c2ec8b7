import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { chat } from '#data-plane/wires/chat/index.ts'
import { messages } from '#data-plane/wires/messages/index.ts'
import { responses } from '#data-plane/wires/responses/index.ts'
import type { ProtocolName } from '#shared/protocols/index.ts'
import { chatCodecOf, PROTOCOL_NAMES, protocolOf } from '#shared/protocols/index.ts'
import { buildModel, buildOffer, buildPlan, buildRaw, buildTarget } from '#test/support/bytes/build-market.ts'
import { RECEIPT } from '#test/support/bytes/message-answers.ts'
import { decodePieces, offerOf } from '#test/support/bytes/wire-bytes.ts'

const WIRES = { chat, messages, responses }
type Kind = keyof typeof WIRES
const KINDS = Object.keys(WIRES) as Kind[]
const SPOKEN = PROTOCOL_NAMES.filter((apiFormat) => protocolOf({ apiFormat }).chat !== undefined)

/** Requests with a schema and a call's input in which a number has exactly this written form. */
const ASKS: Readonly<Record<Kind, (digits: string) => string>> = {
  chat: (digits) => `{"model":"gpt-5-mini","max_tokens":50,
    "tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{"id":{"const":${digits}}}}}}],
    "messages":[{"role":"user","content":"Is ${digits}, prime?"},
      {"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{\\"id\\": ${digits}}"}}]},
      {"role":"tool","tool_call_id":"c","content":"{\\"id\\": ${digits}}"}]}`,
  messages: (digits) => `{"model":"gpt-5-mini","max_tokens":50,
    "tools":[{"name":"f","input_schema":{"type":"object","properties":{"id":{"const":${digits}}}}}],
    "messages":[{"role":"user","content":"Is ${digits}, prime?"},
      {"role":"assistant","content":[{"type":"tool_use","id":"c","name":"f","input":{"id": ${digits}, "all":[${digits},1]}}]},
      {"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"{\\"id\\": ${digits}}"}]}]}`,
  responses: (digits) => `{"model":"gpt-5-mini","max_output_tokens":50,
    "tools":[{"type":"function","name":"f","strict":false,"parameters":{"type":"object","properties":{"id":{"const":${digits}}}}}],
    "input":[{"role":"user","content":"Is ${digits}, prime?"},
      {"type":"function_call","call_id":"c","name":"f","arguments":"{\\"id\\": ${digits}}"},
      {"type":"function_call_output","call_id":"c","output":"{\\"id\\": ${digits}}"}]}`,
}

function sent(kind: Kind, text: string, apiFormat: ProtocolName): string {
  const target = buildTarget(buildModel({ parameters: [], features: ['tools', 'streaming'] }))
  const plan = buildPlan({ offer: offerOf(buildOffer({ apiFormat })), target })
  return WIRES[kind].read(buildRaw(text)).encode(plan).body
}

/** Every run of 15 digits or more in a text. */
const longRuns = (text: string) => text.match(/-?\d{15,}/g) ?? []

const CASES = KINDS.flatMap((kind) => SPOKEN.map((apiFormat) => [kind, apiFormat] as const))

describe('an integer past 2^53', () => {
  it.each(CASES)('keeps its digits from %s to a seller of %s', (kind, apiFormat) => {
    expect(chatCodecOf({ apiFormat })).toBeDefined()
    for (const digits of ['1234567890123456789', '-9007199254740993', '9007199254740993000000']) {
      const runs = longRuns(sent(kind, ASKS[kind](digits), apiFormat))
      // The schema, the request, the input and the result.
      expect(runs.length).toBeGreaterThanOrEqual(4)
      expect(new Set(runs)).toEqual(new Set([digits]))
    }
  })

  it('leaves a request without one unchanged, and a text that looks like its mark', () => {
    for (const [kind, apiFormat] of CASES) {
      const plain = sent(kind, ASKS[kind]('7'), apiFormat)
      const looks = ASKS[kind]('7').replace('prime?', 'prime? \\"int-0-12\\", [1234567890123456789 ]')
      expect(sent(kind, looks, apiFormat)).toContain('1234567890123456789 ]')
      expect(plain).not.toContain('int-')
    }
  })

  it('keeps its digits anywhere in an input', () => {
    const digits = fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n }).map(String)
    const leaf = fc.oneof(
      digits,
      fc.string().map((text) => JSON.stringify(text)),
      fc.constant('null'),
    )
    const list = fc.array(leaf, { maxLength: 5 }).map((all) => `[${all.join(' , ')}]`)
    const value = fc.oneof(
      leaf,
      list,
      fc.array(list, { maxLength: 3 }).map((all) => `{"a":${`[${all.join(',')}]`}}`),
    )
    fc.assert(
      fc.property(value, (given) => {
        const ask = `{"model":"m","max_tokens":5,"messages":[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"f","input":{"v":${given}}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"y"}]}],"tools":[{"name":"f","input_schema":{"type":"object"}}]}`
        const { messages: turns } = JSON.parse(sent('messages', ask, 'openai'))
        const input: string = turns[1].tool_calls[0].function.arguments
        expect(JSON.parse(quoted(input))).toEqual(JSON.parse(quoted(`{"v":${given}}`)))
      }),
    )
  })
})

describe('an integer past 2^53 in the input of a call that Claude makes', () => {
  const input = '{"id": 1234567890123456789,"all":[-9007199254740993]}'
  const block = `{"type":"tool_use","id":"c","name":"f","input":${input}}`
  const whole = `{"type":"message","role":"assistant","content":[${block}],"stop_reason":"tool_use"}`
  const streamed = [
    '{"type":"message_start","message":{"usage":{"input_tokens":1}}}',
    `{"type":"content_block_start","index":0,"content_block":${block}}`,
    '{"type":"content_block_stop","index":0}',
    '{"type":"message_delta","delta":{"stop_reason":"tool_use"}}',
    '{"type":"message_stop"}',
  ]
    .map((data) => `data: ${data}\n\n`)
    .join('')

  it.each(KINDS)('keeps its digits on %s, whole, and in a stream whose calls begin with their input', (kind) => {
    for (const apiFormat of ['messages', 'vertexclaude'] as const) {
      for (const isStreamed of [false, true]) {
        const ask = { ...JSON.parse(ASKS[kind]('7')), stream: isStreamed }
        const decoder = WIRES[kind]
          .read(buildRaw(JSON.stringify(ask)))
          .decoder(buildPlan({ offer: offerOf({ apiFormat }) }))
        const out = decodePieces(decoder, isStreamed ? streamed : whole, []) + decoder.finish(RECEIPT)
        const runs = new Set(longRuns(out))
        expect(runs).toEqual(new Set(['1234567890123456789', '-9007199254740993']))
      }
    }
  })
})

/** Numbers as strings, so that JSON's reader keeps them. */
const quoted = (json: string) =>
  json.replace(/"(?:[^"\\]|\\.)*"|-?\d+/g, (one) => (one.startsWith('"') ? one : `"#${one}"`))
