import { join } from 'node:path'
import { expect, it } from 'vitest'
import { FINISHED_FILE } from '#data-plane/journal/take-over.ts'
import { createPendingSettlements } from '#data-plane/pipeline/claims/pending-settlements.ts'
import type { Rail } from '#data-plane/rails/rail.ts'
import { SECOND } from '#shared/clock.ts'
import { createLogger } from '#shared/logger.ts'
import { usageEvent } from '#test/support/books/usage-events.ts'
import { createJournalWorld } from './fixtures/journal-world.ts'

const RAIL = 'x402-exact'

it('drops every capture of a settled call that several dead processes left', async () => {
  const world = createJournalWorld()
  const rid = world.ids.requestId()
  const event = JSON.stringify(usageEvent({ rid }, { rail: RAIL, keyId: null }))
  const first = await world.open()
  first.capture({ rid, rail: RAIL, account: null }, event)
  await world.during(first.sync())
  // The second process writes the capture again, and dies before it marks the first journal as taken over.
  world.kill(first)
  const second = await world.during(world.open())
  await world.during(second.sync())
  world.kill(second)
  const { files } = world.disk
  for (const name of await files.list('/journal')) await files.remove(join('/journal', name, FINISHED_FILE))
  const third = await world.during(world.open())

  let settled = 0
  const rail: Rail<never> = {
    name: RAIL,
    recognize: () => undefined,
    identify: () => Promise.reject(new Error('no call arrives here')),
    challenge: null,
    reserve: () => Promise.reject(new Error('no call arrives here')),
    release: () => Promise.resolve(),
    async settle() {
      settled += 1
      return { state: 'final', booking: 'later' }
    },
  }
  const pending = createPendingSettlements({
    journal: third,
    events: { usage: () => undefined, captured: () => undefined },
    desk: { claimAgain: () => Promise.resolve() },
    clock: world.clock.time,
    log: createLogger('test', 'silent'),
  })
  pending.watched(rail)
  pending.start()
  // The rail of credit hands the two inheritances on one after the other, with turns of the settlements between them.
  const inherited = third.inherited()
  expect([inherited.length, third.replay(RAIL).unpostedCount()]).toEqual([2, 2])
  for (const inheritance of inherited) {
    await world.clock.pass(3 * SECOND)
    third.crossOff(inheritance)
  }
  await world.clock.pass(3 * SECOND)
  expect(settled).toBe(2)
  expect(third.replay(RAIL).unpostedCount()).toBe(0)
  await pending.close()
})
