import { describe, expect, it } from 'vitest'
import { checkFraming, isOtherHost } from '#data-plane/http/raw-request.ts'

const HOSTS = { base: 'site.example', api: 'api.site.example' }

describe('a path on the host that it is not for', () => {
  it.each([
    ['api.site.example', '/api/inference/v1/chat/completions', true],
    ['api.site.example', '/.well-known/x402', true],
    ['site.example', '/v1/chat/completions', true],
    ['site.example', '/min5/v1/chat/completions', true],
    ['site.example', '/compat/v1/messages', true],
    ['site.example', '/api/markets', true],
    ['api.site.example', '/v1/chat/completions', false],
    ['site.example', '/api/inference/v1/chat/completions', false],
    ['site.example', '/health/live', false],
    ['other.example', '/v1/models', false],
  ])('[C076] %s%s: %s', (host, url, isOther) => {
    expect(isOtherHost(HOSTS, host, url)).toBe(isOther)
    expect(isOtherHost({ base: 'one.example', api: 'one.example' }, host, url)).toBe(false)
  })
})

describe('the framing of a request', () => {
  it('[C082, C084] has one host, one credential and a path', () => {
    const host = ['Host', 'a.example']
    expect(checkFraming(host, '/v1/models')).toBeUndefined()
    for (const [lines, url] of [
      [[...host, 'HOST', 'b.example'], '/'],
      [[...host, 'Authorization', 'a', 'authorization', 'a'], '/'],
      [host, 'http://a.example/'],
      [host, '*'],
    ] as const) {
      expect(checkFraming(lines, url)?.code).toBe('invalid_request')
    }
  })
})
