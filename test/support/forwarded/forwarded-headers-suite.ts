import { beforeEach, describe, expect, it } from 'vitest'
import { INERT_HEADERS } from '#shared/inert-headers.ts'
import { costOf, image, json, KEY, network, provider } from './forwarded-market.ts'

/** Headers on their way to a provider and back, in the market of the forwarded calls. */
export function describeHeaders(): void {
  describe('a relayed call', () => {
    beforeEach(() => json(200, { data: [{ url: 'x' }] }))

    it('shows its provider only an allow-list of headers, and no header that names the buyer', async () => {
      const headers = {
        cookie: 'session=1',
        'x-forwarded-for': '1.2.3.4',
        forwarded: 'for=1.2.3.4',
        referer: 'https://buyer.example',
        'x-mkt-max-cost-micro': '1000000',
        'idempotency-key': 'k',
        via: '1.1 x',
        range: 'bytes=0-1',
        'x-real-ip': '1',
        'x-key': 'mine',
        'accept-language': 'de',
        'x-anything': '1',
        accept: 'application/json',
        'payment-signature': 'x',
      }
      const answer = await image({ headers })
      expect(answer.status).toBe(200)
      const [heard] = provider.heard
      const names = heard?.rawHeaders.filter((_, at) => at % 2 === 0).map((name) => name.toLowerCase())
      const allowed = ['host', 'connection', 'content-type', 'accept', 'accept-encoding', 'user-agent', 'x-key']
      expect(new Set(names)).toEqual(new Set([...allowed, 'content-length']))
      expect(names?.length).toBe(allowed.length + 1)
      const at = heard?.rawHeaders.findIndex((name) => name.toLowerCase() === 'host') ?? 0
      expect(heard?.rawHeaders[at + 1]).toBe(new URL(provider.origin).host)
      const said = JSON.stringify(heard)
      expect(said).toContain(KEY)
      for (const secret of [network.sandbox.buyer_key, 'session=1', '1.2.3.4', 'mine'])
        expect(said).not.toContain(secret)
    })

    it("shows its buyer only an allow-list of headers, and the market's own figures", async () => {
      json(
        200,
        { data: [{ url: 'x' }] },
        {
          'set-cookie': ['a=b', 'c=d'],
          location: 'https://evil.example',
          'www-authenticate': 'Basic',
          server: 'nginx',
          'access-control-allow-origin': 'https://evil.example',
          'x-mkt-buyer-cost-micro': '0',
          'payment-response': 'x',
          'x-request-id': 'theirs',
          via: '1.1 them',
          'x-anything': '1',
          'content-disposition': 'inline',
          refresh: '0',
        },
      )
      const answer = await image()
      const own = new Set([
        'access-control-allow-origin',
        'access-control-expose-headers',
        'cache-control',
        'connection',
        'content-length',
        'content-type',
        'date',
        'keep-alive',
        'x-generation-id',
        'x-mkt-buyer-cost-micro',
        'x-mkt-list-cost-micro',
        'x-mkt-marketplace-attempts',
        'x-mkt-marketplace-status',
        'x-mkt-overhead-ms',
        'x-mkt-provider-family',
        'x-mkt-routing-decision-ms',
        'x-mkt-served-by',
        'x-ratelimit-limit',
        'x-ratelimit-remaining',
        'x-ratelimit-reset',
        'x-request-id',
        'content-disposition',
        ...Object.keys(INERT_HEADERS),
      ])
      expect([...answer.headers.keys()].filter((name) => !own.has(name))).toEqual([])
      expect(answer.headers.get('access-control-allow-origin')).toBe('*')
      expect([costOf(answer), answer.headers.get('x-request-id')]).not.toContain('theirs')
      expect(costOf(answer)).toBe('24000')
    })

    it.each(['text/html', 'image/svg+xml', 'application/json', 'application/xhtml+xml', ''])(
      'makes a body of type %s inert in a browser',
      async (type) => {
        provider.answers((_request, response) => {
          response.writeHead(200, type === '' ? {} : { 'content-type': type }).end('<script>alert(1)</script>')
        })
        const { status, headers } = await image()
        expect([status, headers.get('content-type')]).toEqual([200, type === '' ? null : type])
        expect(Object.keys(INERT_HEADERS).map((name) => headers.get(name))).toEqual(Object.values(INERT_HEADERS))
      },
    )
  })
}
