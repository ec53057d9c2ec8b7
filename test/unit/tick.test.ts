import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createTick } from '#data-plane/store/tick.ts'
import { MAX_BATCH } from '#shared/contract/money-scripts/batch.ts'
import { createManualTime } from './fixtures/manual-time.ts'

/** A tick whose turns take all that was woken for, as the queues behind it do. */
function createTurns() {
  const { time, pass } = createManualTime()
  const turns: { readonly at: number; readonly carried: number }[] = []
  let waiting = 0
  const tick = createTick(time, () => {
    turns.push({ at: time.monotonic(), carried: waiting })
    waiting = 0
  })
  const wake = (count: number) => {
    for (let index = 0; index < count; index++) {
      waiting += 1
      tick.wake()
    }
  }
  return { turns, wake, pass, waiting: () => waiting }
}

describe('the turns of the money queues', () => {
  it('carry what came in one tick, at its end and without a rest when there was little', async () => {
    const { turns, wake, pass } = createTurns()
    wake(3)
    expect(turns).toEqual([])
    await pass(0)
    wake(2)
    await pass(0)
    expect(turns).toEqual([
      { at: 0, carried: 3 },
      { at: 0, carried: 2 },
    ])
  })

  it('never rest after a burst', async () => {
    const { turns, wake, pass } = createTurns()
    wake(MAX_BATCH + 20)
    await pass(1)
    wake(1)
    await pass(0)
    expect(turns.map(({ at, carried }) => [at, carried])).toEqual([
      [0, MAX_BATCH],
      [0, 20],
      [1, 1],
    ])
  })

  it('rest while the process is busy, but for full batches, and no longer', async () => {
    const { turns, wake, pass } = createTurns()
    for (let ms = 0; ms < 100; ms++) {
      wake(10)
      await pass(1)
    }
    const rested = turns.filter(({ at }) => at > 60)
    expect(rested.every(({ carried }) => carried === 40)).toBe(true)
    wake(MAX_BATCH)
    expect(turns.at(-1)?.carried).toBe(MAX_BATCH)
    for (let ms = 0; ms < 100; ms++) {
      wake(2)
      await pass(1)
    }
    expect(turns.slice(-20).every(({ carried }) => carried === 2)).toBe(true)
  })

  it('keep nothing waiting for longer than the longest rest, whenever it comes', async () => {
    const steps = fc.array(fc.record({ count: fc.nat(100), pauseMs: fc.integer({ min: 0, max: 6 }) }), {
      maxLength: 30,
    })
    await fc.assert(
      fc.asyncProperty(steps, async (list) => {
        const { turns, wake, pass, waiting } = createTurns()
        let woken = 0
        for (const { count, pauseMs } of list) {
          wake(count)
          woken += count
          await pass(pauseMs)
        }
        await pass(4)
        expect(waiting()).toBe(0)
        expect(turns.reduce((sum, { carried }) => sum + carried, 0)).toBe(woken)
        expect(turns.every(({ carried }) => carried > 0 && carried <= MAX_BATCH)).toBe(true)
      }),
      { numRuns: 100 },
    )
  })
})
