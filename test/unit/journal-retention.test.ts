import { beforeEach, describe, expect, it } from 'vitest'
import { HOUR, MINUTE, SECOND } from '#shared/clock.ts'
import type { JournalWorld, Opened } from './fixtures/journal-world.ts'
import { createJournalWorld } from './fixtures/journal-world.ts'

let world: JournalWorld
beforeEach(() => {
  world = createJournalWorld()
})

const segmentsOf = async (journal: Opened) =>
  (await world.disk.files.list(journal.path)).filter((name) => name.endsWith('.seg'))

/** A journal of some full segments and a current one. */
async function openWithSegments(retentionBytes?: number): Promise<Opened> {
  const journal = await world.open({ segmentBytes: 300, ...(retentionBytes === undefined ? {} : { retentionBytes }) })
  for (let count = 0; count < 12; count += 1) {
    world.capture(journal)
    await world.during(journal.sync())
  }
  expect((await segmentsOf(journal)).length).toBeGreaterThan(3)
  return journal
}

/** Lets time pass in one step, followed by the upkeep. */
async function wait(ms: number): Promise<void> {
  await world.clock.freeze(ms - 2 * MINUTE)
  await world.clock.pass(2 * MINUTE)
}

describe('the segments of a journal', () => {
  it('stay for 48 hours after posting, for a ledger that goes back, and are then deleted', async () => {
    const journal = await openWithSegments()
    const all = await segmentsOf(journal)
    await world.post(journal)
    await wait(47 * HOUR)
    expect(await segmentsOf(journal)).toEqual(expect.arrayContaining(all))
    await wait(2 * HOUR)
    expect((await segmentsOf(journal)).filter((name) => all.includes(name)).length).toBeLessThanOrEqual(1)
  })

  it('stay as long as a capture in them is unposted, whatever their age', async () => {
    const journal = await openWithSegments()
    const all = await segmentsOf(journal)
    const later = (await world.unposted(journal)).slice(6)
    await world.post(journal, (seq) => seq !== 7)
    await wait(100 * HOUR)
    expect(await world.unposted(journal)).toEqual(later.slice(0, 1))
    expect(await segmentsOf(journal)).not.toEqual(expect.arrayContaining(all.slice(0, 1)))
    world.kill(journal)
    expect(await world.unposted(await world.during(world.open()))).toEqual(later)
  })

  it('are deleted early when they are too large together, oldest first and only as needed', async () => {
    const journal = await openWithSegments(900)
    const all = await segmentsOf(journal)
    await world.post(journal)
    await wait(3 * MINUTE)
    const kept = await segmentsOf(journal)
    expect(kept).toEqual(expect.arrayContaining(all.slice(-3)))
    expect(kept).not.toEqual(expect.arrayContaining(all.slice(0, 1)))
  })
})

describe('the directory of a dead process', () => {
  it('stays until an heir has finished it', async () => {
    const [first, heir] = [await world.open(), await world.open()]
    const event = world.capture(first)
    await world.during(first.sync())
    world.dead.add(first.pid)
    world.disk.onCall((call) => (call === 'datasync' ? 'hangs' : 'works'))
    await wait(100 * HOUR)
    world.kill(heir)
    expect(await world.unposted(await world.during(world.open()))).toContain(event)
  })

  it('stays for 48 hours after its heir has finished, and is then deleted', async () => {
    const [first, heir] = [await world.open(), await world.open()]
    world.capture(first)
    await world.during(first.sync())
    world.kill(first)
    await world.clock.pass(4 * SECOND)
    const [left = ''] = (await world.disk.files.list('/journal')).filter((name) => name.includes('.of-'))
    const files = () => world.disk.files.list(`/journal/${left}`)
    expect(await files()).toContain('finished')
    await wait(47 * HOUR)
    expect(await files()).toContain('finished')
    await wait(2 * HOUR)
    expect(await files()).toEqual([])
    expect(await segmentsOf(heir)).not.toEqual([])
  })
})
