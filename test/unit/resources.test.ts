import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { ResourceInput } from '#shared/catalog/resources.ts'
import { ResourceSchema } from '#shared/catalog/resources.ts'
import type { CompiledResource, FoundRoute } from '#shared/resources/compile-resource.ts'
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
import { applyCount, applyText, MAX_COUNT } from '#shared/rules/apply-rule.ts'
import { MAX_RULE_CHARS, parseRule, RuleError } from '#shared/rules/parse-rule.ts'
import { fillPath, matchPath, parsePathPattern } from '#shared/rules/path-pattern.ts'

const SEEDS = JSON.parse(readFileSync('dev/seed/resources.json', 'utf8')) as { resources: ResourceInput[] }

function seed(id: string): ResourceInput {
  const found = SEEDS.resources.find((record) => record.id === id)
  if (found === undefined) throw new Error(`no seed ${id}`)
  return structuredClone(found)
}

function compiled(id: string): CompiledResource {
  return compileResource(ResourceSchema.parse(seed(id)), 3)
}

function routeOf(resource: CompiledResource, method: string, role: string, path: string): FoundRoute {
  const found = findRoute(resource, { method, role, path })
  if (!isFound(found)) throw new Error(found.reason)
  return found
}

function quoted(resource: CompiledResource, found: FoundRoute, body: unknown, query = '') {
  const call = { body, query: new URLSearchParams(query), size: body === undefined ? 0 : JSON.stringify(body).length }
  const good = goodOf(resource, found, call)
  return good && { good, units: quoteUnits(found, good, call) }
}

/** Faults of a seed when the member at a place has another value, as lines of places and messages. */
function wrongs(id: string, place: string, value: unknown): string {
  const record: unknown = seed(id)
  const steps = place.split('.')
  const last = steps.pop() ?? ''
  const at = steps.reduce<unknown>((inner, step) => Object(inner)[step], record)
  Object.assign(Object(at), { [last]: value })
  const read = ResourceSchema.safeParse(JSON.parse(JSON.stringify(record)))
  return read.success ? '' : read.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`).join('\n')
}

const count = (text: string, scope = {}) => applyCount(parseRule(text), scope)

describe('a rule', () => {
  it('calculates with the usual precedence, and absent values make the whole absent', () => {
    expect(count('1 + 2 * 3')).toBe(7)
    expect(count('(1 + 2) * 3 - 4 / 2')).toBe(7)
    expect(count('10 - 3 - 2')).toBe(5)
    expect(count('body.n * 2', { body: {} })).toBeUndefined()
    expect(count('body.n ?? 1 + 1', { body: {} })).toBe(2)
    expect(count('(body.n ?? 1) + 1', { body: { n: null } })).toBe(2)
    expect(count('min(body.a ?? 9, 4)', { body: {} })).toBe(4)
    expect(count('min(body.a, 4)', { body: {} })).toBeUndefined()
  })

  it('counts, sums and measures what a path finds', () => {
    const body = { parts: [{ n: 1, at: [{ u: 'a' }] }, { n: 2, at: 'x' }, { at: [{ u: 'b' }, {}] }] }
    expect(count('count(body.parts)', { body })).toBe(3)
    expect(count('count(body.parts[*].at[*].u)', { body })).toBe(2)
    expect(count('sum(body.parts[*].n)', { body })).toBe(3)
    expect(count('count(body.nothing[*])', { body })).toBe(0)
    expect(count('body.parts[-1].at[0].n ?? 7', { body })).toBe(7)
    expect(count('bytes(body.parts[0])', { body: { parts: ['ü'] } })).toBe(4)
    expect(count("pixels(body.size ?? '1024x768')", { body: {} })).toBe(786_432)
    expect(count("pick(body.q, 'low', 1, 'high', 4)", { body: { q: 'high' } })).toBe(4)
    expect(count("pick(body.q, 'low', 1, 'high', 4)", { body: { q: 'ultra' } })).toBeUndefined()
    expect(count('number(query.n)', { query: { n: '12' } })).toBe(12)
    expect(applyText(parseRule("join(body.model, '/', body.n)"), { body: { model: 'a', n: 2 } })).toBe('a/2')
  })

  it('finds no number where it meets another kind, a negative, a fraction of nothing, or too much', () => {
    for (const n of ['5', -1, Number.NaN, Number.POSITIVE_INFINITY, [], {}, true, MAX_COUNT + 1]) {
      expect([n, count('body.n', { body: { n } })]).toEqual([n, undefined])
    }
    expect(count('1 / (body.n - body.n)', { body: { n: 1 } })).toBeUndefined()
    expect(count('number(query.n)', { query: { n: ['1', '2'] } })).toBeUndefined()
    expect(count('number(query.n)', { query: { n: '1e9' } })).toBeUndefined()
  })

  it('rounds up once, and not for the noise of binary fractions', () => {
    expect(count('0.1 * 3 * 10')).toBe(3)
    expect(count('2.1')).toBe(3)
    expect(count('0.000001')).toBe(1)
  })

  it('sees own members alone', () => {
    expect(count('body.length ?? 1', { body: [1, 2, 3] })).toBe(1)
    expect(count('body.constructor.length ?? 1', { body: {} })).toBe(1)
    expect(count('body.__proto__.x ?? 1', { body: JSON.parse('{"__proto__":{"x":9}}') })).toBe(9)
    expect(count('body.x ?? 1', { body: JSON.parse('{"__proto__":{"x":9}}') })).toBe(1)
  })

  it('is refused with the place of its mistake', () => {
    for (const [text, message] of [
      ['', 'ends too early'],
      ['1 +', 'ends too early'],
      ['1 2', 'is not expected'],
      ['process.exit', 'is not one of'],
      ['eval(1)', 'no function'],
      ['constructor(1)', 'no function'],
      ['min()', 'is not expected'],
      ['ceil(1, 2)', 'takes 1 arguments'],
      ["pick(body.a, 'x')", 'takes 3 to 41'],
      ["pick(body.a, 'x', 1, 'y')", 'and then pairs'],
      ['body.a[*].b[*].c[*]', 'more than 2'],
      ['body[1.5]', 'whole number'],
      ["'a", 'cannot be read'],
      ['1e5', 'cannot be read'],
      ['a;b', 'character 2'],
      [`${'('.repeat(40)}1${')'.repeat(40)}`, 'nests at most'],
      [Array(200).fill('1').join('+'), 'at most 128 parts'],
      ['1'.repeat(MAX_RULE_CHARS + 1), 'characters'],
    ] as const) {
      expect(() => parseRule(text), text).toThrow(RuleError)
      expect(() => parseRule(text), text).toThrow(message)
    }
  })

  it('ends soon and never throws, whatever the text and the scope', () => {
    const words = fc.constantFrom(
      ...['body', 'query', 'size', 'model', '.a', '.b', '[*]', '[0]', '[-1]', '1', '0.5', "'x'", '(', ')', ',', '??'],
      ...[
        '+',
        '-',
        '*',
        '/',
        'min(',
        'max(',
        'ceil(',
        'count(',
        'sum(',
        'bytes(',
        'pixels(',
        'pick(',
        'join(',
        'number(',
      ],
    )
    const texts = fc.oneof(
      fc.string({ maxLength: 60 }),
      fc.array(words, { maxLength: 24 }).map((parts) => parts.join('')),
    )
    fc.assert(
      fc.property(texts, fc.jsonValue(), (text, body) => {
        let rule: ReturnType<typeof parseRule>
        try {
          rule = parseRule(text)
        } catch (thrown) {
          expect(thrown).toBeInstanceOf(RuleError)
          return
        }
        const units = applyCount(rule, { body: { a: body, b: [body, body] }, size: 3, model: { a: 2 } })
        if (units !== undefined) expect(Number.isSafeInteger(units) && units >= 0 && units <= MAX_COUNT).toBe(true)
        applyText(rule, { body })
      }),
      { numRuns: 2_000 },
    )
  })

  it('gives up on a body that multiplies its places', () => {
    const wide = Array.from({ length: 2_000 }, () => ({ b: Array(2_000).fill(1) }))
    const startedAt = performance.now()
    expect(count('count(body.a[*].b[*]) + sum(body.a[*].b[*])', { body: { a: wide } })).toBeUndefined()
    expect(performance.now() - startedAt).toBeLessThan(1_000)
    let deep: unknown = 1
    for (let depth = 0; depth < 100_000; depth++) deep = [deep]
    expect(count('bytes(body)', { body: deep })).toBeUndefined()
  })
})

describe('a pattern of paths', () => {
  const match = (pattern: string, path: string) => {
    const read = parsePathPattern(pattern)
    const found = read && matchPath(read, path)
    return found && { ...found }
  }

  it('captures one segment, or several once', () => {
    expect(match('/v1/videos/{job}', '/v1/videos/v-1')).toEqual({ job: 'v-1' })
    expect(match('/{model+}/requests/{job}/status', '/a/b/c/requests/r1/status')).toEqual({ model: 'a/b/c', job: 'r1' })
    expect(match('/{model+}', '/a/requests/r1')).toEqual({ model: 'a/requests/r1' })
    expect(match('/', '/')).toEqual({})
    expect(match('/a/{rest+}', '/a')).toBeUndefined()
    expect(match('/v1/videos/{job}', '/v1/videos/v/1')).toBeUndefined()
  })

  it('fits no path with dot segments, escapes, empty segments or foreign bytes', () => {
    for (const path of [
      ...['/a/../b', '/a/./b', '/a//b', '/a/', '', 'a', '/a%2fb', '/a%2e%2e/b', '/%252e', '/a\\b', '/a;b?c', '/a#b'],
      ...['/ä', '/a b', '/a\tb', '/a\0b', 'https://host/a', '//host/a', `/${'a'.repeat(3_000)}`],
    ]) {
      expect([path, match('/{all+}', path)]).toEqual([path, undefined])
    }
  })

  it('is refused where it could be read in two ways', () => {
    for (const text of [
      'a',
      '/{a}/{a}',
      '/{a+}/{b+}',
      '/{A}',
      '/a//b',
      '/a/..',
      '/*',
      '/a{b}',
      `/${'a/'.repeat(200)}`,
    ]) {
      expect([text, parsePathPattern(text)]).toEqual([text, undefined])
    }
  })

  it('gives back the path that it was filled with', () => {
    const segment = fc.stringMatching(/^[a-z0-9]{1,8}$/)
    fc.assert(
      fc.property(fc.array(segment, { minLength: 1, maxLength: 4 }), segment, (parts, job) => {
        const pattern = parsePathPattern('/x/{model+}/requests/{job}')!
        const captures = { model: parts.join('/'), job }
        expect({ ...matchPath(pattern, fillPath(pattern, captures)!) }).toEqual(captures)
      }),
    )
  })
})

describe('a record', () => {
  it('of every seed is valid, and its text can be read again', () => {
    for (const record of SEEDS.resources) {
      const read = ResourceSchema.parse(record)
      expect(ResourceSchema.parse(JSON.parse(JSON.stringify(read)))).toEqual(read)
    }
  })

  it('is refused where its parts do not fit together', () => {
    const { routes } = seed('provider-p1')
    for (const [id, place, value, message] of [
      ['provider-p1', 'probe.host', 'nowhere', 'probe.host: no host has this role'],
      ['provider-p1', 'routes.0.host', 'nowhere', 'routes.0.host'],
      ['provider-p1', 'routes.0.good', 'canvas-1', 'routes.0.good'],
      ['provider-p1', 'routes.0.goodAt', undefined, 'routes.0.good'],
      ['provider-p1', 'routes.0.quote', undefined, 'routes.0.quote'],
      ['provider-p1', 'routes.5.quote', { calls: '1' }, 'routes.5.quote'],
      ['provider-p1', 'routes.1.jobAt', undefined, 'routes.1.jobAt'],
      ['provider-p1', 'routes.2.path', '/v1/videos/{id}', 'captures {job}'],
      ['provider-p1', 'routes.0.forwardTo', '/{model}', 'does not capture {model}'],
      ['provider-p1', 'routes', [routes[0], routes[0]], 'images is named twice'],
      ['provider-p1', 'routes.4.good', 'nothing', 'no good has this id'],
      ['provider-p1', 'routes.0.quote', { images: 'answer.n' }, 'answer cannot be seen'],
      ['provider-p1', 'routes.0.quote', { images: 'body.n +' }, 'ends too early'],
      ['provider-p1', 'requestHeaders', ['authorization'], 'never forwarded'],
      ['provider-p1', 'answerHeaders', ['set-cookie'], 'never forwarded'],
      ['provider-p1', 'answerHeaders', ['x-mkt-buyer-cost-micro'], 'never forwarded'],
      ['provider-p1', 'goods.0.prices', { images: '-1' }, 'not a decimal price'],
      ['provider-p1', 'goods.0.prices', {}, 'a good has a price'],
      ['provider-p1', 'hosts.0.baseUrl', 'https://user@host/a', 'hosts.0.baseUrl'],
      ['provider-p1', 'hosts.0.baseUrl', 'https://host/a/', 'hosts.0.baseUrl'],
      ['provider-h', 'hosts.0.baseUrl', 'https://host/x', 'an origin alone'],
      ['provider-h', 'hosts.0.baseUrl', 'http://sandbox-b', 'two roles share a host'],
    ] as const) {
      expect(wrongs(id, place, value), place).toContain(message)
    }
  })

  it('never lets a method through that writes or signs', () => {
    for (const method of [
      ...['eth_sendRawTransaction', 'eth_sendTransaction', 'eth_sign', 'eth_signTypedData_v4', 'personal_sign'],
      ...[
        'wallet_addEthereumChain',
        'admin_addPeer',
        'debug_setHead',
        'eth_newFilter',
        'eth_subscribe',
        'hardhat_mine',
      ],
      ...['sendTransaction', 'eth_accounts', 'engine_newPayloadV3', 'eth_SENDTransaction'],
    ]) {
      expect(wrongs('crypto-rpc', `routes.0.rpc.methods.${method}`, 'light'), method).toContain('writes or signs')
    }
    expect(wrongs('crypto-rpc', 'routes.0.rpc.methods.eth_call', 'nothing')).toContain('no class')
  })
})

describe('the routes of a record', () => {
  it('are found by method, host and path, and a fence wins over them', () => {
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

  it('say how a job goes and which id it has', () => {
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
  it('bounds what it can consume', () => {
    const h = compiled('provider-h')
    const run = routeOf(h, 'POST', 'run', '/studio/flux-dev')
    expect(quoted(h, run, { num_images: 2, image_size: 'square' })?.units).toEqual({
      ...{ pixels: 524_288, images: 2, milliseconds: 5_000 },
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

  it('is none where a unit with a price cannot be counted, and for what the record does not sell', () => {
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

  it('prices methods of JSON-RPC by their class and knows no others', () => {
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

  it('is what the provider reports, or the quote where that is lower or nothing is reported', () => {
    const reported = report({ prompt_tokens: 50, completion_tokens: 20, prompt_tokens_details: { cached_tokens: 10 } })
    expect(reported).toEqual({ input: 40, cacheRead: 10, output: 20 })
    expect(chargeableUnits(good, bound, reported)).toBe(reported)
    const tooMuch = report({ prompt_tokens: 5_000_000, completion_tokens: 20 })
    expect(chargeableUnits(good, bound, tooMuch)).toBe(bound)
    for (const usage of [undefined, {}, { prompt_tokens: '5', completion_tokens: 1 }, { prompt_tokens: 5 }, 7, null]) {
      expect([usage, chargeableUnits(good, bound, report(usage))]).toEqual([usage, bound])
    }
    // More cached tokens than tokens would be a negative count.
    expect(
      report({ prompt_tokens: 5, completion_tokens: 1, prompt_tokens_details: { cached_tokens: 6 } }),
    ).toBeUndefined()
  })

  it('never costs more than the quote, whatever an answer says', () => {
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
