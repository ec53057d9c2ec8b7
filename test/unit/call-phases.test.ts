import { describe, expect, it } from 'vitest'
import { callPhases } from '#control-plane/dashboard/buyer/logs/call-phases.ts'

const good = (ms: number, connectMs: number | null = null) => ({ status: 200, ms, connectMs })
const bad = (ms: number) => ({ status: 503, ms, connectMs: 30 })

const CASES = [
  [
    'a streamed call',
    { durationMs: 900, ttftMs: 200, overheadMs: 20, attempts: [good(880)] },
    ['Market 20', 'First token 180', 'Stream 700'],
  ],
  [
    'a streamed call after a failed attempt',
    { durationMs: 900, ttftMs: 300, overheadMs: 20, attempts: [bad(100), good(780)] },
    ['Market 20', 'Failed attempts 100', 'First token 180', 'Stream 600'],
  ],
  [
    'a streamed call on a new connection',
    { durationMs: 900, ttftMs: 200, overheadMs: 20, attempts: [good(880, 50)] },
    ['Market 20', 'Connect 50', 'First token 130', 'Stream 700'],
  ],
  [
    'a whole answer',
    { durationMs: 500, ttftMs: null, overheadMs: 20, attempts: [good(480)] },
    ['Market 20', 'Answer 480'],
  ],
  [
    'a whole answer on a new connection',
    { durationMs: 500, ttftMs: null, overheadMs: 15, attempts: [good(485, 40)] },
    ['Market 15', 'Connect 40', 'Answer 445'],
  ],
  [
    'a call that every provider failed',
    { durationMs: 500, ttftMs: null, overheadMs: 50, attempts: [bad(200), bad(250)] },
    ['Market 50', 'Failed attempts 450'],
  ],
  ['a call without an attempt', { durationMs: 5, ttftMs: null, overheadMs: 5, attempts: [] }, ['Market 5']],
  [
    'a call whose attempts were rounded up',
    { durationMs: 100, ttftMs: 100, overheadMs: 0, attempts: [bad(60), good(45)] },
    ['Failed attempts 60', 'First token 40'],
  ],
  [
    'a call whose times were rounded down',
    { durationMs: 100, ttftMs: null, overheadMs: 1, attempts: [good(98)] },
    ['Market 2', 'Answer 98'],
  ],
  ['a call without a duration', { durationMs: 0, ttftMs: null, overheadMs: null, attempts: [good(1)] }, []],
] as const

describe('the phases of a call', () => {
  it.each(CASES)('are in their order and add up to its duration: %s', (_name, times, shown) => {
    const phases = callPhases(times)
    expect(phases.map(({ name, ms }) => `${name} ${ms}`)).toEqual(shown)
    expect(phases.reduce((sum, { ms }) => sum + ms, 0)).toBe(times.durationMs)
  })
})
