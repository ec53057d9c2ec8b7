import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createUnposted } from '#data-plane/journal/unposted.ts'
import { HOUR } from '#shared/clock.ts'

/** A capture after a gap in the numbers, or a check of the captures, with those that are posted by then. */
type Step = { readonly skipped: number } | { readonly posted: readonly boolean[]; readonly below: number }

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ skipped: fc.nat(3) }) },
  { weight: 1, arbitrary: fc.record({ posted: fc.array(fc.boolean(), { maxLength: 12 }), below: fc.nat(200) }) },
)

describe('the unposted captures of a journal', () => {
  it('are those without an acknowledgement, in their order', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 120 }), async (steps) => {
        const unposted = createUnposted()
        const expected = new Set<number>()
        let seq = 0
        for (const one of steps) {
          if ('skipped' in one) {
            seq += 1 + one.skipped
            unposted.captured({ seq, rid: `r${seq}`, rail: 'credit', account: 'acc_1' })
            expected.add(seq)
            continue
          }
          const asked: number[] = []
          const due = [...expected].filter((number) => number < one.below)
          await unposted.check(one.below, async (captures) => {
            asked.push(...captures.map((capture) => capture.seq))
            const answers = captures.map((_, index) => one.posted[index] ?? false)
            // Captures that arrive during the check are not part of it.
            seq += 1
            unposted.captured({ seq, rid: `r${seq}`, rail: 'credit', account: 'acc_1' })
            for (const [index, { seq: number }] of captures.entries()) if (answers[index]) expected.delete(number)
            expected.add(seq)
            return answers
          })
          expect(asked.slice(0, due.length)).toEqual(due)
        }
        const left = [...expected]
        expect(unposted.size()).toBe(left.length)
        expect(unposted.firstCapture()).toBe(left[0])
        for (let number = 0; number <= seq + 1; number++) expect(unposted.has(number)).toBe(expected.has(number))
      }),
      { numRuns: 300 },
    )
  })

  it('need no progress record after a capture; a running call keeps its record for two hours', async () => {
    const unposted = createUnposted()
    unposted.progressed('r1', 1, 0)
    unposted.captured({ seq: 2, rid: 'r1', rail: 'credit', account: 'acc_1' })
    expect(unposted.firstNeeded(2)).toBe(2)
    unposted.progressed('r2', 3, 0)
    await unposted.check(4, async (captures) => captures.map(() => true))
    expect(unposted.firstNeeded(3)).toBe(3)
    unposted.progressed('r3', 4, 2 * HOUR + 1)
    expect(unposted.firstNeeded(4)).toBe(4)
  })

  it('leave from the middle, past one that is stuck in front', async () => {
    const unposted = createUnposted()
    for (let seq = 1; seq <= 30_000; seq++) unposted.captured({ seq, rid: `r${seq}`, rail: 'credit', account: 'acc_1' })
    const isStuck = (seq: number) => seq % 1_000 === 7
    for (let turn = 0; turn < 3; turn++) {
      await unposted.check(30_001, async (captures) => captures.map(({ seq }) => !isStuck(seq)))
    }
    expect(unposted.size()).toBe(30)
    expect(unposted.firstCapture()).toBe(7)
    expect([unposted.has(29_007), unposted.has(29_008), unposted.has(1_007)]).toEqual([true, false, true])
  })
})
