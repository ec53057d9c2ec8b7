import { describe, expect, it } from 'vitest'
import { checkFraming } from '#data-plane/http/raw-request.ts'

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
