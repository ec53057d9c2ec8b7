import { describe, expect, it } from 'vitest'
import { checkCapability, contextError } from '#data-plane/pipeline/plan/check-capability.ts'
import type { SourceRole } from '#shared/clips.ts'
import type { ErrorCode } from '#shared/errors.ts'
import { AppError } from '#shared/errors.ts'
import { buildDemand, buildModel, buildTarget } from '#test/support/bytes/build-market.ts'

const BOUNDS = buildDemand().bounds

function refusalOf(model: Parameters<typeof buildModel>[0], demand: Parameters<typeof buildDemand>[0]) {
  try {
    checkCapability(buildTarget(buildModel(model)), buildDemand(demand))
    return undefined
  } catch (error) {
    if (error instanceof AppError) return error
    throw error
  }
}

describe('what a model cannot take', () => {
  it.each([
    { inputModalities: ['text', 'image'], features: [] },
    { inputModalities: ['text'], features: ['vision'] },
  ])('takes images where either field says so: %j', (model) => {
    expect(refusalOf(model, { needs: { imageInput: true } })).toBeUndefined()
  })

  it('refuses an image to a model of text, and a parameter that the model does not list', () => {
    expect(refusalOf({}, { needs: { imageInput: true } })).toMatchObject({
      code: 'model_capability_unsupported',
      param: 'messages',
    })
    expect(refusalOf({}, { needs: { imageInput: true }, inputParam: 'input' })?.param).toBe('input')
    const needs = { imageInput: false, parameters: ['reasoning'] }
    expect(refusalOf({ parameters: ['reasoning_effort'] }, { needs })?.param).toBe('reasoning')
    expect(refusalOf({ parameters: [] }, { needs })).toBeUndefined()
  })

  it('refuses a context only where no tokeniser could make it fit, with the numbers', () => {
    const model = { contextLength: 1_000, maxCompletionTokens: 1_000 }
    const likelyTooLong = { ...BOUNDS, inputBytes: 100_000, maxOutputTokens: 200 }
    expect(refusalOf(model, { bounds: likelyTooLong })).toBeUndefined()
    const error = refusalOf(model, { bounds: { ...likelyTooLong, inputBytes: 128_000, maxOutputTokens: 1 } })
    expect(error?.code).toBe('context_length_exceeded')
    expect(error?.detail).toEqual({ input_tokens: 32_000, max_tokens: 1, context_length: 1_000 })
    expect(error?.message).toContain('maximum context length is 1000 tokens. However, you requested about 32001 tokens')
  })

  it('does not say that too many tokens were asked for where our own estimate fits', () => {
    const target = buildTarget(buildModel({ contextLength: 1_000 }))
    const demand = buildDemand({ bounds: { ...BOUNDS, inputBytes: 400 } })
    const { message, detail } = contextError(target, demand, 100)
    expect(message).toBe(
      "This model's maximum context length is 1000 tokens. The provider counted more than fits; " +
        'by our estimate about 200 tokens (100 in the messages, 100 in the completion).',
    )
    expect(detail).toEqual({ input_tokens: 100, max_tokens: 100, context_length: 1_000 })
  })

  it('lowers an output limit that the model cannot reach before it counts', () => {
    const model = { contextLength: 1_000, maxCompletionTokens: 100 }
    expect(refusalOf(model, { bounds: { ...BOUNDS, inputBytes: 3_600, maxOutputTokens: 100_000 } })).toBeUndefined()
  })

  it('refuses more prompts than are put to a chat model, and the one that is too long, by name', () => {
    const each = Array.from({ length: 32 }, () => ({ ...BOUNDS, inputBytes: 100 }))
    const of = (list: typeof each) => ({ inputParam: 'prompt', bounds: { ...BOUNDS, inputs: list.length, each: list } })
    expect(refusalOf({}, of(each))).toBeUndefined()
    expect(refusalOf({}, of([...each, BOUNDS]))).toMatchObject({ code: 'invalid_request', param: 'prompt' })
    const long = refusalOf({ contextLength: 1_000 }, of([BOUNDS, { ...BOUNDS, inputBytes: 128_000 }, BOUNDS]))
    expect(long).toMatchObject({ code: 'context_length_exceeded', detail: { input_tokens: 32_000 } })
  })

  it.each<[string, { roles?: readonly SourceRole[]; shape?: object }, readonly [ErrorCode, string] | undefined]>([
    ['from nothing, of a model that needs a picture', {}, ['image_required', 'image_url']],
    ['from its first picture', { roles: ['start'] }, undefined],
    [
      'to a picture that its model has no part for',
      { roles: ['start', 'end'] },
      ['model_capability_unsupported', 'end'],
    ],
    ['of a length between two', { roles: ['start'], shape: { seconds: 5 } }, ['invalid_request', 'seconds']],
    [
      'finer than its model makes',
      { roles: ['start'], shape: { resolution: '4k' } },
      ['invalid_request', 'resolution'],
    ],
  ])('judges a film %s', (_what, { roles = [], shape = {} }, expected) => {
    const lengths = { least: 4, most: 12, step: 4, usual: 4 }
    const model: Parameters<typeof buildModel>[0] = {
      clip: { lengths, resolutions: ['720p'], roles: ['start'], needsSource: true },
    }
    const needs = { imageInput: false, sourceRoles: roles.map((role) => ({ role, param: role })) }
    const bounds = { ...BOUNDS, clip: { seconds: undefined, resolution: undefined, ...shape } }
    const refusal = refusalOf(model, { needs, bounds })
    expect(refusal && [refusal.code, refusal.param]).toEqual(expected)
  })

  it('sells no finer film without a price, where a model lists no resolutions', () => {
    const ask = (shape: object) => {
      const bounds = { ...BOUNDS, clip: { seconds: undefined, resolution: undefined, ...shape } }
      const refusal = refusalOf({ clip: null }, { bounds })
      return refusal && [refusal.code, refusal.param]
    }
    expect(ask({ resolution: '4k' })).toEqual(['unsupported_parameter', 'resolution'])
    expect(ask({ resolution: '1080p', size: '1920x1080' })).toEqual(['unsupported_parameter', 'size'])
    expect(ask({ resolution: '720p' })).toBeUndefined()
  })

  it('does not add inputs up that fill a window each', () => {
    const model = { contextLength: 10, maxCompletionTokens: 10 }
    const bounds = { ...BOUNDS, inputBytes: 1_000_000, inputs: 100, maxOutputTokens: 0 }
    expect(refusalOf(model, { bounds })).toBeUndefined()
  })
})
