import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { chat } from '#data-plane/wires/chat/index.ts'
import { completions } from '#data-plane/wires/completions/index.ts'
import { embeddings } from '#data-plane/wires/embeddings/index.ts'
import { messages } from '#data-plane/wires/messages/index.ts'
import { responses } from '#data-plane/wires/responses/index.ts'
import { speech } from '#data-plane/wires/speech/index.ts'
import { transcriptions } from '#data-plane/wires/transcriptions/index.ts'
import { video } from '#data-plane/wires/video/index.ts'
import { AppError } from '#shared/errors.ts'
import { buildRaw } from '#test/support/bytes/build-market.ts'

/** Members by which gateways accept another address or credential. */
const ELSEWHERE = [
  'api_base',
  'base_url',
  'baseURL',
  'api_key',
  'apiKey',
  'API-KEY',
  'organization',
  'azure_endpoint',
  'endpoint',
  'api_version',
  'extra_headers',
  'headers',
  'aws_access_key_id',
  'aws_region_name',
  'vertex_credentials',
  'azure_ad_token',
  'watsonx_url',
  'litellm_params',
  'custom_llm_provider',
  'authorization',
  'mcp_servers',
] as const

const USER = [{ role: 'user', content: 'hi' }]
const WIRES = [
  ['chat', chat, { messages: USER }],
  ['completions', completions, { prompt: 'hi' }],
  ['responses', responses, { input: 'hi' }],
  ['embeddings', embeddings, { input: 'hi' }],
  ['messages', messages, { messages: USER, max_tokens: 5 }],
  ['speech', speech, { input: 'hi', voice: 'alloy' }],
  ['video jobs', video, { prompt: 'hi' }],
] as const

const SCHEMA = { type: 'object', properties: { api_key: { type: 'string' }, base_url: { type: 'string' } } }

function refusal(read: () => unknown): unknown {
  try {
    read()
    return undefined
  } catch (error) {
    return error instanceof AppError ? [error.code, error.param, error.message] : error
  }
}

const said = (param: string) => ['invalid_request', param, expect.stringContaining(`${param} names another address`)]

describe('a member that names another place or key', () => {
  it.each(WIRES)('is refused on %s by its name, at the top level and nested', (_, wire, ask) => {
    for (const name of ELSEWHERE) {
      const nested = (rest: object) =>
        refusal(() => wire.read(buildRaw(JSON.stringify({ model: 'm', ...ask, ...rest }))))
      expect(nested({ [name]: 'x' })).toEqual(said(name))
      expect(nested({ extra_body: { deep: [{ [name]: { x: 1 } }] } })).toEqual(said(`extra_body.deep[0].${name}`))
      expect(nested({ extra_body: JSON.stringify({ [name]: 'x' }) })).toEqual(said(`extra_body.${name}`))
      expect(nested({ [name]: null })).toBeUndefined()
    }
  })

  it.each(WIRES)('differs from other members that %s does not know', (_, wire, ask) => {
    const more = { later_member: { mode: 'fast' }, top_k: 5, metadata: { organization: 'acme' }, min_p: 0.1 }
    expect(refusal(() => wire.read(buildRaw(JSON.stringify({ model: 'm', ...ask, ...more }))))).toBeUndefined()
  })

  it('differs from the parameters of a tool or a schema', () => {
    const tools = [{ type: 'function', function: { name: 'f', parameters: SCHEMA } }]
    const response_format = { type: 'json_schema', json_schema: { name: 'f', schema: SCHEMA } }
    const body = { model: 'm', messages: USER, tools, response_format }
    expect(refusal(() => chat.read(buildRaw(JSON.stringify(body))))).toBeUndefined()
    const flat = { model: 'm', input: 'hi', tools: [{ type: 'function', name: 'f', parameters: SCHEMA }] }
    expect(refusal(() => responses.read(buildRaw(JSON.stringify(flat))))).toBeUndefined()
    const shown = { ...body, tools: [{ name: 'f', input_schema: SCHEMA }], response_format: undefined, max_tokens: 5 }
    expect(refusal(() => messages.read(buildRaw(JSON.stringify(shown))))).toBeUndefined()
  })

  it('is refused in a form, by its name and inside a field', () => {
    const send = (name: string, value: string) => {
      const parts = [
        ['model', 'm'],
        [name, value],
      ].map((part) => `--b\r\ncontent-disposition: form-data; name="${part[0]}"\r\n\r\n${part[1]}\r\n`)
      const file = `--b\r\ncontent-disposition: form-data; name="file"; filename="a.mp3"\r\n\r\n${'x'.repeat(500)}\r\n`
      const body = Buffer.from(`${file}${parts.join('')}--b--\r\n`)
      return refusal(() => transcriptions.read(buildRaw(body, { 'content-type': 'multipart/form-data; boundary=b' })))
    }
    for (const name of ELSEWHERE) {
      expect(send(name, 'x')).toEqual(said(name))
      expect(send(`extra_body[${name}]`, 'x')).toEqual(said(`extra_body[${name}]`))
      expect(send('extra_body', JSON.stringify({ [name]: 'x' }))).toEqual(said(`extra_body.${name}`))
    }
    expect(send('prompt', '{"api_key":"is a word of the talk"}')).toBeUndefined()
  })

  it('is found anywhere inside unknown members, and no depth or size causes a server error', () => {
    const shape = fc.jsonValue({ maxDepth: 6 })
    fc.assert(
      fc.property(shape, fc.constantFrom(...ELSEWHERE), (value, name) => {
        const read = (rest: unknown) =>
          refusal(() => chat.read(buildRaw(JSON.stringify({ model: 'm', messages: USER, later: rest }))))
        const told = read([value, { [name]: 5 }])
        expect(told).toEqual(['invalid_request', expect.any(String), expect.any(String)])
      }),
      { numRuns: 200 },
    )
    const deep = `${'['.repeat(60_000)}${']'.repeat(0)}`
    const body = (later: unknown) => buildRaw(JSON.stringify({ model: 'm', messages: USER, later }))
    expect(refusal(() => chat.read(body(deep)))).toBeUndefined()
    const wide = Array.from({ length: 50_000 }, () => ({}))
    expect(refusal(() => chat.read(body(wide)))).toEqual(['invalid_request', undefined, expect.any(String)])
  })
})
