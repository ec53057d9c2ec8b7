import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { Network } from '#test/support/market/network.ts'
import { sharedNetwork } from '#test/support/market/network.ts'

let network: Network
beforeAll(async () => {
  network = await sharedNetwork()
})

const Info = z.looseObject({
  version: z.literal('3.1.0'),
  x402: z.looseObject({
    is_open: z.literal(true),
    schemes: z.array(z.string()),
    pay_to: z.string(),
    network: z.string(),
  }),
  inference: z.looseObject({
    endpoints: z.array(
      z.object({
        method: z.string(),
        path: z.string(),
        url: z.url(),
        protocols: z.array(z.string()),
        schemes: z.array(z.string()),
      }),
    ),
  }),
  forwarded: z.looseObject({
    endpoints: z.array(z.looseObject({ method: z.enum(['GET', 'POST']), path: z.string(), example: z.url() })),
    capabilities_url: z.url(),
  }),
})
const WellKnown = z.object({
  version: z.literal(1),
  x402Version: z.literal(2),
  resources: z.array(z.url()),
  items: z.array(
    z.object({
      resource: z.url(),
      method: z.enum(['GET', 'POST']),
      accepts: z.array(z.looseObject({ scheme: z.string() })),
    }),
  ),
})
const Demand = z.object({
  resource: z.object({ url: z.string() }),
  accepts: z.array(z.object({ scheme: z.string(), payTo: z.string(), network: z.string() })),
  extensions: z.object({ bazaar: z.object({ info: z.looseObject({}), schema: z.looseObject({}) }) }),
})
const read = async (path: string) => (await fetch(network.sandbox.base_url + path)).json()

/** The addresses that a wallet can pay, with their protocols. */
async function endpoints() {
  return Info.parse(await read('/api/x402/info')).inference.endpoints
}

describe('the list of paths that wallets can pay for', () => {
  it('has every row of the contract, and no path of keys', async () => {
    const wanted = [
      ...['chat/completions', 'completions'].flatMap((name) => [
        `/v1/${name}`,
        `/api/inference/v1/${name}`,
        `/x402/api/inference/v1/${name}`,
      ]),
      '/v1/responses',
      '/v1/embeddings',
      '/v1/audio/speech',
      '/v1/audio/transcriptions',
      '/v1/images/generations',
      '/v1/images',
      '/v1/images/edits',
      '/v1/video/generations',
      '/v1/videos',
      '/v1/music/generations',
    ]
    expect(new Set((await endpoints()).map(({ path }) => path))).toEqual(new Set(wanted))
  })

  it('is the same for crawlers of x402, with absolute addresses', async () => {
    const { resources, items } = WellKnown.parse(await read('/.well-known/x402'))
    const { forwarded } = Info.parse(await read('/api/x402/info'))
    const examples = forwarded.endpoints.map(({ example }) => example)
    expect(resources).toEqual([...(await endpoints()).map(({ url }) => url), ...examples])
    expect(items.map(({ resource }) => resource)).toEqual(resources)
    const schemes = [
      ...(await endpoints()).map((endpoint) => endpoint.schemes),
      ...examples.map(() => ['upto', 'exact']),
    ]
    expect(items.map(({ accepts }) => accepts.map(({ scheme }) => scheme))).toEqual(schemes)
  })

  it('is true: each address asks for a payment on the same terms, with texts for catalogues that fit their schema', async () => {
    const { x402 } = Info.parse(await read('/api/x402/info'))
    expect(x402.schemes).toEqual(['upto', 'exact'])
    for (const { url, protocols, schemes } of await endpoints()) {
      const answer = await fetch(url, { method: 'POST' })
      const { resource, accepts, extensions } = Demand.parse(await answer.json())
      expect([answer.status, resource.url]).toEqual([402, url])
      expect(accepts.map(({ scheme }) => scheme)).toEqual(schemes)
      for (const { payTo, network: chain } of accepts) expect([payTo, chain]).toEqual([x402.pay_to, x402.network])
      const isMpp = answer.headers.get('www-authenticate')?.startsWith('Payment ') === true
      expect([url, isMpp]).toEqual([url, protocols.includes('mpp')])
      const { info, schema } = extensions.bazaar
      const validate = new Ajv2020({ strict: false }).compile(schema)
      expect([url, validate(info), validate.errors]).toEqual([url, true, null])
      // Clients send extensions back, and Node accepts 16 KB of headers in total.
      expect(answer.headers.get('payment-required')?.length).toBeLessThan(4_096)
    }
  })

  it('names the families of forwarded calls, whose examples can be called unchanged', async () => {
    const { x402, forwarded } = Info.parse(await read('/api/x402/info'))
    expect(forwarded.endpoints.map(({ method, path }) => `${method} ${path}`)).toEqual([
      'GET /x402/api/social/v2/posts/search/recent',
      'GET /x402/api/social/v2/users/by/username/{username}',
      'POST /x402/api/crypto-rpc/rpc/{network}',
    ])
    for (const { method, example } of forwarded.endpoints) {
      const answer = await fetch(example, { method })
      const { accepts, extensions } = Demand.parse(await answer.json())
      expect([answer.status, accepts.map(({ scheme }) => scheme)]).toEqual([402, x402.schemes])
      const { info, schema } = extensions.bazaar
      const validate = new Ajv2020({ strict: false }).compile(schema)
      expect([example, validate(info), validate.errors]).toEqual([example, true, null])
      const { input } = z.looseObject({ input: z.looseObject({ method: z.string() }) }).parse(info)
      expect(input.method).toBe(method)
    }
    expect((await fetch(forwarded.capabilities_url)).status).toBe(200)
  })

  it('is in the OpenAPI document, and in the note for agents', async () => {
    const Described = z.object({
      paths: z.record(z.string(), z.record(z.string(), z.looseObject({ 'x-payment-info': z.unknown().optional() }))),
    })
    const { paths } = Described.parse(await read('/openapi.json'))
    const paid = Object.entries(paths).filter(([, { post }]) => post?.['x-payment-info'] !== undefined)
    expect(new Set(paid.map(([path]) => path))).toEqual(new Set((await endpoints()).map(({ path }) => path)))
    const note = await (await fetch(`${network.sandbox.base_url}/llms.txt`)).text()
    expect(note).toContain('/.well-known/x402')
  })

  it('leaves out the paths that only keys can pay for', async () => {
    const answer = await fetch(`${network.sandbox.base_url}/compat/v1/messages`, { method: 'POST' })
    expect([answer.status, answer.headers.get('payment-required')]).toEqual([401, null])
  })
})

describe('the stock validator of MPP', () => {
  it('reports no fault', async () => {
    const home = await mkdtemp(join(tmpdir(), 'mppx-'))
    const Result = z.object({
      summary: z.looseObject({ passed: z.number(), failed: z.number() }),
      endpoints: z.array(z.unknown()),
    })
    try {
      const bin = join('node_modules', 'mppx', 'dist', 'bin.js')
      const options = { env: { ...process.env, HOME: home }, maxBuffer: 16_777_216 }
      const asked = [bin, 'validate', network.sandbox.base_url, '--output-json']
      const { stdout } = await promisify(execFile)(process.execPath, asked, options)
      const { summary, endpoints: found } = Result.parse(JSON.parse(stdout))
      expect([summary.failed, found.length]).toEqual([0, (await endpoints()).length])
      expect(summary.passed).toBeGreaterThan(100)
    } finally {
      await rm(home, { recursive: true })
    }
  })
})
