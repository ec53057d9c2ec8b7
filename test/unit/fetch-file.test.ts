import type { AddressInfo, Socket } from 'node:net'
import { createServer } from 'node:net'
import { gzipSync } from 'node:zlib'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { FileFetcher, FileLimits, FilePlace } from '#data-plane/upstream/fetch-file.ts'
import { createFileFetcher } from '#data-plane/upstream/fetch-file.ts'
import { createKeyPatterns } from '#data-plane/upstream/key-pattern.ts'
import { mediaTypeOf } from '#data-plane/upstream/media-type.ts'
import { systemClock } from '#shared/clock.ts'
import { Secret } from '#shared/secret.ts'
import { until } from '#test/support/run/until.ts'

const MP4 = Buffer.concat([Buffer.from([0, 0, 0, 24]), Buffer.from('ftypisom'), Buffer.alloc(20_000, 9)])
const KEY = 'sk-canary-of-a-seller-9fK2_mZ+xQ/7vLw3'
const LIMITS: FileLimits = { maxBytes: 50_000, firstByteMs: 5_000, idleMs: 5_000, totalMs: 20_000 }
const PATIENCE_MS = 80

/** A server that answers with raw bytes, so that its answers may be wrong in any way. */
type Script = (socket: Socket) => void
let script: Script
let asked: string
let sockets: Set<Socket>
let port: number
let files: FileFetcher
const server = createServer((socket) => {
  sockets.add(socket)
  socket.on('error', () => undefined).on('close', () => sockets.delete(socket))
  socket.once('data', (bytes) => {
    asked = bytes.toString('latin1')
    script(socket)
  })
})

beforeAll(async () => {
  sockets = new Set()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  port = (server.address() as AddressInfo).port
})
beforeEach(() => {
  files = open(true)
})
afterEach(() => files.close())
afterAll(async () => {
  for (const socket of sockets) socket.destroy()
  await new Promise((resolve) => server.close(resolve))
})

function open(allowsLoopback: boolean): FileFetcher {
  return createFileFetcher({
    policy: { allowsLoopback },
    openCredential: () => new Secret(KEY),
    patterns: createKeyPatterns(),
    clock: systemClock,
  })
}

const placeOf = (changes: Partial<FilePlace> = {}): FilePlace => ({
  url: `http://127.0.0.1:${port}/a/film.mp4?sig=1`,
  hosts: new Set([`127.0.0.1:${port}`]),
  ...changes,
})

/** A key of the server. */
const keyOf = () =>
  ({
    baseUrl: `http://127.0.0.1:${port}`,
    apiFormat: 'openai',
    credential: { host: `127.0.0.1:${port}` },
  }) as never

/** An answer with a head and a body. */
const answer =
  (head: string, ...body: (string | Buffer)[]): Script =>
  (socket) => {
    socket.write(`HTTP/1.1 ${head}\r\n\r\n`)
    for (const piece of body) socket.write(piece)
  }
const good = answer(`200 OK\r\ncontent-type: video/mp4\r\ncontent-length: ${MP4.length}`, MP4)

/** All pieces, each copied before the next one is requested. */
async function bytesOf(pieces: AsyncIterable<Buffer>): Promise<Buffer> {
  const copies: Buffer[] = []
  for await (const piece of pieces) copies.push(Buffer.from(piece))
  return Buffer.concat(copies)
}

/** The whole file, or the name of its fault. */
async function take(place = placeOf(), limits: Partial<FileLimits> = {}, fetcher = files) {
  try {
    const { contentType, pieces } = await fetcher.fetch(place, { ...LIMITS, ...limits })
    const bytes = await bytesOf(pieces)
    return { contentType, bytes: bytes.length, isWhole: bytes.equals(MP4) }
  } catch (error) {
    return Object(error).fault ?? error
  }
}

describe('a file of a provider', () => {
  it('arrives whole, under its own name, after a request with three of our headers', async () => {
    script = good
    expect(await take()).toEqual({ contentType: 'video/mp4', bytes: MP4.length, isWhole: true })
    expect(asked.split('\r\n').filter((line) => line !== '')).toEqual([
      'GET /a/film.mp4?sig=1 HTTP/1.1',
      `host: 127.0.0.1:${port}`,
      'connection: keep-alive',
      'accept: */*',
      'accept-encoding: identity',
      expect.stringMatching(/^user-agent: inference-marketplace\//),
    ])
  })

  it('arrives whole in chunks, however small', async () => {
    script = (socket) => {
      socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n')
      for (let at = 0; at < MP4.length; at += 997) {
        const piece = MP4.subarray(at, at + 997)
        socket.write(`${piece.length.toString(16)}\r\n`)
        socket.write(piece)
        socket.write('\r\n')
      }
      socket.write('0\r\n\r\n')
    }
    expect(await take()).toMatchObject({ isWhole: true })
  })

  it('is in memory once: the memory of a piece is free when its reader asks for the next one', async () => {
    const film = Buffer.concat([MP4, Buffer.alloc(1_000_000, 7)])
    script = answer(`200 OK\r\ncontent-length: ${film.length}`, film)
    const { pieces } = await files.fetch(placeOf(), { ...LIMITS, maxBytes: film.length })
    const given: Buffer[] = []
    const copies: Buffer[] = []
    for await (const piece of pieces) {
      given.push(piece)
      copies.push(Buffer.from(piece))
    }
    expect(Buffer.concat(copies).equals(film)).toBe(true)
    // The first bytes may arrive with the head, before there is a reader.
    const kept = given.reduce((sum, piece) => sum + piece.length, 0)
    expect(kept).toBeLessThan(film.length / 4)
  })

  it('is requested with the provider’s key only from the host of the key', async () => {
    script = good
    expect(await take(placeOf({ key: keyOf() }))).toMatchObject({ isWhole: true })
    expect(asked).toContain(`authorization: Bearer ${KEY}`)
    asked = ''
    const foreign = {
      baseUrl: 'https://else.example',
      apiFormat: 'openai',
      credential: { host: 'else.example' },
    } as never
    expect(await take(placeOf({ key: foreign }))).toBe('forbidden')
    expect(asked).toBe('')
  })

  it.each<[string, Buffer, (key: string) => string | Buffer]>([
    ['a picture with it as text', Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), (key) => key],
    ['a sound with it as base64', Buffer.from('ID3\x04'), (key) => Buffer.from(`a${key}`).toString('base64')],
    ['a film with it as UTF-16', MP4, (key) => Buffer.from(key, 'utf16le')],
    ['a file of an unknown kind', Buffer.alloc(8, 1), (key) => `{"key":"${key}"}`],
  ])('arrives without the key of its request: %s', async (_what, head, write) => {
    const written = Buffer.from(write(KEY))
    const film = Buffer.concat([head, written, Buffer.alloc(20_000, 2), written])
    script = (socket) => {
      socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${film.length}\r\n\r\n`)
      for (let at = 0; at < film.length; at += 1_009) socket.write(film.subarray(at, at + 1_009))
    }
    const { pieces } = await files.fetch(placeOf({ key: keyOf() }), LIMITS)
    const bytes = await bytesOf(pieces)
    expect(bytes).toHaveLength(film.length)
    expect(bytes.includes(written)).toBe(false)
    expect(bytes.subarray(0, head.length).equals(head)).toBe(true)
    expect(bytes.subarray(-written.length).includes('*'.repeat(16))).toBe(true)
  })

  it('that is compressed is refused after a request with a key, because it cannot be searched for the key', async () => {
    const packed = gzipSync(Buffer.concat([MP4, Buffer.from(KEY)]))
    script = answer(`200 OK\r\ncontent-length: ${packed.length}\r\nconnection: close`, packed)
    expect(await take(placeOf({ key: keyOf() }))).toBe('encoded')
    expect(await take()).toMatchObject({ bytes: packed.length })
  })

  it.each([
    ['a host on no list', 'http://127.0.0.2:1/f'],
    ['a private address', 'http://10.0.0.1/f'],
    ["the address of a cloud's metadata service", 'http://169.254.169.254/latest'],
    ['another scheme', 'javascript:alert(1)'],
    ['a file of this machine', 'file:///etc/passwd'],
    ['a user in its address', 'http://u:p@127.0.0.1/f'],
  ])('is not requested at %s', async (_what, url) => {
    asked = ''
    expect(await take(placeOf({ url }))).toBe('forbidden')
    expect(asked).toBe('')
  })

  it('is not requested where its public name resolves to this machine, nor over plain http', async () => {
    const strict = open(false)
    const hosts = new Set(['localhost', `127.0.0.1:${port}`])
    expect(await take({ url: 'https://localhost/f', hosts }, {}, strict)).toBe('forbidden')
    expect(await take({ url: `http://127.0.0.1:${port}/f`, hosts }, {}, strict)).toBe('forbidden')
    expect(await take({ url: 'http://localhost/f', hosts }, {}, strict)).toBe('forbidden')
    await strict.close()
  })

  it.each<[string, string, Script]>([
    ['a redirect', 'redirected', answer('302 Found\r\nlocation: http://127.0.0.1:1/secret\r\ncontent-length: 0')],
    ['no such file', 'missing', answer('404 Not Found\r\ncontent-length: 3', 'gone')],
    ['a refusal of the key', 'missing', answer('403 Forbidden\r\ncontent-length: 0')],
    ['a part', 'missing', answer(`206 Partial Content\r\ncontent-length: ${MP4.length}`, MP4)],
    ['a failure', 'unavailable', answer('500 Oops\r\ncontent-length: 0')],
    ['too many requests', 'unavailable', answer('429 Slow\r\ncontent-length: 0')],
    [
      'a page',
      'no_media',
      answer('200 OK\r\ncontent-type: video/mp4\r\ncontent-length: 20', '<html>not yours</html>'.slice(0, 20)),
    ],
    [
      'a web page, by its name',
      'no_media',
      answer('200 OK\r\ncontent-type: text/html\r\ncontent-length: 8', Buffer.alloc(8, 1)),
    ],
    [
      'a message',
      'no_media',
      answer('200 OK\r\ncontent-type: application/json\r\ncontent-length: 13', '{"error":"x"}'),
    ],
    [
      'a picture that can run scripts',
      'no_media',
      answer('200 OK\r\ncontent-type: image/svg+xml\r\ncontent-length: 6', '<svg/>'),
    ],
    ['nothing', 'no_media', answer('200 OK\r\ncontent-type: video/mp4\r\ncontent-length: 0')],
    ['compressed bytes', 'encoded', answer(`200 OK\r\ncontent-encoding: gzip\r\ncontent-length: ${MP4.length}`, MP4)],
    ['a length over the bound', 'too_large', answer('200 OK\r\ncontent-length: 50001', MP4)],
    [
      'no length and no chunks',
      'endless',
      (socket) => socket.end(Buffer.concat([Buffer.from('HTTP/1.1 200 OK\r\n\r\n'), MP4])),
    ],
    ['no HTTP', 'unreachable', (socket) => socket.end('SSH-2.0-OpenSSH\r\n')],
    ['a cut before its head', 'unreachable', (socket) => socket.destroy()],
  ])('that is %s ends as %s', async (_what, fault, next) => {
    script = next
    expect(await take()).toBe(fault)
  })

  it('with a wrong length ends as a cut when it is shorter, and at its length when it is longer', async () => {
    script = (socket) => {
      answer(`200 OK\r\ncontent-length: ${MP4.length + 10}`, MP4)(socket)
      setTimeout(() => socket.end(), PATIENCE_MS)
    }
    expect(await take()).toBe('cut')
    script = answer('200 OK\r\ncontent-length: 1000', MP4)
    expect(await take()).toMatchObject({ bytes: 1_000 })
  })

  it('that is cut between chunks ends as a cut', async () => {
    script = (socket) => {
      socket.write(`HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${MP4.length.toString(16)}\r\n`)
      socket.write(MP4)
      socket.end('\r\n')
    }
    expect(await take()).toBe('cut')
  })

  it('that grows without end is closed at the bound, and its host stops writing', async () => {
    let written = 0
    script = (socket) => {
      socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n')
      const piece = Buffer.concat([Buffer.from(`${MP4.length.toString(16)}\r\n`), MP4, Buffer.from('\r\n')])
      const more = () => {
        while (!socket.destroyed && socket.write(piece)) written += MP4.length
        if (!socket.destroyed) socket.once('drain', more)
      }
      more()
    }
    expect(await take()).toBe('too_large')
    await until('the connection is closed', 5_000, () => sockets.size === 0)
    const before = written
    await new Promise((resolve) => setTimeout(resolve, PATIENCE_MS))
    expect(written).toBe(before)
  })

  it('is read no faster than its reader reads', async () => {
    let written = 0
    const total = 40_000_000
    script = (socket) => {
      socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${total}\r\n\r\n`)
      const more = () => {
        while (written < total) {
          written += MP4.length
          if (!socket.write(MP4)) return void socket.once('drain', more)
        }
      }
      more()
    }
    const file = await files.fetch(placeOf(), { ...LIMITS, maxBytes: total })
    await new Promise((resolve) => setTimeout(resolve, PATIENCE_MS * 3))
    expect(written).toBeLessThan(total / 2)
    file.close()
    await until('the connection is closed', 5_000, () => sockets.size === 0)
  })

  it.each<[string, Partial<FileLimits>, string, Script]>([
    ['sends no head', { firstByteMs: PATIENCE_MS }, 'unreachable', () => undefined],
    ['stops before its first byte', { idleMs: PATIENCE_MS }, 'stalled', answer('200 OK\r\ncontent-length: 9000')],
    [
      'stops in its middle',
      { idleMs: PATIENCE_MS },
      'stalled',
      answer('200 OK\r\ncontent-length: 90', MP4.subarray(0, 50)),
    ],
    [
      'sends too slowly for too long',
      { totalMs: PATIENCE_MS * 3 },
      'too_slow',
      (socket) => {
        answer('200 OK\r\ncontent-length: 9000', MP4.subarray(0, 1_000))(socket)
        const drip = setInterval(() => socket.write('x'), 10)
        socket.on('close', () => clearInterval(drip))
      },
    ],
  ])('whose host %s ends with a timeout', async (_what, limits, fault, next) => {
    script = next
    expect(await take(placeOf(), limits)).toBe(fault)
    await until('the connection is closed', 5_000, () => sockets.size === 0)
  })

  it('is closed when this process closes', async () => {
    script = answer('200 OK\r\ncontent-length: 9000', MP4.subarray(0, 1_000))
    const closing = new AbortController()
    const file = await files.fetch(placeOf(), LIMITS, closing.signal)
    const reading = bytesOf(file.pieces)
    closing.abort()
    await expect(reading).rejects.toMatchObject({ fault: 'cut' })
    await until('the connection is closed', 5_000, () => sockets.size === 0)
    await expect(files.fetch(placeOf(), LIMITS, closing.signal)).rejects.toMatchObject({ fault: 'cut' })
  })
})

describe('the type of a file', () => {
  const bytes = (text: string) => Buffer.from(text, 'latin1')
  it.each([
    ['\x89PNG\r\n\x1a\n....', 'text/html', 'image/png'],
    ['\xff\xd8\xff\xe0', '', 'image/jpeg'],
    ['GIF89a', '', 'image/gif'],
    ['RIFF....WEBPVP8 ', '', 'image/webp'],
    ['\0\0\0\x1cftypavif', '', 'image/avif'],
    ['\0\0\0\x1cftypisom', 'application/octet-stream', 'video/mp4'],
    ['\0\0\0\x1cftypisom', 'Audio/MP4; codecs=x', 'audio/mp4'],
    ['\0\0\0\x1cftypM4A ', 'video/mp4', 'audio/mp4'],
    ['\0\0\0\x14ftypqt  ', '', 'video/quicktime'],
    ['\x1aE\xdf\xa3', 'audio/webm', 'audio/webm'],
    ['RIFF....WAVEfmt ', 'audio/mpeg', 'audio/wav'],
    ['OggS\0', 'text/plain', 'audio/ogg'],
    ['fLaC\0', '', 'audio/flac'],
    ['ID3\x04', '', 'audio/mpeg'],
    ['\xff\xfb\x90', '', 'audio/mpeg'],
    ['glTF\x02\0\0\0', 'model/gltf-binary', 'application/octet-stream'],
    ['\0\x01\x02', 'video/mp4', 'application/octet-stream'],
    ['\0\x01\x02', 'text/html; charset=utf-8', undefined],
    ['  <!DOCTYPE html>', 'video/mp4', undefined],
    ['{"a":1}', 'video/mp4', undefined],
    ['', 'video/mp4', undefined],
  ])('%j called %s is %s', (text, declared, type) => {
    expect(mediaTypeOf(bytes(text), declared)).toBe(type)
  })
})
