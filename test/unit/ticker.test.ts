import { expect, it } from 'vitest'
import { createTicker } from '#data-plane/pipeline/ticker.ts'
import { createManualTime } from './fixtures/manual-time.ts'

it('ticks of calls leave out the one after a stall, so that bytes that have arrived are read first', async () => {
  const { time, pass, freeze } = createManualTime()
  const ticker = createTicker(time)
  const ticks: number[] = []
  const begin = time.monotonic()
  const watcher = { place: -1, tick: (now: number) => ticks.push(now - begin) }
  ticker.add(watcher)
  await pass(500)
  await freeze(60_000)
  expect(ticks).toEqual([250, 500])
  await pass(250)
  expect(ticks).toEqual([250, 500, 60_750])
  ticker.remove(watcher)
  await pass(1_000)
  expect(ticks).toHaveLength(3)
  ticker.close()
})
