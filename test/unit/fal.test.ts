import { describe, expect, it } from 'vitest'
import type { ImageAsk } from '#shared/protocols/image-codec.ts'
import { canServe, imageCodecOf, PROTOCOL_NEEDS, PROTOCOLS } from '#shared/protocols/index.ts'
import { buildModel } from '#test/support/bytes/build-market.ts'

const { fal } = PROTOCOLS
const MODEL = buildModel()
const PLAN = { offer: { providerModel: 'fal-ai/flux/dev' }, target: { model: MODEL }, maxOutputTokens: 0 }
const ASK: ImageAsk = {
  prompt: 'a cat',
  count: 1,
  size: undefined,
  resolution: undefined,
  quality: undefined,
  sources: [],
  format: undefined,
  stream: undefined,
  extras: {},
}
const codec = imageCodecOf({ apiFormat: 'fal' }, MODEL)
const said = (ask: Partial<ImageAsk>, plan = PLAN) => {
  const { path, body, adaptedParams } = codec.encode({ ...ASK, ...ask }, plan)
  return { path, body: JSON.parse(body) as unknown, adaptedParams }
}

describe("fal's protocol", () => {
  it('has pictures alone', () => {
    expect(PROTOCOL_NEEDS.filter((need) => canServe({ apiFormat: 'fal' }, need))).toEqual(['images'])
  })

  it('names the model in the path and always sends a size, which the bound relies on', () => {
    expect(said({})).toEqual({
      path: '/fal-ai/flux/dev',
      body: { prompt: 'a cat', image_size: { width: 1_024, height: 1_024 }, num_images: 1, sync_mode: true },
      adaptedParams: [],
    })
    expect(said({ resolution: '2K' }).body).toMatchObject({ image_size: { width: 2_048, height: 2_048 } })
    expect(said({ format: 'url' }).body).toMatchObject({ sync_mode: false })
  })

  it.each([
    ['fal-ai/../../admin', '/fal-ai/admin'],
    ['fal-ai/flux?x=1#y', '/fal-ai/flux%3Fx%3D1%23y'],
    ['//host/./x', '/host/x'],
  ])('stays at the host and in its path, whatever the model is called: %s', (providerModel, path) => {
    expect(said({}, { ...PLAN, offer: { providerModel } }).path).toBe(path)
  })

  it('sends the members that it knows under its own names, and reports the members that it left out', () => {
    const { body, adaptedParams } = said({ quality: 'high', extras: { steps: 4, seed: 7, background: 'opaque' } })
    expect(body).toMatchObject({ num_inference_steps: 4, seed: 7 })
    expect(body).not.toHaveProperty('background')
    expect(adaptedParams).toEqual(['quality', 'background'])
  })

  it('sends a single source as a list to models that take a list alone', () => {
    const sources = [{ url: 'https://example.com/a.png', role: 'start' as const }]
    expect(said({ sources }).body).toMatchObject({ image_url: 'https://example.com/a.png' })
    const model = buildModel({ parameters: ['image_urls'] })
    expect(said({ sources }, { ...PLAN, target: { model } }).body).toMatchObject({
      image_urls: ['https://example.com/a.png'],
    })
  })

  it('reads pictures with their sides, a single picture without a list, and nothing else', () => {
    const picture = { url: 'https://v3.fal.media/a.jpg', width: 640, height: 480, content_type: 'image/jpeg' }
    const read = { url: picture.url, width: 640, height: 480 }
    expect(codec.read({ images: [picture], seed: 1, has_nsfw_concepts: [false] })?.images).toEqual([read])
    expect(codec.read({ image: picture })?.images).toEqual([read])
    expect(codec.read({ images: [{ url: 'data:image/png;base64,AAAA' }] })?.images).toMatchObject([{ base64: 'AAAA' }])
    for (const body of [{}, { images: 'none' }, { images: [{}] }, { images: [7] }, { images: [{ url: 'data:,x' }] }]) {
      expect(codec.read(body)).toBeUndefined()
    }
  })

  it('distinguishes an existing model from a missing one, without a paid answer', () => {
    const { request, isAnswer } = fal.probe
    expect(request('fal-ai/flux/dev')).toMatchObject({ path: '/fal-ai/flux/dev', body: '{}' })
    const missing = JSON.stringify({ detail: [{ loc: ['body', 'prompt'], msg: 'Field required', type: 'missing' }] })
    expect([isAnswer(422, missing), isAnswer(404, missing), isAnswer(422, '{"detail":"no"}')]).toEqual([
      true,
      false,
      false,
    ])
    expect(fal.readError(missing)).toMatchObject({ message: 'Field required', param: 'prompt' })
    expect(fal.readError('{"detail":"Application not found"}')).toMatchObject({ message: 'Application not found' })
    expect(fal.readError('<html>')).toMatchObject({ message: '' })
  })
})
