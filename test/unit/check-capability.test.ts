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

describe('a request beyond the abilities of a model', () => {
  it.each([
    { inputModalities: ['text', 'image'], features: [] },
    { inputModalities: ['text'], features: ['vision'] },
  ])('allows images when either field lists them: %j', (model) => {
    expect(refusalOf(model, { needs: { imageInput: true } })).toBeUndefined()
  })

  it('refuses an image for a text model, and a parameter that the model does not list', () => {
    expect(refusalOf({}, { needs: { imageInput: true } })).toMatchObject({
      code: 'model_capability_unsupported',
      param: 'messages',
    })
    expect(refusalOf({}, { needs: { imageInput: true }, inputParam: 'input' })?.param).toBe('input')
    const needs = { imageInput: false, parameters: ['reasoning'] }
    expect(refusalOf({ parameters: ['reasoning_effort'] }, { needs })?.param).toBe('reasoning')
    expect(refusalOf({ parameters: [] }, { needs })).toBeUndefined()
  })

  it('refuses a prompt as too long only when no tokeniser could make it fit, with the token counts', () => {
    const model = { contextLength: 1_000, maxCompletionTokens: 1_000 }
    const likelyTooLong = { ...BOUNDS, inputBytes: 100_000, maxOutputTokens: 200 }
    expect(refusalOf(model, { bounds: likelyTooLong })).toBeUndefined()
    const error = refusalOf(model, { bounds: { ...likelyTooLong, inputBytes: 128_000, maxOutputTokens: 1 } })
    expect(error?.code).toBe('context_length_exceeded')
    expect(error?.detail).toEqual({ input_tokens: 32_000, max_tokens: 1, context_length: 1_000 })
    expect(error?.message).toContain('maximum context length is 1000 tokens. However, you requested about 32001 tokens')
  })

  it('does not call a request too long when our own estimate fits', () => {
    const target = buildTarget(buildModel({ contextLength: 1_000 }))
    const demand = buildDemand({ bounds: { ...BOUNDS, inputBytes: 400 } })
    const { message, detail } = contextError(target, demand, 100)
    expect(message).toBe(
      "This model's maximum context length is 1000 tokens. The provider counted more than fits; " +
        'by our estimate about 200 tokens (100 in the messages, 100 in the completion).',
    )
    expect(detail).toEqual({ input_tokens: 100, max_tokens: 100, context_length: 1_000 })
  })

  it('lowers an output limit to the maximum of the model before it counts', () => {
    const model = { contextLength: 1_000, maxCompletionTokens: 100 }
    expect(refusalOf(model, { bounds: { ...BOUNDS, inputBytes: 3_600, maxOutputTokens: 100_000 } })).toBeUndefined()
  })

  it('refuses too many prompts at once, and names the prompt that is too long', () => {
    const each = Array.from({ length: 32 }, () => ({ ...BOUNDS, inputBytes: 100 }))
    const of = (list: typeof each) => ({ inputParam: 'prompt', bounds: { ...BOUNDS, inputs: list.length, each: list } })
    expect(refusalOf({}, of(each))).toBeUndefined()
    expect(refusalOf({}, of([...each, BOUNDS]))).toMatchObject({ code: 'invalid_request', param: 'prompt' })
    const long = refusalOf({ contextLength: 1_000 }, of([BOUNDS, { ...BOUNDS, inputBytes: 128_000 }, BOUNDS]))
    expect(long).toMatchObject({ code: 'context_length_exceeded', detail: { input_tokens: 32_000 } })
  })

  it.each<[string, { roles?: readonly SourceRole[]; shape?: object }, readonly [ErrorCode, string] | undefined]>([
    ['from no picture, for a model that needs a picture', {}, ['image_required', 'image_url']],
    ['from a first picture', { roles: ['start'] }, undefined],
    [
      'to a last picture that the model does not take',
      { roles: ['start', 'end'] },
      ['model_capability_unsupported', 'end'],
    ],
    [
      'of a length that the model does not list',
      { roles: ['start'], shape: { seconds: 5 } },
      ['invalid_request', 'seconds'],
    ],
    [
      'at a resolution above those of the model',
      { roles: ['start'], shape: { resolution: '4k' } },
      ['invalid_request', 'resolution'],
    ],
  ])('judges a request for a film %s', (_what, { roles = [], shape = {} }, expected) => {
    const lengths = { least: 4, most: 12, step: 4, usual: 4 }
    const model: Parameters<typeof buildModel>[0] = {
      clip: { lengths, resolutions: ['720p'], roles: ['start'], needsSource: true },
    }
    const needs = { imageInput: false, sourceRoles: roles.map((role) => ({ role, param: role })) }
    const bounds = { ...BOUNDS, clip: { seconds: undefined, resolution: undefined, ...shape } }
    const refusal = refusalOf(model, { needs, bounds })
    expect(refusal && [refusal.code, refusal.param]).toEqual(expected)
  })

  it('refuses a resolution without a price, where a model lists no resolutions', () => {
    const ask = (shape: object) => {
      const bounds = { ...BOUNDS, clip: { seconds: undefined, resolution: undefined, ...shape } }
      const refusal = refusalOf({ clip: null }, { bounds })
      return refusal && [refusal.code, refusal.param]
    }
    expect(ask({ resolution: '4k' })).toEqual(['unsupported_parameter', 'resolution'])
    expect(ask({ resolution: '1080p', size: '1920x1080' })).toEqual(['unsupported_parameter', 'size'])
    expect(ask({ resolution: '720p' })).toBeUndefined()
  })

  it('checks inputs against the window one by one, not as a sum', () => {
    const model = { contextLength: 10, maxCompletionTokens: 10 }
    const bounds = { ...BOUNDS, inputBytes: 1_000_000, inputs: 100, maxOutputTokens: 0 }
    expect(refusalOf(model, { bounds })).toBeUndefined()
  })
})
