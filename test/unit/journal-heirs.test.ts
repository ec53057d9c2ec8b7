import { beforeEach, describe, expect, it } from 'vitest'
import { SECOND } from '#shared/clock.ts'
import type { JournalWorld } from './fixtures/journal-world.ts'
import { createJournalWorld } from './fixtures/journal-world.ts'

let world: JournalWorld
beforeEach(() => {
  world = createJournalWorld()
})

describe('a process that dies while others live', () => {
  it('is taken over by one of them within seconds, and crossed off once that is handed on', async () => {
    const [first, second, third] = [await world.open(), await world.open(), await world.open()]
    const event = world.capture(first)
    const own = world.capture(second)
    await world.during(Promise.all([first.sync(), second.sync()]))
    world.kill(first, true)
    await world.clock.pass(4 * SECOND)
    const heirs = [second, third].filter((journal) => journal.inherited().length > 0)
    expect(heirs.length).toBe(1)
    const [heir = second] = heirs
    const [left] = heir.inherited()
    expect([left?.member, left?.isFirstHand]).toEqual([first.member, true])
    expect(await world.unposted(heir, left)).toEqual([event])
    expect(new Set(await world.unposted(heir))).toEqual(new Set(heir === second ? [own, event] : [event]))
    if (left) heir.crossOff(left)
    await world.clock.pass(10 * SECOND)
    expect(second.inherited().length + third.inherited().length).toBe(0)
    expect(second.unpostedCount() + third.unpostedCount()).toBe(2)
  })

  it('is left to the next start when its journal is damaged', async () => {
    const [first, second] = [await world.open({ segmentBytes: 300 }), await world.open()]
    for (let count = 0; count < 12; count += 1) {
      world.capture(first)
      await world.during(first.sync())
    }
    world.kill(first)
    world.disk.damage(`${first.path}/00000001.seg`, (bytes) => bytes.fill(1, 40, 50))
    await world.clock.pass(30 * SECOND)
    expect([second.inherited(), second.isWritable(), second.unpostedCount()]).toEqual([[], true, 0])
    world.kill(second)
    await expect(world.during(world.open())).rejects.toThrow(/damaged/)
    expect((await world.unposted(await world.during(world.open({ acceptsDamage: true })))).length).toBeGreaterThan(0)
  })

  it('has its captures passed by no cursor before they are crossed off', async () => {
    const [first, second] = [await world.open(), await world.open()]
    const event = world.capture(first)
    await world.during(first.sync())
    const own = world.capture(second)
    world.kill(first)
    await world.clock.pass(4 * SECOND)
    world.capture(second)
    const asked: string[] = []
    const allPosted = async (captures: readonly { rid: string }[]) => captures.map(({ rid }) => asked.push(rid) > 0)
    await second.advance(allPosted)
    expect(asked).toEqual([JSON.parse(own).rid])
    expect((await world.unposted(second))[0]).toEqual(event)
    for (const left of second.inherited()) second.crossOff(left)
    await second.advance(allPosted)
    expect(second.unpostedCount()).toBe(0)
  })

  it('hands on what could be read of it when the rest cannot be, and keeps its member on the record', async () => {
    const [first, second] = [await world.open(), await world.open()]
    const events = Array.from({ length: 3 }, () => world.capture(first))
    await world.during(first.sync())
    world.dead.add(first.pid)
    world.disk.onCall((call) => (call === 'datasync' ? 'hangs' : 'works'))
    await world.clock.pass(15 * SECOND)
    expect(second.inherited().map((left) => left.member)).toEqual([undefined])
    expect(await world.unposted(second, second.inherited()[0])).toEqual(events)
  })

  it('waits while the disk of the living takes nothing', async () => {
    const [first, second] = [await world.open(), await world.open()]
    const event = world.capture(first)
    await world.during(first.sync())
    world.dead.add(first.pid)
    world.disk.onCall(() => 'ENOSPC')
    const own = world.capture(second)
    await world.clock.pass(10 * SECOND)
    expect(second.inherited()).toEqual([])
    world.disk.onCall(() => 'works')
    await world.clock.pass(10 * SECOND)
    expect(await world.unposted(second)).toEqual([own, event])
  })
})
