import { describe, expect, it } from 'vitest'
import type { ModelPlan } from '#data-plane/call.ts'
import { chat } from '#data-plane/wires/chat/index.ts'
import { AppError } from '#shared/errors.ts'
import { buildModel, buildPlan, buildRaw, buildTarget } from '#test/support/bytes/build-market.ts'
import { ROUTING_MEMBERS } from '#test/support/bytes/wire-bytes.ts'
import { processorMs } from '#test/support/run/processor-ms.ts'

const GOOD = { model: 'gpt-5-mini', messages: [{ role: 'user', content: 'hi' }] }

const read = (body: object) => chat.read(buildRaw(JSON.stringify(body)))

function codeOf(body: string | Buffer, headers: Record<string, string> = {}): string | undefined {
  try {
    chat.read(buildRaw(body, headers))
    return undefined
  } catch (error) {
    return error instanceof AppError ? error.code : String(error)
  }
}

function forwarded(body: object, plan: Partial<ModelPlan> = {}) {
  const { body: text, adaptedParams } = read(body).encode(buildPlan(plan))
  return { text, json: JSON.parse(text), adaptedParams }
}

const TOOL = { type: 'function', function: { name: 'f' } }
const said = (content: unknown) => ({ role: 'user', content })
const imageOf = (url: string | undefined) => ({ type: 'image_url', image_url: { url } })

function manyBiases(): Record<string, number> {
  return Object.fromEntries(Array.from({ length: 100_000 }, (_, token) => [String(token), 1]))
}

describe('a chat request', () => {
  it.each([
    ['a brace', '{', 'invalid_json'],
    ['nothing', '', 'invalid_json'],
    ['a trailing comma', '{"model":"m",}', 'invalid_json'],
    ['NaN', '{"model":NaN}', 'invalid_json'],
    ['a list', '[]', 'invalid_request'],
    ['__proto__ at the top level', `{"__proto__":{},${JSON.stringify(GOOD).slice(1)}`, 'invalid_request'],
    ['a string of 10 MB', { ...GOOD, messages: [said('x'.repeat(10_000_000))] }, 'request_too_large'],
    ['a model that is not a string', { ...GOOD, model: 5 }, 'invalid_request'],
    ['a message of null', { ...GOOD, messages: [null] }, 'invalid_request'],
    ['an unknown role', { ...GOOD, messages: [{ role: 'root', content: 'x' }] }, 'invalid_request'],
    ['content of the wrong type', { ...GOOD, messages: [said({})] }, 'invalid_request'],
    ['half a token', { ...GOOD, max_tokens: 1.5 }, 'invalid_request'],
    ['a limit as a string', { ...GOOD, max_tokens: '5' }, 'invalid_request'],
    ['a limit past safe integers', { ...GOOD, max_tokens: 2 ** 53 }, 'invalid_request'],
    ['an empty stop', { ...GOOD, stop: '' }, 'invalid_request'],
    ['stream as a number', { ...GOOD, stream: 1 }, 'invalid_request'],
    ['a thousand choices', { ...GOOD, n: 1_000 }, 'invalid_request'],
    ['tools that are not a list', { ...GOOD, tools: {} }, 'invalid_request'],
    ['10,000 tools', { ...GOOD, tools: Array.from({ length: 10_000 }, () => TOOL) }, 'invalid_request'],
    ['a missing schema', { ...GOOD, response_format: { type: 'json_schema' } }, 'invalid_request'],
    ['an unknown effort', { ...GOOD, reasoning_effort: 5 }, 'invalid_request'],
    ['100,000 biases', { ...GOOD, logit_bias: manyBiases() }, 'invalid_request'],
    ['metadata of a megabyte', { ...GOOD, metadata: { a: 'x'.repeat(1_000_000) } }, 'invalid_request'],
    ['a user id of a megabyte', { ...GOOD, user: 'u'.repeat(1_000_000) }, 'invalid_request'],
    ['an image without a URL', { ...GOOD, messages: [said([imageOf(undefined)])] }, 'invalid_request'],
    [
      'an image by its id alone',
      { ...GOOD, messages: [said([{ type: 'image_url', image_url: { file_id: 'file_1' } }])] },
      'unresolvable_file_reference',
    ],
    [
      "the same as a part of an assistant's turn",
      { ...GOOD, messages: [said([{ type: 'image_file', image_file: { file_id: 'file_1' } }])] },
      'unresolvable_file_reference',
    ],
  ])('%s is refused', (_name, body, code) => {
    expect(codeOf(typeof body === 'string' ? body : JSON.stringify(body))).toBe(code)
  })

  it('is refused at a depth of 100,000, at once', () => {
    expect(processorMs(() => expect(codeOf('['.repeat(100_000))).toBe('invalid_json'))).toBeLessThan(1_000)
  })

  it('reads null as an absent limit', () => {
    expect(read({ ...GOOD, max_tokens: null }).demand.bounds.maxOutputTokens).toBeUndefined()
  })

  it('accepts odd but harmless input: names, schemas in circles, lone surrogates', () => {
    const tool =
      '{"type":"function","function":{"name":"a name with spaces","parameters":' +
      '{"__proto__":{"x":1},"$defs":{"node":{"$ref":"#/$defs/node"}},"$ref":"#/$defs/node"}}}'
    const text = `{"tools":[${tool}],"stop":"\\u0000","user":"\\ud800","max_tokens":5,${JSON.stringify(GOOD).slice(1)}`
    const { body } = chat
      .read(buildRaw(text))
      .encode(buildPlan({ target: buildTarget(buildModel({ parameters: [] })) }))
    expect(body).toContain(tool)
    expect(body).toContain('"stop":"\\u0000"')
    expect(body).toContain('"user":"\\ud800"')
    expect(Reflect.get({}, 'x')).toBeUndefined()
  })

  it('leaves a choice of a missing tool to the provider', () => {
    const tool_choice = { type: 'function', function: { name: 'nobody' } }
    expect(forwarded({ ...GOOD, tools: [TOOL], tool_choice }).json.tool_choice).toEqual(tool_choice)
  })

  it('forwards URLs of images unchanged: the market opens none', () => {
    for (const url of [
      'http://a.example/x.png',
      'ftp://a.example/x.png',
      'data:text/plain;base64,AAAA',
      'javascript:1',
    ]) {
      const messages = [said([imageOf(url)])]
      expect(forwarded({ ...GOOD, messages }).json.messages).toEqual(messages)
    }
  })

  it('is refused in another encoding, and read after a byte order mark', () => {
    expect(codeOf(Buffer.from(JSON.stringify(GOOD), 'utf16le'))).toBe('invalid_json')
    expect(codeOf(Buffer.from([0x7b, 0xff, 0x7d]))).toBe('invalid_json')
    expect(codeOf(Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), Buffer.from(JSON.stringify(GOOD))]))).toBeUndefined()
  })

  it('counts bytes as the bound of tokens, without inlined images', () => {
    const image = { type: 'image_url', image_url: { url: `data:image/png;base64,${'A'.repeat(5_000_000)}` } }
    const body = {
      ...GOOD,
      max_tokens: 7,
      n: 2,
      messages: [{ role: 'user', content: [{ type: 'text', text: 'ü' }, image] }],
    }
    const { bounds, needs } = read(body).demand
    expect(needs.imageInput).toBe(true)
    expect(bounds).toMatchObject({ inputImages: 1, maxOutputTokens: 7, choices: 2 })
    expect(bounds.inputTokens).toBeLessThan(400)
  })

  it('forwards the messages byte for byte, and numbers in their written form', () => {
    const messages = '[ {"role":"user","content":"caf\\u00e9 \\ud800 \\u0000 1"} ]'
    const raw = buildRaw(
      `{"messages": ${messages} ,"model":"x","temperature":1.0,"thinking_budget":12345678901234567890}`,
    )
    const { body } = chat.read(raw).encode(buildPlan())
    expect(body).toContain(`"messages":${messages}`)
    expect(body).toContain('"temperature":1.0')
    expect(body).toContain('"thinking_budget":12345678901234567890')
  })

  it.each([
    ['plain', '', 'a'],
    ['after other characters', '', 'ü🌍'],
    ['after a byte order mark', '\ufeff', 'ü'],
  ])('is forwarded in its received bytes where images make it large, %s', (_name, mark, letters) => {
    const image = imageOf(`data:image/png;base64,${'A'.repeat(2_000_000)}`)
    const messages = JSON.stringify([said([{ type: 'text', text: letters }, image])])
    const text = `${mark}{"user":"${letters}","messages": ${messages} ,"model":"x","thinking_budget":1.0}`
    const { body, pieces: sentPieces = [] } = chat.read(buildRaw(text)).encode(buildPlan())
    const pieces = [...sentPieces]
    expect([body, pieces.length]).toEqual(['', 3])
    const sent = Buffer.concat(pieces).toString('utf8')
    expect(sent.endsWith(`"user":"${letters}","messages":${messages},"thinking_budget":1.0,"max_tokens":50}`)).toBe(
      true,
    )
    expect(JSON.parse(sent).model).toBe('vendor-gpt-5-mini')
  })

  it('names the seller’s model, the limit and the stream options, and hides the routing members', () => {
    const { json } = forwarded({
      ...GOOD,
      stream: true,
      stream_options: { include_usage: false },
      ...ROUTING_MEMBERS,
    })
    expect(json).toEqual({
      model: 'vendor-gpt-5-mini',
      messages: GOOD.messages,
      max_tokens: 50,
      stream: true,
      stream_options: { include_usage: true },
    })
  })

  it('uses the last of duplicate members, for the price and for the provider alike', () => {
    const raw = buildRaw(
      '{"model":"a","max_tokens":9,"messages":[{"role":"user","content":"1"}],"model":"b","max_tokens":7}',
    )
    const call = chat.read(raw)
    expect(call.demand).toMatchObject({ model: 'b', bounds: { maxOutputTokens: 7 } })
    expect(call.encode(buildPlan()).body.match(/max_tokens/g)).toHaveLength(1)
  })

  it('leaves out unsupported members, and names them', () => {
    const tools = [{ type: 'function', function: { name: 'f', parameters: { __proto__: null, type: 'object' } } }]
    const body = {
      ...GOOD,
      max_tokens: 50,
      tools,
      tool_choice: 'auto',
      reasoning_effort: 'low',
      include_reasoning: true,
      top_p: 1,
    }
    const kept = forwarded(body)
    expect(kept.adaptedParams).toEqual(['reasoning_effort', 'include_reasoning', 'top_p'])
    const model = buildModel({ parameters: ['top_p', 'reasoning_effort', 'include_reasoning'] })
    const stripped = forwarded(body, { target: buildTarget(model) })
    expect(stripped.adaptedParams).toEqual(['tools', 'tool_choice', 'include_reasoning'])
    expect(new Set(Object.keys(stripped.json))).toEqual(
      new Set(['max_tokens', 'messages', 'model', 'reasoning_effort', 'top_p']),
    )
  })

  it('forwards function tools only', () => {
    const fn = { type: 'function', function: { name: 'f' } }
    const { json, adaptedParams } = forwarded({ ...GOOD, max_tokens: 50, tools: [{ type: 'computer_use' }, fn] })
    expect(json.tools).toEqual([fn])
    expect(adaptedParams).toEqual(['tools', 'tools.computer_use'])
  })

  it('names the limit that it set when none was given', () => {
    expect(forwarded(GOOD).adaptedParams).toEqual(['max_tokens'])
    expect(forwarded({ ...GOOD, max_completion_tokens: 80 }).json).toMatchObject({ max_completion_tokens: 50 })
  })
})
