import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Decoder } from '#data-plane/call.ts'
import { writeForm } from '#data-plane/wires/form.ts'
import { imageEdits, images } from '#data-plane/wires/images/index.ts'
import { pictureBytes, pictureType } from '#data-plane/wires/images/picture-bytes.ts'
import { pngOf } from '#dev/provider/media/png.ts'
import { AppError } from '#shared/errors.ts'
import { microUsd } from '#shared/money.ts'
import { buildPlan, buildRaw } from '#test/support/bytes/build-market.ts'

const RECEIPT = {
  chargeMicro: microUsd(1n),
  listMicro: microUsd(2n),
  listInputMicro: microUsd(0n),
  usage: { images: 1 },
  adaptedParams: ['quality'],
}
const NOTHING_INLINED = { bytes: Buffer.alloc(0), hasStandIns: false }

function decoderOf(format: string | undefined, count: number): Decoder {
  const body = { model: 'm', prompt: 'a cat', n: count, response_format: format }
  return images.read(buildRaw(JSON.stringify(body))).decoder(buildPlan())
}

/** A decoder that has read an answer with these pictures, from a provider that escapes its slashes. */
function decoded(format: string | undefined, data: readonly object[]): Decoder {
  const decoder = decoderOf(format, data.length)
  decoder.push(Buffer.from(JSON.stringify({ data }).replaceAll('/', '\\/')))
  decoder.end()
  expect(decoder.failure()).toBeUndefined()
  return decoder
}

function written(decoder: Decoder): { data: object[]; usage: { adapted_params: string[] } } {
  const pieces = decoder.whole?.pieces(RECEIPT)
  return JSON.parse(pieces === undefined ? decoder.finish(RECEIPT) : Buffer.concat(pieces).toString())
}

/** A picture as a head and noise, whose base64 has slashes. */
const picture = (bytes: number) => Buffer.concat([pngOf('a cat', 16, 16), randomBytes(bytes)])

describe('an answer of pictures', () => {
  it('that arrived as bytes yields them byte for byte, and has links in their place', () => {
    const [small, large] = [picture(10), picture(900_000)]
    const data = [small, large].map((bytes) => ({ b64_json: bytes.toString('base64'), revised_prompt: 'A cat.' }))
    const decoder = decoded('url', data)
    const files = decoder.whole?.files?.() ?? []
    expect(files.map(({ index, contentType }) => [index, contentType])).toEqual([
      [0, 'image/png'],
      [1, 'image/png'],
    ])
    for (const [at, file] of files.entries()) {
      expect(Buffer.concat([...file.pieces]).equals([small, large][at] ?? Buffer.alloc(0))).toBe(true)
      file.link(`https://api.example/${at}`)
    }
    expect(decoder.whole?.adaptedParams?.()).toEqual([])
    const answer = written(decoder)
    expect(answer.data).toEqual([0, 1].map((at) => ({ url: `https://api.example/${at}`, revised_prompt: 'A cat.' })))
    expect(answer.usage.adapted_params).toEqual(['quality'])
  })

  it('keeps the bytes that have no link, and reports it', () => {
    const [first, second] = [picture(40_000), picture(50_000)]
    const decoder = decoded(
      'url',
      [first, second].map((bytes) => ({ b64_json: bytes.toString('base64') })),
    )
    decoder.whole?.files?.()[1]?.link('https://api.example/1')
    expect(decoder.whole?.adaptedParams?.()).toEqual(['response_format'])
    const answer = written(decoder)
    expect(answer.data).toEqual([{ b64_json: first.toString('base64') }, { url: 'https://api.example/1' }])
    expect(answer.usage.adapted_params).toEqual(['quality', 'response_format'])
  })

  it.each<[string, string | undefined, object, readonly string[]]>([
    ['bytes that were requested', 'b64_json', { b64_json: picture(0).toString('base64') }, []],
    ['bytes where no form was requested', undefined, { b64_json: picture(0).toString('base64') }, []],
    ['a URL that was requested', 'url', { url: 'https://files.example.com/a.png' }, []],
    ['a URL in place of bytes', 'b64_json', { url: 'https://files.example.com/a.png' }, ['response_format']],
  ])('has no files in %s', (_name, format, entry, adapted) => {
    const decoder = decoded(format, [entry])
    expect([decoder.whole?.files?.(), decoder.whole?.adaptedParams?.()]).toEqual([[], adapted])
    expect(written(decoder).data).toEqual([entry])
  })

  it('is refused where it nests deeper than 64 or is not UTF-8, short or long and in any pieces', () => {
    const data = `"data":[${JSON.stringify({ b64_json: picture(10).toString('base64') })}]`
    const nested = (depth: number) => Buffer.from(`{"a":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)},${data}}`)
    const broken = Buffer.from(`{"a":"\xff",${data}}`, 'latin1')
    for (const padding of ['', ' '.repeat(17_000)]) {
      for (const step of [1_000, 40_000]) {
        const faults = [nested(64), nested(65), broken].map((answer) => {
          const decoder = decoderOf(undefined, 1)
          const bytes = Buffer.concat([Buffer.from(padding), answer])
          for (let at = 0; at < bytes.length; at += step) decoder.push(bytes.subarray(at, at + step))
          decoder.end()
          return decoder.failure() !== undefined
        })
        expect(faults).toEqual([false, true, true])
      }
    }
  })
})

describe('a source of an edit', () => {
  const png = pngOf('a source', 8, 8)

  function codeOf(read: () => unknown): string | undefined {
    try {
      read()
      return undefined
    } catch (error) {
      return error instanceof AppError ? `${error.code} ${error.param ?? ''}` : String(error)
    }
  }

  /** A form with files of this many bytes. */
  function uploadOf(...sizes: readonly number[]): string | undefined {
    const fields = Object.entries({ model: 'm', prompt: 'a hat' }).map(([name, value]) => ({ name, value }))
    const files = sizes.map((size) => ({
      name: 'image[]',
      filename: 'a.png',
      contentType: 'image/png',
      bytes: Buffer.concat([png, Buffer.alloc(size - png.length)]),
    }))
    const body = Buffer.concat([...writeForm({ boundary: 'b', fields, files })])
    return codeOf(() => imageEdits.read(buildRaw(body, { 'content-type': 'multipart/form-data; boundary=b' })))
  }

  it('has at most 18 MB, as data and as a file', () => {
    const dataOf = (chars: number) => `data:image/png;base64,${png.toString('base64')}`.padEnd(chars, 'A')
    const edit = (url: string) =>
      codeOf(() => imageEdits.read(buildRaw(JSON.stringify({ model: 'm', prompt: 'a hat', image: url }))))
    expect([edit(dataOf(25_165_824)), edit(dataOf(25_165_825))]).toEqual([undefined, 'request_too_large image'])
    expect([uploadOf(18_874_368), uploadOf(18_874_369)]).toEqual([undefined, 'request_too_large image'])
  })

  it('is one of one to eight files', () => {
    const sizes = (count: number) => Array.from({ length: count }, () => 1_000)
    expect([uploadOf(...sizes(8)), uploadOf(...sizes(9)), uploadOf()]).toEqual([
      undefined,
      'too_many_input_images image',
      'image_required image',
    ])
  })
})

describe('a picture in base64', () => {
  const bytes = (text: string, inlined = NOTHING_INLINED) => Buffer.concat([...pictureBytes(text, inlined)])

  it('is decoded in steps of every length, with slashes escaped or not, anywhere', () => {
    const length = fc.oneof(
      fc.nat(40),
      fc.integer({ min: 196_600, max: 196_620 }),
      fc.integer({ min: 393_200, max: 393_230 }),
    )
    fc.assert(
      fc.property(length, fc.boolean(), fc.boolean(), fc.boolean(), (count, escapes, isUrlSafe, isStandIn) => {
        const data = Buffer.alloc(count, Buffer.from([0xff, 0xef, 0xbe, 0x3f, 0x01]))
        const plain = data.toString(isUrlSafe ? 'base64url' : 'base64')
        const text = escapes ? plain.replaceAll('/', '\\/') : plain
        const around = { bytes: Buffer.from(`{"b64_json":"${text}"}`), hasStandIns: true }
        const standIn = `\uffff13:${text.length}\uffff`
        expect(bytes(isStandIn ? standIn : text, isStandIn ? around : undefined).equals(data)).toBe(true)
      }),
      { numRuns: 60 },
    )
  })

  it.each(['QUJD=QUJD', 'QQ==QQ==', `${'A'.repeat(262_143)}=QUJD`])(
    'is refused when it continues after its end: %.12s',
    (text) => {
      expect(() => bytes(text)).toThrow('base64 continues after its end')
    },
  )

  it.each([
    ['image/png', pngOf('a', 1, 1)],
    ['image/jpeg', Buffer.from([0xff, 0xd8, 0xff, 0xe0])],
    ['image/gif', Buffer.from('GIF89a')],
    ['image/webp', Buffer.from('RIFF\x10\x00\x00\x00WEBPVP8 ')],
    ['image/avif', Buffer.from('\x00\x00\x00\x20ftypavif')],
    ['application/octet-stream', Buffer.from('<svg onload="alert(1)">')],
    ['application/octet-stream', Buffer.alloc(0)],
  ])('is %s by its first bytes', (type, data) => {
    expect(pictureType(data.toString('base64'), NOTHING_INLINED)).toBe(type)
  })
})
