import { describe, expect, it } from 'vitest'
import type { AnswerHead } from '#data-plane/call.ts'
import { resource } from '#data-plane/wires/forward/index.ts'
import { INERT_HEADERS } from '#shared/inert-headers.ts'
import { microUsd } from '#shared/money.ts'
import { compileResource } from '#shared/resources/compile-resource.ts'
import { buildPlan } from '#test/support/bytes/build-market.ts'
import { H, IMAGE, P1, P2, QUEUE, rawOf, read, target } from '#test/support/bytes/forward-wire.ts'
import { seedRecord } from '#test/support/facts/seed-resources.ts'

const RECEIPT = { chargeMicro: microUsd(5), listMicro: microUsd(10), listInputMicro: microUsd(0), usage: {} }

describe('an answer', () => {
  const head = (contentType: string, more: Partial<AnswerHead> = {}): AnswerHead => ({
    status: 200,
    contentType,
    ...more,
    headers: { 'content-type': contentType, ...more.headers },
  })
  const decoderOf = (body: unknown = IMAGE) => read(resource, `${P1}/v1/images`, { body }).decoder(buildPlan())

  it('of JSON is held for its usage, and the lower of report and quote counts', () => {
    for (const [made, charged] of [
      [1, { images: 1 }],
      [2, { images: 2 }],
      [9, { images: 2 }],
    ] as const) {
      const decoder = decoderOf()
      expect(decoder.head?.takes?.(head('application/json'))).toBe(true)
      const text = JSON.stringify({ data: Array.from({ length: made }, () => ({ url: 'x' })) })
      expect(decoder.push(Buffer.from(text))).toBe('')
      expect([decoder.head?.isHeld?.(), decoder.contentPieces()]).toEqual([true, 0])
      decoder.end()
      expect(decoder.ending().forwarded?.usage).toEqual(charged)
      expect(decoder.whole?.pieces(RECEIPT)?.join('')).toBe(text)
    }
  })

  it('without a usage report costs the quote', () => {
    const decoder = decoderOf()
    decoder.head?.takes?.(head('application/json'))
    decoder.push(Buffer.from('not JSON'))
    decoder.end()
    expect(decoder.ending().forwarded).toMatchObject({ usage: { images: 2 }, isReported: false })
  })

  it('that arrives in part sells nothing while it is held', () => {
    const decoder = decoderOf()
    decoder.head?.takes?.(head('application/json'))
    decoder.push(Buffer.from('{"data":['))
    expect([decoder.contentPieces(), decoder.ending().contentBytes]).toEqual([0, 0])
    decoder.push(Buffer.from(']}'))
    decoder.end()
    expect([decoder.contentPieces(), decoder.ending().contentBytes]).toEqual([1, 11])
  })

  it('with a success status that reports a failure is a failure', () => {
    const record = seedRecord('provider-p1')
    const state = { at: 'answer.status', done: [], failed: ['error'] }
    const routes = record.routes.map((route) => (route.id === 'images' ? { ...route, state } : route))
    const records = new Map([['provider-p1', compileResource({ ...record, routes }, 1)]])
    const failureOf = (contentType: string, text: string) => {
      const decoder = resource.read(rawOf(`${P1}/v1/images`, { body: IMAGE }), records).decoder(buildPlan())
      decoder.head?.takes?.(head(contentType))
      decoder.push(Buffer.from(text))
      decoder.end()
      return decoder.failure()
    }
    const failed = JSON.stringify({ status: 'error', data: [{}] })
    for (const [type, text] of [
      ['application/json', failed],
      ['text/event-stream', `data: ${failed}\n\n`],
    ] as const) {
      expect(failureOf(type, text)).toEqual({ kind: 'error', status: 502, text: '' })
      expect(failureOf(type, text.replace('error', 'done'))).toBeUndefined()
    }
  })

  it('whose route has an estimate costs the quote where it is too long to be held', () => {
    const body = { model: 'gpt-5-mini', messages: [], max_tokens: 1_000 }
    const decoder = read(resource, P2, { body }).decoder(buildPlan())
    decoder.head?.takes?.(head('application/json'))
    for (const _ of [1, 2, 3]) decoder.push(Buffer.alloc(3_000_000, ' '))
    decoder.end()
    expect(decoder.ending().forwarded?.usage.output).toBe(1_000)
  })

  it('that is too long to be held costs the quote, and loses no byte', () => {
    const decoder = decoderOf()
    decoder.head?.takes?.(head('application/json'))
    const piece = Buffer.alloc(3_000_000, 'a')
    const sent = [1, 2, 3, 4].reduce((bytes) => bytes + decoder.push(piece).length, 0)
    decoder.end()
    expect([sent, decoder.head?.isHeld?.()]).toEqual([12_000_000, false])
    expect(decoder.ending().forwarded).toMatchObject({ usage: { images: 2 }, isReported: false })
  })

  it('of another type passes unchanged, priced at once', () => {
    const decoder = decoderOf()
    decoder.head?.takes?.(head('image/png', { status: 201, headers: { 'content-length': '3', 'set-cookie': ['a'] } }))
    expect([decoder.head?.isHeld?.(), decoder.head?.isPriced?.(), decoder.head?.contentType?.()]).toEqual([
      false,
      true,
      'image/png',
    ])
    expect(decoder.push(Buffer.from('abc')).toString()).toBe('abc')
    expect(decoder.head?.start?.()).toEqual({ status: 201, headers: { 'content-length': '3', ...INERT_HEADERS } })
  })

  it('in events passes unchanged, and its last usage counts', () => {
    const body = { model: 'gpt-5-mini', messages: [], max_tokens: 100, stream: true }
    const decoder = read(resource, P2, { body }).decoder(buildPlan())
    decoder.head?.takes?.(head('text/event-stream'))
    const usage = { prompt_tokens: 7, completion_tokens: 3 }
    for (const data of [{ choices: [{}] }, { choices: [], usage }]) {
      const text = `data: ${JSON.stringify(data)}\n\n`
      expect(decoder.push(Buffer.from(text)).toString()).toBe(text)
    }
    decoder.push(Buffer.from('data: [DONE]\n\n'))
    decoder.end()
    expect(decoder.ending().forwarded?.usage).toEqual({ input: 7, cacheRead: 0, output: 3 })
  })

  describe('without a report of its usage', () => {
    const body = { model: 'gpt-5-mini', messages: [], max_tokens: 1_000, stream: true }
    const delta = (choice: object) => `data: ${JSON.stringify({ choices: [{ delta: choice }] })}\n\n`
    const endOf = (contentType: string, text: string) => {
      const decoder = read(resource, P2, { body }).decoder(buildPlan())
      decoder.head?.takes?.(head(contentType))
      for (const byte of Buffer.from(text)) decoder.push(Buffer.from([byte]))
      decoder.end()
      return decoder.ending().forwarded
    }

    it('is estimated by the bytes of its content, like a chat', () => {
      const text = delta({ content: 'Grüße' }) + delta({ tool_calls: [{ function: { arguments: '{"a":1}' } }] })
      expect(endOf('text/event-stream', `${text}data: [DONE]\n\n`)).toEqual({
        // 68 bytes of request, 7 and 7 of content.
        usage: { input: 17, cacheRead: 0, output: 4 },
        isReported: false,
        anomalies: ['usage_missing'],
      })
      const whole = { choices: [{ message: { content: 'Hello, you.' } }] }
      expect(endOf('application/json', JSON.stringify(whole))?.usage).toEqual({ input: 17, cacheRead: 0, output: 3 })
    })

    it('costs no more than the quote', () => {
      expect(endOf('text/event-stream', delta({ content: 'x'.repeat(10_000) }))?.usage.output).toBe(1_000)
    })

    it('costs the quote where its content cannot be counted', () => {
      for (const [type, text] of [
        ['text/event-stream', delta({ content: 5 })],
        ['text/plain', 'Hello'],
        ['application/json', 'no JSON'],
      ] as const) {
        expect(endOf(type, text)?.usage).toEqual({ input: 68, cacheRead: 0, output: 1_000 })
      }
    })
  })

  it.each([301, 400, 404, 429, 500])('of status %i sells nothing', (status) => {
    expect(decoderOf().head?.takes?.(head('application/json', { status }))).toBe(false)
  })

  it('to a submit must name its job', () => {
    const submit = () =>
      read(resource, H, { ...target(`${QUEUE}/studio/motion`), body: { duration: 5 } }).decoder(buildPlan())
    const named = submit()
    named.head?.takes?.(head('application/json'))
    named.push(Buffer.from('{"request_id":"r-1"}'))
    named.end()
    expect([named.job?.started(), named.failure()]).toEqual([
      { id: 'r-1', captures: { model: 'studio/motion' } },
      undefined,
    ])
    const unnamed = submit()
    unnamed.head?.takes?.(head('application/json'))
    unnamed.push(Buffer.from('{"request_id":"../x"}'))
    unnamed.end()
    expect([unnamed.job?.started(), unnamed.failure()?.kind]).toEqual([undefined, 'malformed'])
    for (const id of ['.', '..', '', 'a/b', 'a?b', 'a;b', 'a b', '%2e%2e']) {
      const odd = submit()
      odd.head?.takes?.(head('application/json'))
      odd.push(Buffer.from(JSON.stringify({ request_id: id })))
      odd.end()
      expect([id, odd.job?.started(), odd.failure()?.kind]).toEqual([id, undefined, 'malformed'])
    }
  })
})
