import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { images } from '#data-plane/wires/images/index.ts'
import { music } from '#data-plane/wires/music/index.ts'
import { speech } from '#data-plane/wires/speech/index.ts'
import { video } from '#data-plane/wires/video/index.ts'
import type { Model } from '#shared/catalog/model.ts'
import { AppError } from '#shared/errors.ts'
import type { MediaKind } from '#shared/media-members.ts'
import { MEDIA_MEMBERS } from '#shared/media-members.ts'
import type { ProtocolName } from '#shared/protocols/index.ts'
import { buildModel, buildPlan, buildRaw, buildTarget } from '#test/support/bytes/build-market.ts'
import { offerOf } from '#test/support/bytes/wire-bytes.ts'

const PICTURE = 'https://example.com/a.png'
const CLIP: Model['clip'] = {
  lengths: { least: 1, most: 600, step: 1, usual: 4 },
  resolutions: ['720p', '1080p'],
  roles: ['start', 'end', 'reference'],
  needsSource: false,
}
const target = buildTarget(buildModel({ parameters: [], clip: CLIP, endpoints: ['chat'] }))
const WORDS = { model: 'gpt-5-mini', prompt: 'A boat on a lake.' }

type Sent = { readonly json: Readonly<Record<string, unknown>>; readonly adaptedParams: readonly string[] }
const MAKERS: Readonly<Record<string, (body: object, apiFormat: ProtocolName) => Sent>> = {
  video: jobOf(video),
  music: jobOf(music),
  image(body, apiFormat) {
    const call = images.read(buildRaw(JSON.stringify({ ...WORDS, ...body })))
    return sentOf(call.encode(buildPlan({ target, offer: offerOf({ apiFormat }) })))
  },
  speech(body, apiFormat) {
    const call = speech.read(buildRaw(JSON.stringify({ model: 'gpt-5-mini', ...body })))
    return sentOf(call.encode(buildPlan({ target, offer: offerOf({ apiFormat }) })))
  },
}

function jobOf(wire: typeof video) {
  return (body: object, apiFormat: ProtocolName) => {
    const job = wire.read(buildRaw(JSON.stringify({ ...WORDS, ...body })))
    return sentOf(job.encode(offerOf({ apiFormat, providerModel: 'fal-ai/any' }), target))
  }
}

function sentOf({ body, adaptedParams }: { body: string; adaptedParams: readonly string[] }): Sent {
  return { json: JSON.parse(body), adaptedParams }
}

/** The request for a body, or its refusal. */
function made(kind: MediaKind, body: object, apiFormat: ProtocolName): Sent | string {
  try {
    return MAKERS[kind]?.(body, apiFormat) ?? 'no maker'
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return `${error.code} ${error.param}`
  }
}

/** A value that each member may have, a second value, and the protocol of a provider that receives it. */
const VALUES: Readonly<Record<string, readonly [ProtocolName, unknown, unknown]>> = {
  'video.seconds': ['falqueue', 12, 11],
  'video.milliseconds': ['falqueue', 12_000, 11_000],
  'video.n': ['falqueue', 1, 2],
  'video.size': ['falqueue', '1280x720', '720x1280'],
  'video.resolution': ['falqueue', '720p', '1080p'],
  'video.aspect_ratio': ['falqueue', '16:9', '9:16'],
  'video.start': ['falqueue', PICTURE, PICTURE],
  'video.end': ['falqueue', PICTURE, PICTURE],
  'video.reference': ['falqueue', PICTURE, PICTURE],
  'music.seconds': ['falqueue', 12, 11],
  'music.milliseconds': ['falqueue', 12_000, 11_000],
  'music.n': ['falqueue', 1, 2],
  'music.lyrics': ['falqueue', 'La la', 'Na na'],
  'image.n': ['openai', 3, 2],
  'image.size': ['openai', '512x512', '1024x1024'],
  'image.resolution': ['openai', '2K', '4K'],
  'image.quality': ['openai', 'low', 'high'],
  'image.aspect_ratio': ['openai', '16:9', '9:16'],
  'image.response_format': ['openai', 'url', 'b64_json'],
  'image.source': ['openai', PICTURE, PICTURE],
  'speech.voice': ['openai', 'nova', 'onyx'],
  'speech.input': ['openai', 'Hello.', 'Bye.'],
  'speech.response_format': ['openai', 'wav', 'flac'],
}
const ROWS = Object.entries(VALUES).flatMap(([place, [apiFormat, value, other]]) => {
  const [kind = '', own = ''] = place.split('.')
  const tables: Readonly<Record<string, { read: Readonly<Record<string, readonly string[]>> }>> = MEDIA_MEMBERS
  return (tables[kind]?.read[own] ?? []).map((name) => ({
    kind: kind as MediaKind,
    own,
    name,
    apiFormat,
    value,
    other,
  }))
})
const beside = (kind: MediaKind, own: string) => (kind === 'speech' && own !== 'input' ? { input: 'Hello.' } : {})

describe('the members of media', () => {
  it('have a value for each member that is read', () => {
    const all = (['video', 'music', 'image', 'speech'] as const).flatMap((kind) =>
      Object.keys(MEDIA_MEMBERS[kind].read).map((own) => `${kind}.${own}`),
    )
    expect(new Set(Object.keys(VALUES))).toEqual(new Set(all.filter((place) => place !== 'image.mask')))
  })

  it.each(ROWS)('$kind: $name is read as $own', ({ kind, own, name, apiFormat, value, other }) => {
    const more = beside(kind, own)
    const ours = own === 'milliseconds' ? { seconds: Number(value) / 1_000 } : undefined
    const first = own === 'start' || own === 'source' ? 'image_url' : own === 'end' ? 'end_image_url' : undefined
    const usual = first ?? (own === 'reference' ? 'reference_images' : own)
    const expected = made(kind, { ...more, ...(ours ?? { [usual]: value }) }, apiFormat)
    expect(made(kind, { ...more, [name]: value }, apiFormat)).toEqual(expected)
    // The member was requested, and it is present.
    expect(typeof expected).toBe('object')
    if (own !== 'n') expect(expected).not.toEqual(made(kind, { input: 'Hi', ...more }, apiFormat))
    if (value !== other) {
      const usualOfBoth = ours === undefined ? usual : 'seconds'
      const two = { ...more, [name]: other, ...(name === usual ? {} : { [usualOfBoth]: ours?.seconds ?? value }) }
      const answer = made(kind, two, apiFormat)
      if (name !== usual) expect(answer).toMatch(/^invalid_request /)
    }
  })

  it.each([
    ['video', { duration_seconds: '12s' }, { duration: '12' }],
    ['video', { width: 1_280, height: '720' }, { video_size: { width: 1_280, height: 720 } }],
    ['video', { resolution: '1280x720' }, { resolution: '720p', video_size: { width: 1_280, height: 720 } }],
    ['music', { music_length_ms: 12_000, lyrics_prompt: 'La' }, { duration: '12', lyrics: 'La' }],
  ] as const)('%s: %j is sent to the provider', (kind, body, told) => {
    expect(made(kind, body, 'falqueue')).toMatchObject({ json: told, adaptedParams: [] })
  })

  it.each([
    ['image_size', { image_size: 'landscape_16_9' }],
    ['sides', { width: 1_024, height: 576 }],
    ['an object of sides', { image_size: { width: 1_024, height: 576 } }],
  ])('a picture gets its size from %s', (_what, body) => {
    expect(made('image', body, 'openai')).toMatchObject({ json: { size: '1024x576' } })
  })

  it('a picture has the tier of its size, by which providers bill it', () => {
    expect(made('image', { size: '1024x1024', resolution: '4K' }, 'gemini')).toBe('invalid_request resolution')
    expect(made('image', { width: 512, height: 512, resolution: '2k' }, 'openai')).toBe('invalid_request resolution')
    expect(made('image', { size: '2048x2048', resolution: '2K' }, 'openai')).toMatchObject({ adaptedParams: [] })
  })

  it.each(
    (['video', 'music', 'image', 'speech'] as const).flatMap((kind) =>
      Object.keys(MEDIA_MEMBERS[kind].refusals).map((name) => [kind, name] as const),
    ),
  )('%s: %s is refused, unless it has no effect', (kind, name) => {
    const more = beside(kind, '')
    const apiFormat = kind === 'music' ? 'falqueue' : 'openai'
    expect(made(kind, { ...more, [name]: 'x' }, apiFormat)).toBe(`invalid_request ${name}`)
    for (const nothing of [null, false, '', []]) {
      expect(typeof made(kind, { ...more, [name]: nothing }, apiFormat)).toBe('object')
    }
  })

  it('are never dropped in silence: each is sent to the provider, named as left out, or refused', () => {
    const names = Object.values(MEDIA_MEMBERS).flatMap(({ read, refusals }) => [
      ...Object.values(read).flat(),
      ...Object.keys(refusals),
    ])
    const anyName = fc.oneof(fc.constantFrom(...names), fc.stringMatching(/^[a-z]{1,12}(_[a-z]{1,8})?$/))
    const ways: readonly (readonly [MediaKind, ProtocolName])[] = [
      ['video', 'openai'],
      ['video', 'falqueue'],
      ['music', 'falqueue'],
      ['image', 'openai'],
      ['image', 'together'],
      ['image', 'fal'],
      ['speech', 'openai'],
    ]
    fc.assert(
      fc.property(fc.constantFrom(...ways), anyName, ([kind, apiFormat], name) => {
        fc.pre(
          !/^(model|prompt|stream|session_id|usage|n|provider.*|allow_untrusted|max_price.*|min_disc.*)$/.test(name),
        )
        const mark = 'qqq'
        const answer = made(kind, { ...beside(kind, ''), [name]: mark }, apiFormat)
        if (typeof answer === 'string') return
        const isTold = JSON.stringify(answer.json).includes(mark)
        const own = ROWS.find((row) => row.kind === kind && row.name === name)?.own ?? name
        expect([kind, apiFormat, name, isTold || answer.adaptedParams.includes(own)]).toEqual([
          kind,
          apiFormat,
          name,
          true,
        ])
      }),
      { numRuns: 2_000 },
    )
  })

  it('are named or refused when a provider cannot receive their shape', () => {
    const film = (body: object) => made('video', body, 'openai')
    expect(film({ aspect_ratio: '9:16', resolution: '720p' })).toMatchObject({
      json: { size: '720x1280' },
      adaptedParams: [],
    })
    expect(film({ aspect_ratio: '1:1', resolution: '720p' })).toMatchObject({ adaptedParams: ['aspect_ratio'] })
    expect(film({ resolution: '4k' })).toBe('model_capability_unsupported resolution')
    const song = (providerModel: string, body: object) => {
      const offer = offerOf({ apiFormat: 'falqueue', providerModel })
      return sentOf(music.read(buildRaw(JSON.stringify({ ...WORDS, ...body }))).encode(offer, target))
    }
    expect(song('fal-ai/minimax-music/v1.5', { seconds: 12 }).adaptedParams).toEqual(['seconds'])
    expect(song('fal-ai/minimax-music/v1.5', {}).adaptedParams).toEqual([])
    expect(song('fal-ai/minimax-music/v1.5', { lyrics: 'La' }).json).toMatchObject({ lyrics_prompt: 'La' })
    expect(() => song('fal-ai/stable-audio-25/text-to-audio', { lyrics: 'La' })).toThrow('without words')
  })
})
