import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import type { ModelPlan, Receipt } from '#data-plane/call.ts'
import { embeddings } from '#data-plane/wires/embeddings/index.ts'
import { AppError } from '#shared/errors.ts'
import { microUsd } from '#shared/money.ts'
import { buildModel, buildPlan, buildRaw, buildTarget } from '#test/support/bytes/build-market.ts'

const RECEIPT: Receipt = {
  chargeMicro: microUsd(3),
  listMicro: microUsd(5),
  listInputMicro: microUsd(5),
  usage: { input: 9 },
}
const GOOD = { model: 'm', input: ['a', 'b'] }
const recorded = readFileSync(new URL('./fixtures/embeddings-float.body', import.meta.url))
const [FIRST, SECOND] = [
  [0.0123, -0.5, 1],
  [1e-7, 0, -1],
]

const read = (body: object) => embeddings.read(buildRaw(JSON.stringify(body)))

function answer(body: object, bytes: readonly Buffer[], plan: Partial<ModelPlan> = {}) {
  const decoder = read(body).decoder(buildPlan(plan))
  for (const chunk of bytes) decoder.push(chunk)
  decoder.end()
  return decoder
}

const whole = (value: unknown) => [Buffer.from(typeof value === 'string' ? value : JSON.stringify(value))]
const listOf = (...vectors: unknown[]) => ({
  object: 'list',
  data: vectors.map((embedding, index) => ({ object: 'embedding', index, embedding })),
  usage: { prompt_tokens: 9, total_tokens: 9 },
})
const packed = (vector: readonly number[] = []) => Buffer.from(Float32Array.from(vector).buffer).toString('base64')

function codeOf(body: object | string): string | undefined {
  try {
    embeddings.read(buildRaw(typeof body === 'string' ? body : JSON.stringify(body)))
    return undefined
  } catch (error) {
    return error instanceof AppError ? `${error.code} ${error.param ?? ''}` : String(error)
  }
}

describe('an embeddings request', () => {
  it.each([
    ['{', 'invalid_json '],
    [{ input: 'x' }, 'invalid_request model'],
    [{ model: 'm' }, 'invalid_request input'],
    [{ model: 'm', input: [] }, 'invalid_request input'],
    [{ model: 'm', input: '' }, 'invalid_request input'],
    [{ model: 'm', input: ['a', 1] }, 'invalid_request input'],
    [{ model: 'm', input: [1, 'a'] }, 'invalid_request input'],
    [{ model: 'm', input: [1.5] }, 'invalid_request input'],
    [{ model: 'm', input: [-1] }, 'invalid_request input'],
    [{ model: 'm', input: [[]] }, 'invalid_request input'],
    [{ model: 'm', input: {} }, 'invalid_request input'],
    [{ model: 'm', input: Array.from({ length: 2_049 }, () => 'x') }, 'invalid_request input'],
    [{ model: 'm', input: 'x'.repeat(2_097_153) }, 'request_too_large input'],
    [{ ...GOOD, encoding_format: 'int8' }, 'invalid_request encoding_format'],
    [{ ...GOOD, dimensions: 0 }, 'invalid_request dimensions'],
    [{ ...GOOD, user: 'u'.repeat(5_000) }, 'invalid_request user'],
    [{ ...GOOD, stream: true }, 'invalid_request stream'],
    [{ ...GOOD, min_discount_pct: 101 }, 'invalid_minimum_discount min_discount_pct'],
  ])('%.70j is %s', (body, code) => {
    expect(codeOf(body)).toBe(code)
  })

  it.each([
    ['ü', 2, 1],
    [['ü', 'ab'], 4, 2],
    [[1, 2, 3], 3, 1],
    [[[1, 2], [3]], 3, 2],
  ])('is bounded by bytes of text and by tokens unchanged: %j', (input, tokens, count) => {
    const { bounds, endpoint } = read({ model: 'm', input }).demand
    expect(endpoint).toBe('embeddings')
    expect(bounds).toMatchObject({ inputTokens: tokens + 8 * count, inputs: count, maxOutputTokens: 0 })
  })

  it('is forwarded byte for byte under the seller’s name, without the routing members', () => {
    const text = '{"provider":"a","input":["caf\\u00e9", "1"] ,"model":"x","user":null,"dimensions":3,"dimensions":4}'
    const target = buildTarget(buildModel({ parameters: ['dimensions'] }))
    const request = embeddings.read(buildRaw(text)).encode(buildPlan({ target }))
    expect(request.body).toBe('{"model":"vendor-gpt-5-mini","input":["caf\\u00e9", "1"],"dimensions":4}')
    expect(request.adaptedParams).toEqual([])
  })

  it('leaves out an encoding that the model does not support, and reports the change; sizes are never left out', () => {
    const target = buildTarget(buildModel({ parameters: ['temperature'] }))
    const call = read({ ...GOOD, encoding_format: 'base64', dimensions: 3 })
    expect(call.encode(buildPlan({ target })).adaptedParams).toContain('encoding_format')
    expect(call.demand.needs.parameters).toEqual(['dimensions'])
  })
})

describe('an embeddings answer', () => {
  it('is the same however its bytes are cut, and keeps its numbers in their written form', () => {
    const expected = answer(GOOD, [recorded]).finish(RECEIPT)
    for (let cut = 1; cut < recorded.length; cut++) {
      const decoder = answer(GOOD, [recorded.subarray(0, cut), recorded.subarray(cut)])
      expect(decoder.failure()).toBeUndefined()
      expect(decoder.finish(RECEIPT)).toBe(expected)
    }
    expect(expected).toContain('"embedding": [0.0123,-0.50, 1.0]')
    expect(JSON.parse(expected)).toEqual({
      object: 'list',
      data: [
        { object: 'embedding', index: 0, embedding: FIRST },
        { object: 'embedding', index: 1, embedding: SECOND },
      ],
      model: 'gpt-5-mini',
      provider: 'a',
      usage: {
        prompt_tokens: 9,
        total_tokens: 9,
        cost: 0.000003,
        buyer_cost_micro: 3,
        cost_details: {
          upstream_inference_cost: 0.000005,
          upstream_inference_prompt_cost: 0.000005,
          upstream_inference_completions_cost: 0,
        },
      },
    })
  })

  it('has the requested encoding, whichever the seller sent', () => {
    const vectors = (body: object, ...given: unknown[]) =>
      JSON.parse(answer(body, whole(listOf(...given))).finish(RECEIPT)).data.map(
        ({ embedding }: { embedding: unknown }) => embedding,
      )
    const floats = [FIRST, SECOND].map((vector) => [...Float32Array.from(vector)])
    expect(vectors(GOOD, packed(FIRST), packed(SECOND))).toEqual(floats)
    expect(vectors({ ...GOOD, encoding_format: 'base64' }, FIRST, SECOND)).toEqual([packed(FIRST), packed(SECOND)])
    expect(vectors({ ...GOOD, encoding_format: 'base64' }, packed(FIRST), SECOND)).toEqual([
      packed(FIRST),
      packed(SECOND),
    ])
  })

  it('contains only vectors', () => {
    const list = listOf(FIRST, SECOND)
    const decoder = answer(GOOD, whole({ ...list, secret: 1, data: list.data.map((row) => ({ ...row, host: 'h' })) }))
    expect(Object.keys(JSON.parse(decoder.finish(RECEIPT)))).toEqual(['object', 'data', 'model', 'provider', 'usage'])
    expect(decoder.finish(RECEIPT)).not.toContain('host')
  })

  it.each([
    ['{"data":[', 'malformed'],
    ['[]', 'malformed'],
    [{ error: { message: 'no', code: 429 } }, 'error'],
    [listOf(FIRST), 'malformed'],
    [listOf(FIRST, []), 'malformed'],
    [listOf(FIRST, 'not base64!'), 'malformed'],
    [listOf(FIRST, packed(SECOND).slice(0, 5)), 'malformed'],
    [listOf(FIRST, [1, null]), 'malformed'],
    [{ ...listOf(FIRST, SECOND), data: [0, 0].map((index) => ({ index, embedding: FIRST })) }, 'malformed'],
    [{ ...listOf(), data: [7, 1].map((index) => ({ index, embedding: FIRST })) }, 'malformed'],
  ])('%.60j is malformed: %s', (body, kind) => {
    const decoder = answer(GOOD, whole(body))
    expect(decoder.failure()?.kind).toBe(kind)
    expect(decoder.ending().contentBytes).toBe(0)
  })
})
