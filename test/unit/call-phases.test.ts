import { describe, expect, it } from 'vitest'
import { callPhases } from '#control-plane/dashboard/buyer/logs/call-phases.ts'

const good = (ms: number) => ({ status: 200, ms })
const bad = (ms: number) => ({ status: 503, ms })

const CASES = [
  ['a streamed call', { durationMs: 900, ttftMs: 200, attempts: [good(880)] }, ['First token 200', 'Stream 700']],
  [
    'a streamed call after a failed attempt',
    { durationMs: 900, ttftMs: 300, attempts: [bad(100), good(780)] },
    ['Failed attempts 100', 'First token 200', 'Stream 600'],
  ],
  ['a whole answer', { durationMs: 500, ttftMs: null, attempts: [good(480)] }, ['Answer 480', 'Market 20']],
  [
    'a call that every provider failed',
    { durationMs: 500, ttftMs: null, attempts: [bad(200), bad(250)] },
    ['Failed attempts 450', 'Market 50'],
  ],
  ['a call without an attempt', { durationMs: 5, ttftMs: null, attempts: [] }, ['Market 5']],
  [
    'a call whose attempts were rounded up',
    { durationMs: 100, ttftMs: 100, attempts: [bad(60), good(45)] },
    ['Failed attempts 60', 'First token 40'],
  ],
  ['a call without a duration', { durationMs: 0, ttftMs: null, attempts: [good(1)] }, []],
] as const

describe('the phases of a call', () => {
  it.each(CASES)('are in their order and add up to its duration: %s', (_name, times, shown) => {
    const phases = callPhases(times)
    expect(phases.map(({ name, ms }) => `${name} ${ms}`)).toEqual(shown)
    expect(phases.reduce((sum, { ms }) => sum + ms, 0)).toBe(times.durationMs)
  })
})
