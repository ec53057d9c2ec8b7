import { describe, expect, it } from 'vitest'
import type { Time } from '#shared/clock.ts'
import { MINUTE, SECOND, systemClock } from '#shared/clock.ts'
import { createClockWatch, readRedisTime, SKEW_CHECK_EVERY_MS } from '#shared/clock-skew.ts'
import { AppError } from '#shared/errors.ts'

const TRUE_TIME = 1_790_000_000_000

type State = { elapsedMs: number; offsetMs: number; tripMs: number; isAway: boolean }

/** A clock that tests move by hand. The wall clock may jump; the clock of the other host is always right. */
function createBench(name = 'redis') {
  const state: State = { elapsedMs: 0, offsetMs: 0, tripMs: 0, isAway: false }
  const warnings: object[] = []
  let turn: () => void = () => undefined
  const clock: Time = {
    ...systemClock,
    now: () => TRUE_TIME + state.elapsedMs + state.offsetMs,
    monotonic: () => state.elapsedMs,
    every(ms, run) {
      expect(ms).toBe(SKEW_CHECK_EVERY_MS)
      turn = run
      return () => undefined
    },
  }
  const read = async () => {
    if (state.isAway) throw new Error('away')
    state.elapsedMs += state.tripMs / 2
    const answer = TRUE_TIME + state.elapsedMs
    state.elapsedMs += state.tripMs / 2
    return answer
  }
  const log = { warn: (facts: object) => warnings.push(facts), debug: () => undefined }
  const watch = createClockWatch({ clock, log, others: [{ name, read }] })
  return { state, warnings, watch, turn: () => turn() }
}

const codeOf = (run: () => void): string | undefined => {
  try {
    run()
    return undefined
  } catch (error) {
    return error instanceof AppError ? `${error.code}: ${error.message}` : String(error)
  }
}

describe('a watch over the clock', () => {
  it('subtracts half of the round trip, and discards an answer that took long [F38]', async () => {
    const { state, watch } = createBench()
    Object.assign(state, { tripMs: 400, offsetMs: 120 })
    await watch.check()
    expect(watch.skews().get('redis')).toBe(120)
    Object.assign(state, { tripMs: 900, offsetMs: 5_000 })
    await watch.check()
    expect(watch.skews().get('redis')).toBe(120)
  })

  it.each([3_000, -3_000, 10 * MINUTE, -10 * MINUTE, -60 * MINUTE])(
    'sees a jump of %i ms and warns once a minute [F38]',
    async (offsetMs) => {
      const { state, watch, warnings } = createBench()
      await watch.check()
      expect(warnings).toEqual([])
      state.offsetMs = offsetMs
      await watch.check()
      expect(watch.skews().get('redis')).toBe(offsetMs)
      expect(warnings).toEqual([{ skewMs: { redis: offsetMs } }])
      state.elapsedMs += 30 * SECOND
      await watch.check()
      expect(warnings).toHaveLength(1)
      state.elapsedMs += 31 * SECOND
      await watch.check()
      expect(warnings).toHaveLength(2)
    },
  )

  it('refuses while the clock is off by more than 30 seconds, names the difference, and allows again afterwards [F38]', async () => {
    const { state, watch } = createBench('postgres')
    expect(codeOf(watch.requireTrusted)).toBeUndefined()
    state.offsetMs = 29_000
    await watch.check()
    expect(codeOf(watch.requireTrusted)).toBeUndefined()
    state.offsetMs = -31_000
    await watch.check()
    expect(codeOf(watch.requireTrusted)).toMatch(/^service_unavailable: .*31 s behind that of postgres/)
    state.isAway = true
    await watch.check()
    expect(codeOf(watch.requireTrusted)).toMatch(/31 s behind/)
    Object.assign(state, { isAway: false, offsetMs: 0 })
    await watch.check()
    expect(codeOf(watch.requireTrusted)).toBeUndefined()
  })

  it('reports no skew while a clock cannot be reached', async () => {
    const { state, watch, turn } = createBench()
    watch.start()
    state.isAway = true
    await watch.check()
    turn()
    expect(watch.skews().size).toBe(0)
    expect(codeOf(watch.requireTrusted)).toBeUndefined()
    watch.close()
  })

  it("reads Redis's answer to TIME", () => expect(readRedisTime(['1790000000', '123456'])).toBe(1_790_000_000_123.456))
})
