import { EventEmitter, once } from 'node:events'
import { connect } from 'node:net'
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import { beforeEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { holdsKey } from '#data-plane/upstream/key-traces.ts'
import { askRaw } from '#test/support/market/raw-http.ts'
import { BUSY_MS, until } from '#test/support/run/until.ts'
import {
  ask,
  breakOff,
  costOf,
  IMAGE,
  image,
  json,
  KEY,
  lendImages,
  MEGABYTE,
  network,
  provider,
  refusalOf,
} from './forwarded-market.ts'

/** Bodies on their way to a provider and back, in the market of the forwarded calls. */
export function describeBodies(): void {
  describe('a body that is passed on unchanged', () => {
    const PUT = '/resources/provider-p1/v1/uploads/film.bin'
    const raw = (text: string) => askRaw(network.sandbox.api_base_url, text)
    const headOf = (...lines: string[]) =>
      [`PUT ${PUT} HTTP/1.1`, 'host: x', `authorization: Bearer ${network.sandbox.buyer_key}`, ...lines, '', ''].join(
        '\r\n',
      )
    beforeEach(async () => {
      provider.answers((_request, response) => response.writeHead(204).end())
    })

    it('arrives whole with its length, or in chunks without one, and an empty answer costs the call', async () => {
      for (const body of [Buffer.alloc(5 * MEGABYTE, 'a'), new Blob([Buffer.alloc(5 * MEGABYTE, 'a')]).stream()]) {
        const answer = await ask(PUT, { method: 'PUT', body, duplex: 'half', headers: { 'content-type': 'video/mp4' } })
        expect([answer.status, costOf(answer), answer.headers.get('content-length')]).toEqual([204, '600', null])
      }
      expect(provider.heard.map(({ bytes, isWhole }) => [bytes, isWhole])).toEqual([
        [5 * MEGABYTE, true],
        [5 * MEGABYTE, true],
      ])
    })

    it('comes back with any size and status, with its price in the head', async () => {
      const film = Buffer.alloc(9 * MEGABYTE, 'f')
      provider.answers((_request, response) => {
        response.writeHead(201, { 'content-type': 'video/mp4', 'content-length': film.length }).end(film)
      })
      const answer = await ask(PUT, { method: 'PUT', body: 'x', headers: { 'content-type': 'video/mp4' } })
      expect([answer.status, costOf(answer), answer.headers.get('content-type')]).toEqual([201, '600', 'video/mp4'])
      expect(Buffer.from(await answer.arrayBuffer()).equals(film)).toBe(true)
    })

    it('that breaks off is not passed on as a whole body', async () => {
      await breakOff(`${headOf('content-length: 1000', 'content-type: video/mp4')}short`)
      await until('the provider has the body', 5_000, () => provider.heard.length > 0)
      expect(provider.heard.map(({ isWhole }) => isWhole)).toEqual([false])
    })

    it('that is longer than its Content-Length is another request, which is refused', async () => {
      const text = await raw(`${headOf('content-length: 5', 'content-type: video/mp4')}abcdeEXTRA BYTES\r\n\r\n`)
      expect(text).toContain('HTTP/1.1 400')
      expect(provider.heard.filter(({ text: body }) => !'abcde'.startsWith(body))).toEqual([])
    })

    it('may wait for 100, and neither that header, an upgrade nor a trailer is passed on', async () => {
      const lines = [
        'content-type: video/mp4',
        'expect: 100-continue',
        'connection: upgrade, close, x-key',
        'upgrade: h2c',
        'te: trailers',
        'keep-alive: timeout=9',
        'proxy-authorization: Basic eDp5',
        'proxy-connection: close',
        'x-key: mine',
      ]
      const head = headOf(...lines, 'transfer-encoding: chunked', 'trailer: x-late')
      const text = await raw(`${head}3\r\nabc\r\n0\r\nx-late: 1\r\n\r\n`)
      expect(text).toMatch(/^HTTP\/1.1 100 Continue/)
      expect(text).toContain('HTTP/1.1 204')
      const names =
        provider.heard[0]?.rawHeaders.filter((_, at) => at % 2 === 0).map((name) => name.toLowerCase()) ?? []
      const ofOneHop = ['expect', 'upgrade', 'te', 'trailer', 'x-late', 'keep-alive', 'proxy-authorization']
      for (const name of [...ofOneHop, 'proxy-connection']) expect(names).not.toContain(name)
      // This answer contains the lent key, whatever the buyer claims about it.
      expect(provider.heard[0]?.rawHeaders).toEqual(expect.arrayContaining(['x-key', KEY]))
    })

    it('whose answer is cut in the middle costs nothing', async () => {
      const buyer = new EventEmitter()
      provider.answers((_request, response) => {
        response.writeHead(200, { 'content-type': 'video/mp4', 'content-length': 1_000_000 })
        response.write(Buffer.alloc(500_000))
        buyer.once('reads', () => response.destroy())
      })
      const answer = await ask(PUT, { method: 'PUT', body: 'x', headers: { 'content-type': 'video/mp4' } })
      buyer.emit('reads')
      await expect(answer.arrayBuffer()).rejects.toThrow()
      const rid = answer.headers.get('x-request-id')
      await until('the look-up shows the end', 10_000, async () => {
        const record = z
          .looseObject({ settlement_status: z.string() })
          .parse(await (await ask(`/v1/requests/${rid}`)).json())
        return record.settlement_status !== 'pending' && record['buyer_cost_micro'] === 0
      })
      // The key is backed off for a while, so another key takes its place.
      await lendImages([{ key: KEY }])
    })
  })

  describe('an answer with the lent key in it', () => {
    const secret = Buffer.from(`x-key: ${KEY}`)
    const says = (type: string, ...pieces: readonly (Buffer | string)[]) =>
      provider.answers((_request, response) => {
        response.writeHead(200, { 'content-type': type, 'x-anything': KEY, 'content-disposition': `inline; x=${KEY}` })
        for (const piece of pieces) response.write(piece)
        response.end()
      })

    it.each<readonly [name: string, type: string, pieces: readonly (Buffer | string)[]]>([
      ['in JSON', 'application/json', [JSON.stringify({ data: [{ url: 'x' }], headers: { 'x-key': KEY } })]],
      ['in base64', 'application/json', [JSON.stringify({ data: [{ b64_json: secret.toString('base64') }] })]],
      ['in hexadecimal', 'text/plain', [secret.toString('hex')]],
      [
        'in a URL',
        'text/plain',
        [`https://x.example/?k=${[...KEY].map((sign) => `%${sign.charCodeAt(0).toString(16)}`).join('')}`],
      ],
      ['in events', 'text/event-stream', [`data: {"n":1}\n\ndata: {"key":"${KEY}"}\n\n`]],
      ['in pieces', 'text/plain', [`a ${KEY.slice(0, 9)}`, KEY.slice(9, 20), `${KEY.slice(20)} z`]],
      ['at the end of nine megabytes', 'video/mp4', [Buffer.alloc(9 * MEGABYTE, 'f'), secret]],
    ])('is passed on without the key: %s', async (_name, type, pieces) => {
      says(type, ...pieces)
      const answer = await image()
      const text = Buffer.from(await answer.arrayBuffer())
      expect([answer.status, costOf(answer)]).toEqual([200, type === 'text/event-stream' ? null : '24000'])
      expect(text).toHaveLength(pieces.reduce((sum, { length }) => sum + length, 0))
      expect(text.includes('*'.repeat(10))).toBe(true)
      for (const way of [`${secret}`, secret.toString('base64').slice(12), secret.toString('hex')]) {
        expect(text.indexOf(way)).toBe(-1)
      }
      expect(JSON.stringify([...answer.headers])).not.toContain(KEY.slice(0, 20))
      expect(holdsKey(text.subarray(-500).toString('latin1'), KEY)).toBe(false)
    })

    it.each([
      ['gzip', gzipSync(secret)],
      ['zlib', deflateSync(secret)],
    ])('is refused where it cannot be searched, and costs nothing: %s', async (_name, bytes) => {
      for (const type of ['application/json', 'application/gzip', 'video/mp4']) {
        await lendImages([{ key: KEY }])
        says(type, bytes)
        expect(await refusalOf(image())).toEqual([502, 'upstream_error', '0'])
      }
      await lendImages([{ key: KEY }])
      provider.answers((_request, response) => {
        response
          .writeHead(200, { 'content-type': 'text/plain', 'content-encoding': 'br' })
          .end(brotliCompressSync(secret))
      })
      expect(await refusalOf(image())).toEqual([502, 'upstream_error', '0'])
      await lendImages([{ key: KEY }])
    })
  })

  describe('a body that is read to be priced', () => {
    const text = JSON.stringify(IMAGE)
    const headOf = (...lines: string[]) =>
      [
        'POST /resources/provider-p1/v1/images HTTP/1.1',
        'host: x',
        'content-type: application/json',
        `authorization: Bearer ${network.sandbox.buyer_key}`,
        ...lines,
        '',
        '',
      ].join('\r\n')
    beforeEach(() => json(200, { data: [{ url: 'x' }] }))

    it('is passed on whole with its length, also when it came in chunks without one', async () => {
      const body = new Blob([text]).stream()
      const headers = { 'content-type': 'application/json' }
      const answer = await ask('/resources/provider-p1/v1/images', { method: 'POST', body, duplex: 'half', headers })
      expect([answer.status, costOf(answer)]).toEqual([200, '24000'])
      expect(provider.heard[0]?.text).toBe(text)
      expect(provider.heard[0]?.rawHeaders).toEqual(expect.arrayContaining([`${text.length}`]))
    })

    it('reaches no provider when it breaks off or is longer than its Content-Length', async () => {
      const { api_base_url: base } = network.sandbox
      const short = await askRaw(base, `${headOf(`content-length: ${text.length - 1}`)}${text}`)
      expect(short).toContain('HTTP/1.1 400')
      const { hostname, port } = new URL(base)
      const socket = connect(Number(port), hostname).resume()
      socket.on('error', () => undefined)
      await new Promise((written) => socket.write(`${headOf(`content-length: ${text.length + 1}`)}${text}`, written))
      socket.end()
      if (!socket.closed) await once(socket, 'close', { signal: AbortSignal.timeout(BUSY_MS) })
      expect(provider.heard).toEqual([])
    })
  })
}
