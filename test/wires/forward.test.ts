import { describe, expect, it } from 'vitest'
import { family, resource, resourceByWallet } from '#data-plane/wires/forward/index.ts'
import { findRepeatedMember } from '#data-plane/wires/forward/repeated-members.ts'
import { microUsd } from '#shared/money.ts'
import { buildPlan } from '#test/support/bytes/build-market.ts'
import { codeOf, H, IMAGE, P1, P2, QUEUE, RPC, RUN, read, target } from '#test/support/bytes/forward-wire.ts'

const RECEIPT = { chargeMicro: microUsd(5), listMicro: microUsd(10), listInputMicro: microUsd(0), usage: {} }
const call = (method: string) => ({ jsonrpc: '2.0', id: 1, method, params: [] })

describe('the path of a call', () => {
  it.each([
    ['provider-h with a path', `${H}/studio/flux-dev`, target(`${RUN}/studio/flux-dev`), 'unexpected_path'],
    ['provider-h with a slash', `${H}/`, target(`${RUN}/studio/flux-dev`), 'unexpected_path'],
    ['an unknown provider', '/resources/unknown/v1/images', {}, 'no_resource_offer'],
    ['a provider with an odd name', '/resources/__proto__/x', {}, 'no_resource_offer'],
    ['a family in place of a resource', '/resources/social/v2/users/me', {}, 'no_resource_offer'],
    ['a fenced path', `${P1}/v1/me`, { method: 'GET' }, 'platform_route_refused'],
    ['a path without a route', `${P1}/v1/nothing`, {}, 'platform_route_refused'],
    ['the wrong method', `${P1}/v1/images`, { method: 'GET' }, 'platform_route_refused'],
    ['dot segments', `${P1}/v1/videos/../images`, { body: IMAGE }, 'platform_route_refused'],
    ['encoded dot segments', `${P1}/v1/%2e%2e/images`, { body: IMAGE }, 'platform_route_refused'],
    ['an encoded slash', `${P1}/v1%2Fimages`, { body: IMAGE }, 'platform_route_refused'],
    ['double encoding', `${P1}/v1%252Fimages`, { body: IMAGE }, 'platform_route_refused'],
    ['a dot segment with parameters', `${P1}/v1/..;/images`, { body: IMAGE }, 'platform_route_refused'],
    ['a dot with parameters', `${P1}/v1/.;x=1/images`, { body: IMAGE }, 'platform_route_refused'],
    ['an empty segment', `${P1}//v1/images`, { body: IMAGE }, 'platform_route_refused'],
    ['a backslash', `${P1}/v1\\images`, { body: IMAGE }, 'platform_route_refused'],
    ['an absolute form inside', `${P1}/https://sandbox-c.example/v1/images`, { body: IMAGE }, 'platform_route_refused'],
    ['a model without a price', `${P1}/v1/images`, { body: { ...IMAGE, model: 'canvas-9' } }, 'provider_unpriceable'],
    ['units that are not a number', `${P1}/v1/images`, { body: { ...IMAGE, n: 'many' } }, 'provider_unpriceable'],
    ['no model', `${P1}/v1/images`, { body: { n: 1 } }, 'provider_unpriceable'],
    ['no body', `${P1}/v1/images`, {}, 'provider_unpriceable'],
    ['a long model, run at once', H, { ...target(`${RUN}/studio/motion`), body: {} }, 'job_route_required'],
    ['a member named twice', `${P1}/v1/images`, { body: '{"model":"canvas-1","n":1,"n":9}' }, 'invalid_request'],
    ['a body that is not an object', `${P1}/v1/images`, { body: '[1]' }, 'invalid_request'],
    ['a body that is not JSON', `${P1}/v1/images`, { body: '{' }, 'invalid_json'],
  ])('%s', (_name, path, given, code) => expect(codeOf(resource, path, given)).toBe(code))

  it('of the queue is not sold to wallets', () => {
    const given = { ...target(`${QUEUE}/studio/motion`), body: { duration: 5 } }
    expect(codeOf(resource, H, given)).toBe('read')
    expect(codeOf(resourceByWallet, '/x402/resources/provider-h', given)).toBe('job_route_required')
  })
})

describe('x-target-url', () => {
  it.each([
    ['absent', undefined],
    ['empty', ''],
    ['relative', '/studio/flux-dev'],
    ['another scheme', 'http://sandbox-a.example/studio/flux-dev'],
    ['the scheme of FTP', 'file:///etc/passwd'],
    ['another host', 'https://evil.example/studio/flux-dev'],
    ['a host with the right ending', 'https://x-sandbox-a.example/studio/flux-dev'],
    ['a host with the right beginning', 'https://sandbox-a.example.evil.example/studio/flux-dev'],
    ['user info', 'https://user:pass@sandbox-a.example/studio/flux-dev'],
    ['a host after user info', 'https://sandbox-a.example@evil.example/studio/flux-dev'],
    ['a port', 'https://sandbox-a.example:8443/studio/flux-dev'],
    ['the default port', 'https://sandbox-a.example:443/studio/flux-dev'],
    ['a dot after the host', 'https://sandbox-a.example./studio/flux-dev'],
    ['punycode', 'https://xn--sandbox-a.example/studio/flux-dev'],
    ['look-alike letters', 'https://sandbоx-a.example/studio/flux-dev'],
    ['an IP address', 'https://127.0.0.1/studio/flux-dev'],
    ['an IP address in another base', 'https://2130706433/studio/flux-dev'],
    ['a fragment', 'https://sandbox-a.example/studio/flux-dev#x'],
    ['a backslash', 'https://sandbox-a.example\\@evil.example/studio/flux-dev'],
    ['a space', ' https://sandbox-a.example/studio/flux-dev'],
    ['two addresses', 'https://sandbox-a.example/studio/flux-dev, https://evil.example/'],
    ['an encoded host', 'https://sandbox-a%2eexample/studio/flux-dev'],
    ['too long', `https://sandbox-a.example/${'a'.repeat(2_048)}`],
  ])('%s is refused', (_name, url) => {
    const headers = url === undefined ? {} : { 'x-target-url': url }
    expect(codeOf(resource, H, { headers, body: {} })).toBe('invalid_target_url')
  })

  it.each([
    ['dot segments', `${RUN}/account/../studio/flux-dev`],
    ['encoded dots', `${RUN}/studio/%2e%2e/account`],
    ['an encoded slash', `${RUN}/studio%2Fflux-dev`],
    ['a fenced path', `${RUN}/account`],
    ['a double slash', `${RUN}//studio/flux-dev`],
  ])('with %s in its path is not reachable', (_name, url) => {
    expect(codeOf(resource, H, { ...target(url), body: {} })).toBe('platform_route_refused')
  })

  it('must be in the header with its query', () => {
    const query = new URLSearchParams('logs=1')
    expect(codeOf(resource, H, { ...target(`${RUN}/studio/flux-dev`), query, body: {} })).toBe('unexpected_path')
  })
})

describe('X-MKT-Require', () => {
  const codeFor = (traits: string) =>
    codeOf(resource, `${P1}/v1/images`, { headers: { 'x-mkt-require': traits }, body: IMAGE })
  it.each([
    ['account.tier2', 'read'],
    ['account.tier2, no.such', 'read'],
    ['__proto__.x', 'trait_unavailable'],
    ['a.b,,c.d', 'invalid_request'],
    ['', 'read'],
    ['  ', 'read'],
    [',', 'invalid_request'],
    ['tier2', 'invalid_request'],
    [Array.from({ length: 100 }, (_, at) => `a.b${at}`).join(), 'invalid_request'],
  ])('%s: %s', (traits, code) => expect(codeFor(traits)).toBe(code))
})

describe('a request to a provider', () => {
  it('has the received bytes, also where they look like a credential, under new headers', () => {
    const body =
      '{ "model": "gpt-5-mini", "messages": [], "max_tokens": 10, "api_key": "sk-buyer", "Authorization": "x" }'
    const headers = {
      authorization: 'Bearer inf_x',
      cookie: 'a=b',
      host: 'api.example',
      'x-forwarded-for': '1.2.3.4',
      expect: 'x',
      'idempotency-key': 'k',
      'x-mkt-require': 'account.tier2',
      'openai-beta': 'x=1',
      accept: 'text/plain',
      te: 'x',
      'x-api-key': 'k',
      'payment-signature': 'p',
      upgrade: 'h2c',
      trailer: 'x',
      range: 'bytes=0-1',
      via: 'x',
    }
    const parsed = read(resource, P2, { body, headers })
    const request = parsed.encode(buildPlan())
    expect(request).toMatchObject({ method: 'POST', contentType: 'application/json', accept: 'text/plain' })
    expect(Buffer.concat([...(request.pieces ?? [])]).toString()).toBe(body)
    expect(request.passedOn).toMatchObject({
      url: 'https://sandbox-d.example/v1/chat/completions',
      headers: ['openai-beta', 'x=1'],
      sealedFor: 'provider-p2',
      credential: { header: 'authorization', prefix: 'Bearer ' },
    })
  })

  it('keeps its query', () => {
    const query = new URLSearchParams('max_results=20&query=a b')
    const parsed = read(family, '/x402/api/social/v2/posts/search/recent', { method: 'GET', query })
    expect(parsed.encode(buildPlan()).passedOn?.url).toBe(
      'https://sandbox-e.example/social/v2/posts/search/recent?max_results=20&query=a+b',
    )
    expect(parsed.demand.bounds.units?.most).toEqual({ calls: 20 })
  })
})

describe('JSON-RPC', () => {
  it.each([
    ['a batch of 0', [], 'invalid_request'],
    ['a batch of 1', [call('eth_chainId')], 'read'],
    ['a batch of 100', Array.from({ length: 100 }, () => call('eth_chainId')), 'read'],
    ['a batch of 101', Array.from({ length: 101 }, () => call('eth_chainId')), 'invalid_request'],
    ['a nested batch', [[call('eth_chainId')]], 'invalid_request'],
    ['not an object', '"eth_chainId"', 'invalid_request'],
    ['nothing', '', 'invalid_json'],
    ['an id that is an object', { ...call('eth_chainId'), id: {} }, 'invalid_request'],
    ['an id beyond the range of numbers', '{"jsonrpc":"2.0","id":1e400,"method":"eth_chainId"}', 'invalid_request'],
    ['an id that is true', { ...call('eth_chainId'), id: true }, 'invalid_request'],
    ['a method that is a number', { ...call('eth_chainId'), method: 5 }, 'invalid_request'],
    ['params that are a string', { ...call('eth_chainId'), params: 'x' }, 'invalid_request'],
    ['jsonrpc 1.0', { ...call('eth_chainId'), jsonrpc: '1.0' }, 'invalid_request'],
    ['an unknown member', { ...call('eth_chainId'), more: 1 }, 'invalid_request'],
    ['a prototype', '{"jsonrpc":"2.0","id":1,"method":"eth_chainId","__proto__":{}}', 'invalid_request'],
    ['a method twice', '{"jsonrpc":"2.0","id":1,"method":"eth_chainId","method":"eth_call"}', 'invalid_request'],
    ['a method that writes', call('eth_sendRawTransaction'), 'platform_route_refused'],
    ['a method that signs', call('eth_sign'), 'platform_route_refused'],
    ['a method of the node', call('admin_peers'), 'platform_route_refused'],
    ['a method of Object', call('constructor'), 'platform_route_refused'],
    ['one bad method among many', [call('eth_chainId'), call('eth_sendTransaction')], 'platform_route_refused'],
  ])('%s', (_name, body, code) => expect(codeOf(family, RPC, { body })).toBe(code))

  it('of a network that is not sold is not reachable', () => {
    expect(codeOf(family, '/x402/api/crypto-rpc/rpc/nowhere', { body: call('eth_chainId') })).toBe(
      'platform_route_refused',
    )
  })

  function exchange(body: string, answer: string) {
    const parsed = read(family, RPC, { body })
    const request = parsed.encode(buildPlan())
    const decoder = parsed.decoder(buildPlan())
    decoder.head?.takes?.({ status: 200, contentType: 'application/json', headers: {} })
    decoder.push(Buffer.from(answer))
    decoder.end()
    const sent = Buffer.concat([...(request.pieces ?? [])]).toString()
    return {
      sent,
      units: parsed.demand.bounds.units?.most,
      failure: decoder.failure()?.kind,
      got: decoder.whole?.pieces(RECEIPT)?.join(''),
    }
  }

  it('costs the class of each method, and answers come in order under the given ids, also twice', () => {
    const body =
      '[{"jsonrpc":"2.0","id":7,"method":"eth_chainId"},{"jsonrpc":"2.0","id":7,"method":"eth_getLogs","params":[{}]},{"jsonrpc":"2.0","method":"eth_chainId"},{"jsonrpc":"2.0","id":"a","method":"eth_call","params":[1e400]}]'
    const answer =
      '[{"jsonrpc":"2.0","id":3,"error":{"code":3,"message":"x"}},{"jsonrpc":"2.0","id":1,"result":[]},{"id":0,"result":12345678901234567890}]'
    expect(exchange(body, answer)).toEqual({
      sent: '[{"jsonrpc":"2.0","id":0,"method":"eth_chainId"},{"jsonrpc":"2.0","id":1,"method":"eth_getLogs","params":[{}]},{"jsonrpc":"2.0","method":"eth_chainId"},{"jsonrpc":"2.0","id":3,"method":"eth_call","params":[1e400]}]',
      units: { calls: 10 + 75 + 10 + 26 },
      failure: undefined,
      got: '[{"jsonrpc":"2.0","id":7,"result":12345678901234567890},{"jsonrpc":"2.0","id":7,"result":[]},{"jsonrpc":"2.0","id":"a","error":{"code":3,"message":"x"}}]',
    })
  })

  it('keeps a large id in its written form', () => {
    const body = `{"jsonrpc":"2.0","id":1${'0'.repeat(200)},"method":"eth_chainId"}`
    expect(exchange(body, '{"id":0,"result":"0x1"}').got).toBe(
      `{"jsonrpc":"2.0","id":1${'0'.repeat(200)},"result":"0x1"}`,
    )
  })

  it.each([
    ['an error for the whole batch', '{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"x"}}'],
    ['a missing answer', '[{"id":0,"result":1}]'],
    ['an answer twice', '[{"id":0,"result":1},{"id":0,"result":1}]'],
    ['an answer to no request', '[{"id":0,"result":1},{"id":5,"result":1}]'],
    ['an answer without a result', '[{"id":0,"result":1},{"id":1}]'],
    ['no JSON', 'oops'],
  ])('fails over %s', (_name, answer) => {
    const body = JSON.stringify([call('eth_chainId'), call('eth_chainId')])
    expect(exchange(body, answer).failure).toBe('malformed')
  })

  it('of notifications alone has an empty answer', () => {
    expect(exchange('{"jsonrpc":"2.0","method":"eth_chainId"}', '')).toMatchObject({ failure: undefined, got: '' })
  })
})

describe('a duplicate member', () => {
  it.each([
    ['{"a":1,"b":{"a":1},"c":[{"a":1},{"a":2}]}', undefined],
    ['{"a":1,"\\u0061":2}', 'a'],
    ['{"b":{"c":"a\\\\","d":{"x":1,"x":2}}}', 'x'],
    ['[{"a":"{\\"a\\":1,\\"a\\":2}"}]', undefined],
    ['{"a":"\\\\\\"","a":1}', 'a'],
  ])('in %s is %s', (text, name) => expect(findRepeatedMember(text)).toBe(name))
})
