import { describe, expect, it } from 'vitest'
import type { ImageAsk } from '#shared/protocols/image-codec.ts'
import type { ProtocolName } from '#shared/protocols/index.ts'
import { imageCodecOf } from '#shared/protocols/index.ts'
import { buildModel, buildPlan, buildTarget } from '#test/support/bytes/build-market.ts'

const ASK: ImageAsk = {
  prompt: 'a cat',
  count: 1,
  size: undefined,
  resolution: undefined,
  quality: undefined,
  sources: [],
  format: undefined,
  stream: undefined,
  extras: {
    background: 'transparent',
    output_format: 'webp',
    output_compression: 80,
    moderation: 'low',
    style: 'vivid',
    user: 'somebody',
    seed: 7,
    negative_prompt: 'dogs',
    aspect_ratio: '16:9',
    steps: 4,
  },
}
const GPT = ['size', 'quality', 'background', 'output_format', 'output_compression', 'moderation', 'partial_images']
const DALL_E = ['size', 'style', 'response_format']

/**
 * The members of a request to a provider beyond those of every request, and the names of the members that were left
 * out.
 */
function asked(apiFormat: ProtocolName, parameters: readonly string[], endpoints: ('chat' | 'image')[] = ['image']) {
  const model = buildModel({ endpoints, outputModalities: ['image'], parameters: [...parameters] })
  const { body, adaptedParams } = imageCodecOf({ apiFormat }, model).encode(
    ASK,
    buildPlan({ target: buildTarget(model) }),
  )
  const { model: _, prompt: _p, ...members } = JSON.parse(body)
  return { members, left: new Set(adaptedParams) }
}

/** The members that each provider receives. Every other member is named as left out. */
describe('a member about a picture', () => {
  it.each<[string, ReturnType<typeof asked>, object, readonly string[]]>([
    [
      'OpenAI’s newer models',
      asked('openai', GPT),
      {
        background: 'transparent',
        output_format: 'webp',
        output_compression: 80,
        moderation: 'low',
        user: 'somebody',
        steps: 4,
      },
      ['aspect_ratio', 'negative_prompt', 'seed', 'style'],
    ],
    [
      'OpenAI’s older models',
      asked('openai', DALL_E),
      { style: 'vivid', user: 'somebody', steps: 4 },
      ['aspect_ratio', 'background', 'moderation', 'negative_prompt', 'output_compression', 'output_format', 'seed'],
    ],
    ['a model without a list of members', asked('openai', []), ASK.extras, []],
    [
      'Together',
      asked('together', []),
      { width: 1_024, height: 1_024, n: 1, output_format: 'webp', seed: 7, negative_prompt: 'dogs', steps: 4 },
      ['aspect_ratio', 'background', 'moderation', 'output_compression', 'style', 'user'],
    ],
    [
      'fal',
      asked('fal', []),
      {
        image_size: { width: 1_024, height: 1_024 },
        num_images: 1,
        sync_mode: true,
        output_format: 'webp',
        seed: 7,
        negative_prompt: 'dogs',
        num_inference_steps: 4,
      },
      ['aspect_ratio', 'background', 'moderation', 'output_compression', 'style', 'user'],
    ],
    [
      'a chat model',
      asked('openai', [], ['chat', 'image']),
      {
        messages: [{ role: 'user', content: [{ type: 'text', text: 'a cat' }] }],
        modalities: ['image', 'text'],
        user: 'somebody',
        seed: 7,
        image_config: { aspect_ratio: '16:9' },
      },
      ['background', 'moderation', 'negative_prompt', 'output_compression', 'output_format', 'steps', 'style'],
    ],
  ])('reaches %s, or is named as left out', (_name, { members, left }, sent, named) => {
    expect(members).toEqual(sent)
    expect(left).toEqual(new Set(named))
  })
})
