import { expect, it } from 'vitest'
import { createActLane } from '#control-plane/operation/act-lane.ts'

it('runs three at once, the others in their order, and goes on behind one that fails', async () => {
  const lane = createActLane()
  const begun: number[] = []
  const ends: (() => void)[] = []
  const runs = Array.from({ length: 6 }, (_, at) =>
    lane.run(async () => {
      begun.push(at)
      await new Promise<void>((resolve) => ends.push(resolve))
      if (at === 1) throw new Error('failed')
      return at
    }),
  )
  const results = Promise.allSettled(runs)
  const turn = () => new Promise<void>((resolve) => void setImmediate(resolve))
  await turn()
  expect(begun).toEqual([0, 1, 2])
  ends[1]?.()
  await turn()
  expect(begun).toEqual([0, 1, 2, 3])
  for (let at = 0; at < 6; at++) {
    ends[at]?.()
    await turn()
  }
  expect((await results).map(({ status }) => status)).toEqual([
    'fulfilled',
    'rejected',
    'fulfilled',
    'fulfilled',
    'fulfilled',
    'fulfilled',
  ])
})
