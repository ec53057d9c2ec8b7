import { describe, expect, it } from 'vitest'
import { classifyBadAnswer, classifyError, classifyStatus } from '#data-plane/upstream/classify.ts'
import { readErrorBody } from '#shared/protocols/answers/error-body.ts'
import { readRetryAfter } from '#shared/retry-after.ts'

/** A provider that never repeats its key. */
const NOBODY = { holdsKey: () => false, requestText: () => '' }

describe('the classifier of upstream failures', () => {
  it.each([
    [401, 'credential_rejected', 'offer', 502],
    [402, 'account_rejected', 'offer', 502],
    [403, 'credential_rejected', 'offer', 502],
    [404, 'not_found', 'offer', 502],
    [408, 'timeout', 'offer', 504],
    [429, 'rate_limited', 'offer', 429],
    [529, 'overloaded', 'offer', 503],
    [503, 'overloaded', 'offer', 503],
    [500, 'server_error', 'offer', 502],
    [302, 'bad_response', 'offer', 502],
    [204, 'bad_response', 'offer', 502],
    [400, 'bad_request', 'buyer', 400],
    [422, 'bad_request', 'buyer', 400],
  ] as const)('status %i is %s, the fault of the %s, and %i to the buyer', (status, errorClass, fault, shown) => {
    const failure = classifyStatus(status, readErrorBody('{"error":{"message":"words"}}'), NOBODY)
    expect([failure.errorClass, failure.fault, failure.error.status]).toEqual([errorClass, fault, shown])
  })

  it('never reports a rejected seller credential as the buyer’s own, and hides the words of a failing provider', () => {
    const { error } = classifyStatus(
      401,
      readErrorBody('{"error":{"message":"Incorrect API key provided: sk-secret12345678"}}'),
      NOBODY,
    )
    expect(error.code).toBe('upstream_error')
    expect(JSON.stringify([error.message, error.detail])).not.toContain('key')
  })

  it("passes on the provider's words about the request, on one line", () => {
    const { error, detail } = classifyStatus(400, readErrorBody('{"error":{"message":"bad\\nfield"}}'), NOBODY)
    expect(error.message).toBe('The provider rejected the request: bad field')
    expect(detail).toBe('status 400: bad field')
  })

  it('recognises an input that is too long', () => {
    const text =
      '{"error":{"message":"This model\'s maximum context length is 8192 tokens","code":"context_length_exceeded"}}'
    expect(classifyStatus(400, readErrorBody(text), NOBODY).errorClass).toBe('context_length')
  })

  it('classifies bodies of status 200 that are no answer', () => {
    expect(classifyBadAnswer({ kind: 'error', status: 429, text: '' }, NOBODY).errorClass).toBe('rate_limited')
    expect(classifyBadAnswer({ kind: 'malformed', status: 502, text: '' }, NOBODY).errorClass).toBe('bad_response')
    expect(classifyBadAnswer({ kind: 'cut', status: 502, text: '' }, NOBODY).errorClass).toBe('cut')
  })

  it('classifies broken connections by their error codes alone', () => {
    const failed = (code: string, hasHead = false) =>
      classifyError(Object.assign(new Error('with secret words'), { code }), hasHead)
    expect(failed('ECONNREFUSED').errorClass).toBe('unreachable')
    expect(failed('UND_ERR_CONNECT_TIMEOUT').errorClass).toBe('timeout')
    expect(failed('UND_ERR_SOCKET', true).errorClass).toBe('cut')
    expect(failed('HPE_INVALID_CONSTANT').errorClass).toBe('bad_response')
    expect(failed('ECONNREFUSED').detail).toBe('ECONNREFUSED')
    expect(failed('UNREADABLE_CREDENTIAL')).toMatchObject({
      errorClass: 'credential_rejected',
      detail: 'the sealed key of the offer does not open',
    })
  })

  it('reads Retry-After as seconds or a date, with a maximum', () => {
    const now = Date.UTC(2026, 0, 1)
    expect(readRetryAfter('7', now, 600_000)).toBe(7_000)
    expect(readRetryAfter('99999', now, 600_000)).toBe(600_000)
    expect(readRetryAfter(new Date(now + 5_000).toUTCString(), now, 600_000)).toBe(5_000)
    expect(readRetryAfter('soon', now, 600_000)).toBeUndefined()
    expect(readRetryAfter(undefined, now, 600_000)).toBeUndefined()
  })
})
