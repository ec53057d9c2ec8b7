import { Readable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import type { RawRequest } from '#data-plane/call.ts'
import { family, resource } from '#data-plane/wires/forward/index.ts'
import { findRepeatedMember } from '#data-plane/wires/forward/repeated-members.ts'
import { AppError } from '#shared/errors.ts'
import { buildPlan, buildRaw } from '#test/support/bytes/build-market.ts'
import { codeOf, H, IMAGE, P1, P2, RECORDS, RPC, RUN, rawOf, read, target } from '#test/support/bytes/forward-wire.ts'

describe('a body', () => {
  const stream = () => Readable.from([Buffer.from('{"model":"canvas-1","n":8,"webhook":"https://evil.example"}')])
  const codeOfStream = (path: string, type: string | undefined, more: Partial<RawRequest> = {}) => {
    const { 'content-type': _, ...headers } = buildRaw('').headers
    const sent = { ...headers, 'content-length': '60', ...(type === undefined ? {} : { 'content-type': type }) }
    const raw = { ...rawOf(path), headers: sent, stream: stream(), ...more }
    try {
      resource.read(raw, RECORDS)
      return 'read'
    } catch (error) {
      return error instanceof AppError ? error.code : String(error)
    }
  }

  it.each([
    undefined,
    'text/plain',
    'application/vnd.api+json',
    'application/json-patch+json',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/octet-stream',
    'application/jsonx',
  ])('that decides a price or a fence is refused unread: %s', (type) => {
    for (const path of [`${P1}/v1/images`, `${P1}/v1/videos`, P2]) {
      expect(codeOfStream(path, type)).toBe('unsupported_media_type')
    }
    const headers = { 'x-target-url': `${RUN}/studio/flux-dev` }
    expect(codeOfStream(H, type, { headers })).toBe('unsupported_media_type')
    expect(codeOfStream(`${P1}/v1/uploads/film.bin`, type, { method: 'PUT' })).toBe('read')
  })

  it('without a length and without a rule passes only where no rule counts its bytes', () => {
    expect(codeOfStream(`${P1}/v1/uploads/film.bin`, 'video/mp4', { method: 'PUT', headers: {} })).toBe('read')
  })

  it('of a GET is refused, for any content', () => {
    expect(codeOfStream(`${P1}/v1/models`, 'text/plain', { method: 'GET' })).toBe('invalid_request')
    expect(codeOf(resource, `${P1}/v1/models`, { method: 'GET', body: { webhook: 'x' } })).toBe('invalid_request')
    expect(codeOf(resource, `${P1}/v1/models`, { method: 'GET' })).toBe('read')
  })

  it('of JSON-RPC as a stream is refused', () => {
    const raw = { ...rawOf(RPC), stream: stream() }
    expect(() => family.read(raw, RECORDS)).toThrow(expect.objectContaining({ code: 'unsupported_media_type' }))
  })

  it.each([
    ['in capitals', { ...IMAGE, N: 8 }],
    ['with a letter that folds', { ...IMAGE, modeſ: 1, WebHook: 'https://evil.example' }],
    ['of a fence', { ...IMAGE, CALLBACK_URL: 'https://evil.example' }],
  ])("that names a rule's member in another letter case is refused: %s", (_name, body) => {
    expect(codeOf(resource, `${P1}/v1/images`, { body })).toBe('invalid_request')
  })

  it('that names such a member deeper is refused, and without a rule there it passes', () => {
    const sized = (size: object) => ({ ...target(`${RUN}/studio/flux-dev`), body: { image_size: size } })
    expect(codeOf(resource, H, sized({ width: 1, height: 1, Width: 9_000 }))).toBe('invalid_request')
    const tools = [{ type: 'function', function: { name: 'f', parameters: { properties: { N: {}, Model: {} } } } }]
    expect(codeOf(resource, P2, { body: { model: 'gpt-5', messages: [], tools } })).toBe('read')
    const query = new URLSearchParams('WebHook=https://evil.example')
    expect(codeOf(resource, `${P1}/v1/images`, { body: IMAGE, query })).toBe('invalid_request')
  })

  it('without the member is priced as one', () => {
    expect(read(resource, `${P1}/v1/images`, { body: { ...IMAGE, n: 0 } }).demand.bounds.units?.most).toEqual({
      images: 1,
    })
  })

  it('with a byte order mark is the same to rules', () => {
    const body = `\ufeff${JSON.stringify({ ...IMAGE, n: 8 })}`
    expect(read(resource, `${P1}/v1/images`, { body }).demand.bounds.units?.most).toEqual({ images: 8 })
  })
})

describe('a member that a buyer leaves open', () => {
  const sent = (body: unknown) => {
    const parsed = read(resource, P2, { body })
    const request = parsed.encode(buildPlan())
    const text = Buffer.concat([...(request.pieces ?? [])]).toString()
    return { text, adapted: request.adaptedParams, most: parsed.demand.bounds.units?.most }
  }

  it('is filled in at the beginning, and all other bytes stay', () => {
    expect(sent('{ "model": "gpt-5-mini",  "messages": [], "stream": true }')).toEqual({
      text: '{"stream_options":{"include_usage":true},"max_completion_tokens":8192, "model": "gpt-5-mini",  "messages": [], "stream": true }',
      adapted: ['max_completion_tokens', 'stream_options'],
      most: { input: 58, cacheRead: 0, output: 8_192 },
    })
  })

  it.each([
    ['a limit of its own', { max_tokens: 5 }, [], 5],
    ['two limits', { max_tokens: 500, max_completion_tokens: 5 }, [], 500],
    ['a limit of null', { max_completion_tokens: null }, ['max_completion_tokens'], 8_192],
    ['a stream option', { max_tokens: 5, stream: true, stream_options: { include_usage: true } }, [], 5],
    [
      'a stream option set to false',
      { max_tokens: 5, stream: true, stream_options: { include_usage: false } },
      ['stream_options'],
      5,
    ],
    ['other options', { max_tokens: 5, stream: true, stream_options: { x: 1 } }, ['stream_options'], 5],
    ['a limit of zero', { max_tokens: 0 }, [], 128_000],
    ['no stream', { max_tokens: 5, stream: false }, [], 5],
    ['options that are not an object', { max_tokens: 5, stream: true, stream_options: 'x' }, [], 5],
  ])("keeps the buyer's value: %s", (_name, more, adapted, output) => {
    const made = sent({ model: 'gpt-5-mini', messages: [], ...more })
    expect([made.adapted, made.most?.output]).toEqual([adapted, output])
    const body = JSON.parse(made.text)
    expect(body).toMatchObject({ ...more, ...(adapted.length > 0 && expectFilled(more, adapted)) })
    expect(findRepeatedMember(made.text)).toBeUndefined()
  })

  const expectFilled = (more: object, [name]: readonly string[]) =>
    name === 'stream_options'
      ? { stream_options: { ...Object(Reflect.get(more, 'stream_options')), include_usage: true } }
      : { max_completion_tokens: 8_192 }
})
