import { beforeEach, describe, expect, it } from 'vitest'
import { MINUTE, SECOND } from '#shared/clock.ts'
import type { JournalWorld, Opened } from './fixtures/journal-world.ts'
import { createJournalWorld } from './fixtures/journal-world.ts'

let world: JournalWorld
beforeEach(() => {
  world = createJournalWorld()
})

/** Makes a call with a capture that is posted a minute later. */
async function serve(journal: Opened): Promise<string> {
  const event = world.capture(journal)
  await world.during(journal.sync())
  await world.clock.pass(MINUTE)
  await world.post(journal)
  return event
}

const now = () => world.clock.time.now()

/** Records that the ledger went back to an instant. */
const stepTo = (to: number) => ({ to, at: now() })

describe('a journal after its ledger went back in time', () => {
  it('marks the calls that were posted since as unposted, once, and none before', async () => {
    const journal = await world.open()
    await serve(journal)
    const instant = now() + SECOND
    await world.clock.pass(MINUTE)
    const lost = [await serve(journal), await serve(journal)]
    const running = world.capture(journal)
    await world.during(journal.recapture(stepTo(instant)))
    expect(await world.unposted(journal)).toEqual([running, ...lost])
    await world.post(journal)
    expect(journal.unpostedCount()).toBe(0)
  })

  it('includes a call that was captured before that instant and posted after it', async () => {
    const journal = await world.open()
    await serve(journal)
    const lost = world.capture(journal)
    const instant = now() + SECOND
    await world.clock.pass(MINUTE)
    await world.post(journal)
    await world.during(journal.recapture(stepTo(instant)))
    expect(await world.unposted(journal)).toEqual([lost])
  })

  it('is read once for each restore of the ledger, also where two restores lead to one instant', async () => {
    const journal = await world.open()
    await serve(journal)
    const instant = now() + SECOND
    await world.clock.pass(MINUTE)
    const lost = await serve(journal)
    const step = stepTo(instant)
    await world.during(journal.recapture(step))
    expect(await world.unposted(journal)).toEqual([lost])
    await world.post(journal)
    await world.during(journal.recapture(step))
    expect(await world.unposted(journal)).toEqual([])
    await world.clock.pass(MINUTE)
    await world.during(journal.recapture(stepTo(instant)))
    expect(new Set(await world.unposted(journal))).toEqual(new Set([lost]))
  })

  it('leaves its posted calls to its heir, which reads them once', async () => {
    const [first, heir] = [await world.open(), await world.open()]
    await serve(first)
    const instant = now() + SECOND
    await world.clock.pass(MINUTE)
    const lost = await serve(first)
    const step = stepTo(instant)
    await world.during(heir.recapture(step))
    expect(heir.unpostedCount()).toBe(0)
    world.kill(first)
    await world.clock.pass(4 * SECOND)
    expect(await world.unposted(heir)).toEqual([lost])
    for (const inheritance of heir.inherited()) heir.crossOff(inheritance)
    await world.post(heir)
    world.kill(heir)
    const later = await world.during(world.open())
    await world.during(later.recapture(step))
    expect(await world.unposted(later)).toEqual([])
  })
})
