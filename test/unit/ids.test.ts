import { describe, expect, it } from 'vitest'
import { nextUtcDay, nextUtcMonth, utcDay, utcMonth } from '#shared/clock.ts'
import { createIds, isId, parseAnswerId, parseRequestId, ulidFloor, ulidTime } from '#shared/ids.ts'

describe('ids', () => {
  it('sort in the order they were made, also within a millisecond and when the clock steps back', () => {
    let now = 1_763_000_000_000
    const ids = createIds({ now: () => now })
    const made: string[] = []
    for (let step = 0; step < 2_000; step++) {
      if (step % 100 === 0) now += step % 300 === 0 ? -5 : 1
      made.push(ids.ulid())
    }
    for (const [index, id] of made.entries()) expect(index === 0 || id > (made[index - 1] ?? '')).toBe(true)
    expect(new Set(made).size).toBe(made.length)
  })

  it('carry their time', () => {
    const at = Date.UTC(2026, 10, 21)
    const ids = createIds({ now: () => at })
    const rid = ids.requestId()
    expect(ulidTime(rid)).toBe(at)
    expect(ulidFloor(at) <= rid && rid < ulidFloor(at + 1)).toBe(true)
    expect(parseRequestId(rid)).toBe(rid)
  })

  it('of answers are read with and without the prefix of a body, and with no other prefix', () => {
    const rid = createIds({ now: () => 1 }).requestId()
    for (const prefix of ['', 'chatcmpl-', 'cmpl-', 'resp_', 'msg_', 'job_']) {
      expect(parseAnswerId(prefix + rid)).toBe(rid)
    }
    for (const prefix of ['gen-', 'key_', 'chatcmpl-cmpl-', ' ']) expect(parseAnswerId(prefix + rid)).toBeUndefined()
  })

  it('are distinguished from other texts', () => {
    for (const text of ['', 'x', `8${'0'.repeat(25)}`, 'I'.repeat(26), `${'0'.repeat(26)}\n`]) {
      expect(parseRequestId(text)).toBeUndefined()
    }
    expect(isId('ofr', 'ofr_1')).toBe(true)
    for (const text of ['ofr_', 'key_1', "ofr_1'--", 'ofr_ü']) expect(isId('ofr', text)).toBe(false)
  })
})

describe('days and months', () => {
  it('turn at 00:00 UTC', () => {
    const last = Date.UTC(2026, 11, 31, 23, 59, 59, 999)
    expect([utcDay(last), utcMonth(last)]).toEqual(['2026-12-31', '2026-12'])
    expect(nextUtcDay(last)).toBe(last + 1)
    expect(nextUtcMonth(last)).toBe(last + 1)
  })
})
