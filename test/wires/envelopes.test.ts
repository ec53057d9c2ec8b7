import { describe, expect, it } from 'vitest'
import { chat } from '#data-plane/wires/chat/index.ts'
import { messages } from '#data-plane/wires/messages/index.ts'
import { ERRORS } from '#shared/error-table.ts'
import type { ErrorCode } from '#shared/errors.ts'
import { AppError } from '#shared/errors.ts'
import { buildRaw } from '#test/support/bytes/build-market.ts'

describe('the envelope of /v1', () => {
  const { requestId } = buildRaw('')

  it('has type, code, message, param and the request id, inside and outside', () => {
    const error = new AppError('rate_limited', { detail: { limit_source: 'key_rate' }, retryAfterSeconds: 1.2 })
    const { status, headers, body } = chat.envelope(error, requestId)
    expect([status, headers['retry-after']]).toEqual([429, '2'])
    expect(JSON.parse(body)).toEqual({
      error: {
        limit_source: 'key_rate',
        message: 'Too many requests.',
        type: 'rate_limit_error',
        param: null,
        code: 'rate_limited',
        request_id: requestId,
      },
      request_id: requestId,
    })
  })

  it('is the x402 document for a call without a credential', () => {
    const resource = { url: 'https://api.example/v1/chat/completions', description: '', mimeType: 'application/json' }
    const { status, headers, body } = chat.envelope(
      new AppError('payment_required', { detail: { resource } }),
      requestId,
    )
    expect(status).toBe(402)
    expect(JSON.parse(body)).toMatchObject({ x402Version: 2, accepts: [], error: 'payment_required', resource })
    expect(Buffer.from(String(headers['payment-required']), 'base64').toString()).toBe(body)
  })
})

describe('the envelope of the messages wire', () => {
  const { requestId } = buildRaw('')
  const codes = Object.keys(ERRORS).filter((code): code is ErrorCode => code in ERRORS)

  it('is {type, error: {type, message}, request_id}, and never a 402', () => {
    for (const code of codes) {
      const { status, headers, body } = messages.envelope(new AppError(code), requestId)
      expect(JSON.parse(body), code).toMatchObject({
        type: 'error',
        error: { type: expect.stringMatching(/_error$|^request_too_large$/), message: ERRORS[code].message },
        request_id: requestId,
      })
      expect([status, code]).not.toEqual([402, code])
      expect(headers).not.toHaveProperty('payment-required')
    }
  })

  it.each([
    ['insufficient_balance', 400, 'invalid_request_error'],
    ['key_cap_reached', 400, 'invalid_request_error'],
    ['payment_required', 401, 'authentication_error'],
    ['unknown_model', 404, 'not_found_error'],
    ['minimum_discount_not_met', 404, 'not_found_error'],
    ['request_too_large', 413, 'request_too_large'],
    ['rate_limited', 429, 'rate_limit_error'],
    ['no_healthy_sellers', 503, 'overloaded_error'],
    ['upstream_error', 502, 'api_error'],
  ] as const)('%s is %i %s', (code, status, type) => {
    const { body, ...rest } = messages.envelope(new AppError(code, { retryAfterSeconds: 3 }), requestId)
    expect([rest.status, rest.headers['retry-after']]).toEqual([status, '3'])
    expect(JSON.parse(body).error).toMatchObject({ type, code })
  })
})
