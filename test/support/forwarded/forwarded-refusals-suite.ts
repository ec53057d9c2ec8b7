import { beforeEach, describe, expect, it } from 'vitest'
import { askRaw, rawGet } from '#test/support/market/raw-http.ts'
import type { Init } from './forwarded-market.ts'
import { ask, IMAGE, image, json, network, post, provider, queue, refusalOf, targeted } from './forwarded-market.ts'

/** Refusals of the proxy that buyers receive while working keys of every provider are lent. */
export function describeRefusals(): void {
  describe('a call to a provider', () => {
    beforeEach(() => {
      json(200, { data: [{ url: 'x' }] })
      queue.answers((_request, response) => response.writeHead(500).end())
    })

    it.each(REFUSALS)('is refused before a request to the provider: %s', async (_name, send, refusal) => {
      const answer = await send()
      expect([answer.headers.get('payment-required'), answer.headers.get('www-authenticate')]).toEqual([null, null])
      expect(await refusalOf(Promise.resolve(answer))).toEqual([...refusal, '0'])
      expect([provider.heard, queue.heard]).toEqual([[], []])
    })

    it.each([
      ['dot segments', '/resources/provider-p1/v1/../v1/models'],
      ['encoded dot segments', '/resources/provider-p1/v1/%2e%2e/v1/models'],
      ['an encoded slash', '/resources/provider-p1/v1%2fmodels'],
      ['an encoded slash that is encoded again', '/resources/provider-p1/v1%252fmodels'],
      ['an empty segment', '/resources/provider-p1/v1//models'],
      ['a whole URL inside', '/resources/provider-p1/https://sandbox.example/v1/models'],
    ])('has its path passed on unchanged: %s', async (_name, path) => {
      const text = await askRaw(network.sandbox.api_base_url, rawGet(path, ['host: x', bearer()]))
      expect(text).toContain('HTTP/1.1 403')
      expect(text).toContain('platform_route_refused')
      expect(provider.heard).toEqual([])
    })

    it('in absolute form is refused', async () => {
      const url = `${network.sandbox.api_base_url}/resources/provider-p1/v1/models`
      expect(await askRaw(network.sandbox.api_base_url, rawGet(url, ['host: x', bearer()]))).toContain('HTTP/1.1 400')
      expect(provider.heard).toEqual([])
    })

    it('may have members that look like a credential: they are data', async () => {
      const body = { ...IMAGE, api_key: 'sk-of-the-buyer', Authorization: 'Bearer inf_x', 'x-key': 'mine' }
      expect((await image({}, body)).status).toBe(200)
      const [heard] = provider.heard
      expect(heard?.text).toBe(JSON.stringify(body))
      expect(JSON.stringify(heard?.rawHeaders)).not.toMatch(/sk-of-the-buyer|inf_x|mine/)
    })
  })
}

const bearer = () => `authorization: Bearer ${network.sandbox.buyer_key}`

type Refusal = readonly [name: string, send: () => Promise<Response>, refusal: readonly [status: number, code: string]]

const requiring = (traits: string) => image({ headers: { 'x-mkt-require': traits } })
/** Runs a model of provider-h, at its run host or at another. */
const run = (model: string, body: object = {}, origin = provider.origin) => targeted(`${origin}/${model}`, body)
const byWallet = (path: string, init: Init) => fetch(`${network.sandbox.base_url}/x402/resources${path}`, init)

/** A request for eight pictures. The client sets no type for a body of bytes. */
const eightAs = (type: string | undefined): Init => ({
  method: 'POST',
  body: Buffer.from(JSON.stringify({ ...IMAGE, n: 8 })),
  headers: type === undefined ? {} : { 'content-type': type },
})
const imageAs = (type: string | undefined) => ask('/resources/provider-p1/v1/images', eightAs(type))
const walletImageAs = (type: string | undefined) => byWallet('/provider-p1/v1/images', eightAs(type))

const REFUSALS: readonly Refusal[] = [
  [
    'provider-h with a path',
    () => post('/resources/provider-h/studio/flux-dev', {}, { headers: { 'x-target-url': `${provider.origin}/a` } }),
    [400, 'unexpected_path'],
  ],
  ['a target on an unknown host', () => run('studio/upscale', {}, 'https://evil.example'), [400, 'invalid_target_url']],
  ['no target', () => post('/resources/provider-h', {}), [400, 'invalid_target_url']],
  ['a provider without a record', () => post('/resources/unknown/v1/images', IMAGE), [404, 'no_resource_offer']],
  ['a family of calls', () => ask('/resources/social/v2/users/by/username/ada'), [404, 'no_resource_offer']],
  ['a trait that nobody claims', () => requiring('no.such'), [404, 'trait_unavailable']],
  ['a trait of Object', () => requiring('__proto__.x'), [404, 'trait_unavailable']],
  ['a list with a gap', () => requiring('a.b,,c.d'), [400, 'invalid_request']],
  ['a hundred traits', () => requiring(Array(100).fill('a.b').join()), [400, 'invalid_request']],
  ['a fenced path', () => ask('/resources/provider-p1/v1/me'), [403, 'platform_route_refused']],
  ['a fenced path behind more', () => run('keys/new'), [403, 'platform_route_refused']],
  ['a path that no route has', () => post('/resources/provider-p1/v1/nothing', {}), [403, 'platform_route_refused']],
  ['units that are no number', () => image({}, { ...IMAGE, n: 'many' }), [400, 'provider_unpriceable']],
  ['an unknown size', () => run('studio/flux-dev', { image_size: 'huge' }), [400, 'provider_unpriceable']],
  ['a model without a price', () => image({}, { ...IMAGE, model: 'x' }), [400, 'provider_unpriceable']],
  ['a long model, run at once', () => run('studio/motion', { duration: 2 }), [400, 'job_route_required']],
  [
    'the queue for a wallet',
    () => byWallet('/provider-h', jobFor({ 'x-target-url': `${queue.origin}/studio/motion` })),
    [400, 'job_route_required'],
  ],
  ['a member named twice', () => image({}, `{"model":"canvas-1","n":1,"n":9}`), [400, 'invalid_request']],
  ['a body that is no JSON', () => image({}, '{'), [400, 'invalid_json']],
  ...[
    'text/plain',
    'application/vnd.api+json',
    'multipart/form-data; boundary=x',
    'application/json; charset=utf-16',
  ].map((type): Refusal => [`a body that is priced, as ${type}`, () => imageAs(type), [415, 'unsupported_media_type']]),
  ['a body that is priced, without a type', () => imageAs(undefined), [415, 'unsupported_media_type']],
  ['such a body of a wallet', () => walletImageAs('text/plain'), [415, 'unsupported_media_type']],
  ['such a body of a wallet, without a type', () => walletImageAs(undefined), [415, 'unsupported_media_type']],
  ['a member that counts in capitals', () => image({}, { ...IMAGE, N: 8 }), [400, 'invalid_request']],
  ['an unknown job', () => ask('/resources/provider-p1/v1/videos/none'), [404, 'job_not_found']],
]

function jobFor(headers: Readonly<Record<string, string>>): Init {
  return {
    method: 'POST',
    body: JSON.stringify({ duration: 2 }),
    headers: { 'content-type': 'application/json', ...headers },
  }
}
