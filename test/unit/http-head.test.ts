import { describe, expect, it } from 'vitest'
import { createHeadCheck } from '#shared/http-head.ts'

const faultOfHead = createHeadCheck()

function codeOf(lines: readonly (readonly [name: string, value: string])[], url = '/v1/models'): string | undefined {
  const host = lines.find(([name]) => name.toLowerCase() === 'host')?.[1]
  return faultOfHead({ rawHeaders: lines.flat(), headers: { host }, url })?.error.code
}

const HOST = ['Host', 'a.example'] as const

describe('the head of a request', () => {
  it('has one host, one credential and a path', () => {
    expect(codeOf([HOST])).toBeUndefined()
    for (const lines of [
      [],
      [HOST, ['HOST', 'b.example']],
      [HOST, HOST],
      [HOST, ['Authorization', 'a'], ['authorization', 'a']],
      [HOST, ['x-api-key', 'a'], ['X-Api-Key', 'b']],
      [HOST, ['Content-Type', 'application/json'], ['content-type', 'text/plain']],
    ] as const) {
      expect([lines, codeOf(lines)]).toEqual([lines, 'invalid_request'])
    }
    for (const url of ['http://a.example/', '*', '/v1/models#x', ''])
      expect(codeOf([HOST], url)).toBe('invalid_request')
  })

  it.each(['localhost', 'data_plane:8402', 'a.example.', '127.0.0.1:80', '[::1]', '[2001:db8::1]:8080', 'A-b.c:65535'])(
    'accepts the host %s',
    (host) => expect(codeOf([['host', host]])).toBeUndefined(),
  )

  it.each([
    '',
    'user@a.example',
    'user:pw@a.example',
    'a b',
    'a/b',
    'a?b',
    'a#b',
    'a\\b',
    'a,b',
    'a..b',
    '.a',
    '-a',
    'a:b',
    'a:',
    'a:99999',
    '::1',
    '[::1',
    '[zz]',
    'ä.example',
    `${'a'.repeat(64)}.`.repeat(4),
  ])('refuses the host %j', (host) => {
    expect(codeOf([['host', host]])).toBe('invalid_request')
  })
})
