import { describe, expect, it } from 'vitest'
import { chat } from '#data-plane/wires/chat/index.ts'
import { AppError } from '#shared/errors.ts'
import { buildRaw } from '#test/support/build-market.ts'

describe('the envelope of /v1', () => {
  const { requestId } = buildRaw('')

  it('carries type, code, message, param and the request id, inside and outside', () => {
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
