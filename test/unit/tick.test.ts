import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createTick } from '#data-plane/store/tick.ts'
import { MAX_BATCH } from '#shared/contract/money-scripts/batch.ts'

/** Longer than a tick without work. */
const WORK_MS = 0.25
const LONGEST_REST_MS = 8

/** A tick in an event loop of its own. Each turn of the loop takes all woken operations, as the queues do. */
function createTurns() {
  let now = 0
  let soon: (() => void)[] = []
  const turns: { readonly at: number; readonly carried: number }[] = []
  let waiting = 0
  const tick = createTick({ monotonic: () => now, soon: (run) => void soon.push(run) }, () => {
    turns.push({ at: now, carried: waiting })
    waiting = 0
  })
  function wake(count: number): void {
    for (let index = 0; index < count; index++) {
      waiting += 1
      tick.wake()
    }
  }
  /** Ends the tick of the loop after this many milliseconds of other work. */
  function endTick(workMs: number): void {
    now += workMs
    const due = soon
    soon = []
    for (const run of due) run()
  }
  return { turns, wake, endTick, waiting: () => waiting, now: () => now }
}

/** Wakes ten operations a millisecond for this long. */
function keepBusy({ wake, endTick, now }: ReturnType<typeof createTurns>, ms: number): void {
  for (const end = now() + ms; now() < end; ) {
    wake(5)
    endTick(WORK_MS)
    endTick(WORK_MS)
  }
}

describe('the turns of the money queues', () => {
  it('carry the operations of one tick at its end, without a rest when there were few', () => {
    const { turns, wake, endTick } = createTurns()
    wake(3)
    expect(turns).toEqual([])
    endTick(WORK_MS)
    wake(2)
    endTick(WORK_MS)
    expect(turns.map(({ carried }) => carried)).toEqual([3, 2])
  })

  it('never rest after a burst', () => {
    const { turns, wake, endTick } = createTurns()
    wake(MAX_BATCH + 20)
    endTick(WORK_MS)
    wake(1)
    endTick(WORK_MS)
    expect(turns.map(({ carried }) => carried)).toEqual([MAX_BATCH, 20, 1])
  })

  it('rest in a busy process until a batch is full, and no longer', () => {
    const loop = createTurns()
    keepBusy(loop, 100)
    const rested = loop.turns.filter(({ at }) => at > 70)
    expect(rested.every(({ carried }) => carried > MAX_BATCH / 2)).toBe(true)
    loop.wake(MAX_BATCH)
    expect(loop.turns.at(-1)?.at).toBe(loop.now())
    for (let ms = 0; ms < 100; ms++) {
      loop.wake(2)
      loop.endTick(1)
    }
    expect(loop.turns.slice(-20).every(({ carried }) => carried === 2)).toBe(true)
  })

  it('do not rest in an idle loop, however busy the process was', () => {
    const loop = createTurns()
    keepBusy(loop, 100)
    loop.wake(3)
    const before = loop.turns.length
    // The first tick cannot know how much work was before its operations. The next tick shows that there is none.
    for (let tick = 0; tick < 2; tick++) loop.endTick(0.01)
    expect(loop.waiting()).toBe(0)
    expect(loop.turns.length).toBe(before + 1)
  })

  it('delay no operation for longer than the longest rest', () => {
    const steps = fc.array(fc.record({ count: fc.nat(100), workMs: fc.constantFrom(0.01, 0.1, 1, 6) }), {
      maxLength: 30,
    })
    fc.assert(
      fc.property(fc.boolean(), steps, (isBusy, list) => {
        const loop = createTurns()
        if (isBusy) keepBusy(loop, 100)
        let woken = loop.waiting() + loop.turns.reduce((sum, { carried }) => sum + carried, 0)
        for (const { count, workMs } of list) {
          loop.wake(count)
          woken += count
          loop.endTick(workMs)
        }
        for (let ms = 0; ms <= LONGEST_REST_MS; ms++) loop.endTick(1)
        expect(loop.waiting()).toBe(0)
        expect(loop.turns.reduce((sum, { carried }) => sum + carried, 0)).toBe(woken)
        expect(loop.turns.every(({ carried }) => carried > 0 && carried <= MAX_BATCH)).toBe(true)
      }),
      { numRuns: 200 },
    )
  })
})
