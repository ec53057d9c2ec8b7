import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { ResourceInput } from '#shared/catalog/resources.ts'
import { ResourceSchema } from '#shared/catalog/resources.ts'
import type { CompiledResource, RouteMatch } from '#shared/resources/compile-resource.ts'
import { compileResource, findRoute, isFound } from '#shared/resources/compile-resource.ts'
import {
  chargeableUnits,
  goodOf,
  jobOf,
  quoteUnits,
  reportedUnits,
  rpcUnits,
  stateOf,
} from '#shared/resources/quote-resource.ts'

const SEEDS = JSON.parse(readFileSync('dev/seed/resources.json', 'utf8')) as { resources: ResourceInput[] }

function seed(id: string): ResourceInput {
  const found = SEEDS.resources.find((record) => record.id === id)
  if (found === undefined) throw new Error(`no seed ${id}`)
  return structuredClone(found)
}

function compiled(id: string): CompiledResource {
  return compileResource(ResourceSchema.parse(seed(id)), 3)
}

function routeOf(resource: CompiledResource, method: string, role: string, path: string): RouteMatch {
  const found = findRoute(resource, { method, role, path })
  if (!isFound(found)) throw new Error(found.reason)
  return found
}

function quoted(resource: CompiledResource, found: RouteMatch, body: unknown, query = '') {
  const call = { body, query: new URLSearchParams(query), size: body === undefined ? 0 : JSON.stringify(body).length }
  const good = goodOf(resource, found, call)
  return good && { good, units: quoteUnits(found, good, call) }
}

/** The faults of a seed with another value at one place, as lines of places and messages. */
function wrongs(id: string, place: string, value: unknown): string {
  const record: unknown = seed(id)
  const steps = place.split('.')
  const last = steps.pop() ?? ''
  const at = steps.reduce<unknown>((inner, step) => Object(inner)[step], record)
  Object.assign(Object(at), { [last]: value })
  const read = ResourceSchema.safeParse(JSON.parse(JSON.stringify(record)))
  return read.success ? '' : read.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`).join('\n')
}

describe('a record', () => {
  it('of every seed is valid, and its text can be read again', () => {
    for (const record of SEEDS.resources) {
      const read = ResourceSchema.parse(record)
      expect(ResourceSchema.parse(JSON.parse(JSON.stringify(read)))).toEqual(read)
    }
  })

  it('is refused where its parts contradict each other', () => {
    const { routes } = seed('provider-p1')
    for (const [id, place, value, message] of [
      ['provider-p1', 'probe.host', 'nowhere', 'probe.host: no host has this role'],
      ['provider-p1', 'routes.0.host', 'nowhere', 'routes.0.host'],
      ['provider-p1', 'routes.0.good', 'canvas-1', 'routes.0.good'],
      ['provider-p1', 'routes.0.goodAt', undefined, 'routes.0.good'],
      ['provider-p1', 'routes.0.quote', undefined, 'routes.0.quote'],
      ['provider-p1', 'routes.5.quote', { calls: '1' }, 'routes.5.quote'],
      ['provider-p1', 'routes.1.jobAt', undefined, 'routes.1.jobAt'],
      ['provider-p1', 'routes.2.path', '/v1/videos/{id}', 'must capture {job}'],
      ['provider-p1', 'routes.0.forwardTo', '/{model}', 'does not capture {model}'],
      ['provider-p1', 'routes', [routes[0], routes[0]], 'images is named twice'],
      ['provider-p1', 'routes.4.good', 'nothing', 'no good has this id'],
      ['provider-p1', 'routes.0.quote', { images: 'answer.n' }, 'answer cannot be seen'],
      ['provider-p1', 'routes.0.quote', { images: 'body.n +' }, 'ends too early'],
      ['provider-p1', 'requestHeaders', ['authorization'], 'never forwarded'],
      ['provider-p1', 'answerHeaders', ['set-cookie'], 'never forwarded'],
      ['provider-p1', 'answerHeaders', ['x-mkt-buyer-cost-micro'], 'never forwarded'],
      ['provider-p1', 'goods.0.prices', { images: '-1' }, 'a price must be a decimal number'],
      ['provider-p1', 'goods.0.prices', {}, 'a good needs a price'],
      ['provider-p1', 'hosts.0.baseUrl', 'https://user@host/a', 'hosts.0.baseUrl'],
      ['provider-p1', 'hosts.0.baseUrl', 'https://host/a/', 'hosts.0.baseUrl'],
      ['provider-h', 'hosts.0.baseUrl', 'https://host/x', 'an origin alone'],
      ['provider-h', 'hosts.0.baseUrl', 'http://sandbox-b', 'two roles share a host'],
    ] as const) {
      expect(wrongs(id, place, value), place).toContain(message)
    }
  })

  it('never allows a method that writes or signs', () => {
    for (const method of [
      'eth_sendRawTransaction',
      'eth_sendTransaction',
      'eth_sign',
      'eth_signTypedData_v4',
      'personal_sign',
      'wallet_addEthereumChain',
      'admin_addPeer',
      'debug_setHead',
      'eth_newFilter',
      'eth_subscribe',
      'hardhat_mine',
      'sendTransaction',
      'eth_accounts',
      'engine_newPayloadV3',
      'eth_SENDTransaction',
    ]) {
      expect(wrongs('crypto-rpc', `routes.0.rpc.methods.${method}`, 'light'), method).toContain('writes or signs')
    }
    expect(wrongs('crypto-rpc', 'routes.0.rpc.methods.eth_call', 'nothing')).toContain('no class')
  })
})

describe('the routes of a record', () => {
  it('are found by method, host and path; a fence has precedence over a route', () => {
    const h = compiled('provider-h')
    expect(routeOf(h, 'POST', 'run', '/studio/flux-dev').route.id).toBe('run')
    expect(routeOf(h, 'POST', 'queue', '/studio/flux-dev').route.id).toBe('queue')
    expect(routeOf(h, 'GET', 'queue', '/studio/flux-dev/requests/r1/status').route.id).toBe('queue-status')
    expect(routeOf(h, 'GET', 'queue', '/studio/flux-dev/requests/r1').route.id).toBe('queue-result')
    expect(findRoute(h, { method: 'POST', role: 'run', path: '/keys/new' })).toEqual({
      reason: "Keys of the lender's account are never reachable.",
    })
    expect(isFound(findRoute(h, { method: 'GET', role: 'run', path: '/studio/flux-dev' }))).toBe(false)
    const rpc = compiled('crypto-rpc')
    expect(isFound(findRoute(rpc, { method: 'POST', role: 'api', path: '/rpc/base-mainnet' }))).toBe(true)
    expect(isFound(findRoute(rpc, { method: 'POST', role: 'api', path: '/rpc/elsewhere' }))).toBe(false)
  })

  it('read the state of a job and its id', () => {
    const h = compiled('provider-h')
    const { route } = routeOf(h, 'GET', 'queue', '/studio/motion/requests/r1/status')
    const given = (answer: unknown) => ({ answer, headers: {} })
    expect(stateOf(route, given({ status: 'COMPLETED' }))).toBe('done')
    expect(stateOf(route, given({ status: 'FAILED' }))).toBe('failed')
    expect(stateOf(route, given({ status: 'IN_QUEUE' }))).toBe('unknown')
    expect(stateOf(route, given('text'))).toBe('unknown')
    const queue = routeOf(h, 'POST', 'queue', '/studio/motion').route
    expect(jobOf(queue, given({ request_id: 'r-1' }))).toBe('r-1')
    for (const id of ['../x', '', 'a/b', 'a b', 'x'.repeat(300), 5.5, null, {}]) {
      const job = jobOf(queue, given({ request_id: id }))
      expect([id, job]).toEqual([id, id === 5.5 ? '5.5' : undefined])
    }
  })
})

describe('the quote of a call', () => {
  it('bounds the consumption of the call', () => {
    const h = compiled('provider-h')
    const run = routeOf(h, 'POST', 'run', '/studio/flux-dev')
    expect(quoted(h, run, { num_images: 2, image_size: 'square' })?.units).toEqual({
      pixels: 524_288,
      images: 2,
      milliseconds: 5_000,
    })
    expect(quoted(h, run, { image_size: { width: 100, height: 200 } })?.units).toMatchObject({ pixels: 20_000 })
    const p2 = compiled('provider-p2')
    const chat = routeOf(p2, 'POST', 'api', '/chat/completions')
    const body = { model: 'gpt-5-mini', max_tokens: 100, n: 3, messages: [{ role: 'user', content: 'hi' }] }
    expect(quoted(p2, chat, body)?.units).toEqual({ input: JSON.stringify(body).length, cacheRead: 0, output: 300 })
    expect(quoted(p2, chat, { model: 'gpt-5-mini', messages: [] })?.units).toMatchObject({ output: 128_000 })
    expect(quoted(p2, chat, body)?.good.price.version).toBe('provider-p2@3')
    const social = compiled('social')
    const search = routeOf(social, 'GET', 'api', '/v2/posts/search/recent')
    expect(quoted(social, search, undefined, 'query=a&max_results=50')?.units).toEqual({ calls: 50 })
  })

  it('is missing where a unit with a price cannot be counted, and for goods that the record does not sell', () => {
    const h = compiled('provider-h')
    const run = routeOf(h, 'POST', 'run', '/studio/flux-dev')
    for (const body of [
      { image_size: 'huge' },
      { num_images: '2' },
      { num_images: -1 },
      { image_size: { width: 9 } },
    ]) {
      expect([body, quoted(h, run, body)?.units]).toEqual([body, undefined])
    }
    expect(quoted(h, routeOf(h, 'POST', 'run', '/studio/unknown'), {})).toBeUndefined()
    const p1 = compiled('provider-p1')
    const videos = routeOf(p1, 'POST', 'api', '/v1/videos')
    expect(quoted(p1, videos, { model: 'reel-1' })?.units).toBeUndefined()
    expect(quoted(p1, videos, { model: 'reel-1', seconds: 1_000_000_000 })?.units).toBeUndefined()
    expect(quoted(p1, videos, { model: '__proto__', seconds: 1 })).toBeUndefined()
    const social = compiled('social')
    const search = routeOf(social, 'GET', 'api', '/v2/posts/search/recent')
    expect(quoted(social, search, undefined, 'max_results=10&max_results=100')?.units).toBeUndefined()
  })

  it('prices methods of JSON-RPC by their class, and knows no others', () => {
    const { route } = routeOf(compiled('crypto-rpc'), 'POST', 'api', '/rpc/base-mainnet')
    expect(rpcUnits(route, 'eth_chainId')).toBe(10)
    expect(rpcUnits(route, 'eth_getLogs')).toBe(75)
    for (const method of ['eth_sendRawTransaction', '__proto__', 'constructor', '', 'eth_call ']) {
      expect([method, rpcUnits(route, method)]).toEqual([method, undefined])
    }
  })
})

describe('the charge of a call', () => {
  const p2 = compiled('provider-p2')
  const chat = routeOf(p2, 'POST', 'api', '/chat/completions')
  const good = p2.goods.get('gpt-5-mini')!
  const bound = { input: 500, cacheRead: 0, output: 100 }
  const report = (usage: unknown) => reportedUnits(chat, good, bound, { answer: { usage }, headers: {} })

  it('is the usage that the provider reports; it is the quote where the quote is lower or no usage is reported', () => {
    const reported = report({ prompt_tokens: 50, completion_tokens: 20, prompt_tokens_details: { cached_tokens: 10 } })
    expect(reported).toEqual({ input: 40, cacheRead: 10, output: 20 })
    expect(chargeableUnits(good, bound, reported)).toBe(reported)
    const tooMuch = report({ prompt_tokens: 5_000_000, completion_tokens: 20 })
    expect(chargeableUnits(good, bound, tooMuch)).toBe(bound)
    for (const usage of [undefined, {}, { prompt_tokens: '5', completion_tokens: 1 }, { prompt_tokens: 5 }, 7, null]) {
      expect([usage, chargeableUnits(good, bound, report(usage))]).toEqual([usage, bound])
    }
    // More cached tokens than total tokens would make a negative count.
    expect(
      report({ prompt_tokens: 5, completion_tokens: 1, prompt_tokens_details: { cached_tokens: 6 } }),
    ).toBeUndefined()
  })

  it('is never above the quote, for any answer', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (answer) => {
        const reported = reportedUnits(chat, good, bound, { answer, headers: {} })
        const units = chargeableUnits(good, bound, reported)
        expect(
          (units.input ?? 0) * 250 + (units.output ?? 0) * 2_000 + (units.cacheRead ?? 0) * 25,
        ).toBeLessThanOrEqual(500 * 250 + 100 * 2_000)
      }),
      { numRuns: 300 },
    )
  })

  it('takes units that a route never reports from the quote', () => {
    const h = compiled('provider-h')
    const run = routeOf(h, 'POST', 'run', '/studio/flux-dev')
    const flux = h.goods.get('studio/flux-dev')!
    const units = { pixels: 786_432, images: 1, milliseconds: 5_000 }
    const given = { answer: { images: [{}] }, headers: {} }
    expect(reportedUnits(run, flux, units, given)).toEqual(units)
  })
})
