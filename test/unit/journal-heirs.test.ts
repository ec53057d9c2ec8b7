import { beforeEach, describe, expect, it } from 'vitest'
import { SECOND } from '#shared/clock.ts'
import { CREDIT_RAIL } from '#shared/contract/rails.ts'
import { microUsd } from '#shared/money.ts'
import type { JournalWorld } from './fixtures/journal-world.ts'
import { createJournalWorld } from './fixtures/journal-world.ts'

let world: JournalWorld
beforeEach(() => {
  world = createJournalWorld()
})

/** The first record of a call that is answered. */
function progressOf({ ids }: JournalWorld) {
  const hold = { rid: ids.requestId(), account: 'acc_1' as const, keyId: null, grantedMicro: microUsd(100) }
  const event = JSON.stringify({ v: 1, rid: hold.rid, rail: CREDIT_RAIL, account: hold.account })
  return { hold, offer: null, outputTokens: 1, chargeMicro: microUsd(1), event }
}

describe('a process that dies while others run', () => {
  it('is inherited by one of them within seconds, and loses its membership once its captures are handed on', async () => {
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

  it('keeps the cursor behind its captures as long as it has a membership', async () => {
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

  it('has its readable records handed on when others are damaged, and keeps its membership', async () => {
    const [first, second] = [await world.open(), await world.open()]
    const events = Array.from({ length: 3 }, () => world.capture(first))
    await world.during(first.sync())
    world.dead.add(first.pid)
    world.disk.onCall((call) => (call === 'datasync' ? 'hangs' : 'works'))
    await world.clock.pass(15 * SECOND)
    expect(second.inherited().map((left) => left.member)).toEqual([undefined])
    expect(await world.unposted(second, second.inherited()[0])).toEqual(events)
  })

  it('is inherited again once the disk of its heir accepts records again', async () => {
    const [first, second] = [await world.open(), await world.open()]
    world.capture(first)
    await world.during(first.sync())
    world.dead.add(first.pid)
    world.disk.onCall((call) => (call === 'datasync' ? 'EIO' : 'works'))
    await world.clock.pass(15 * SECOND)
    expect(second.inherited().map((left) => left.member)).toEqual([undefined])
    world.disk.onCall(() => 'works')
    await world.clock.pass(10 * SECOND)
    expect(second.inherited().map((left) => left.member)).toEqual([undefined, first.member])
  })

  it('is neither finished nor passed by a cursor before its captures are synced', async () => {
    const [first, second] = [await world.open(), await world.open()]
    world.capture(first)
    await world.during(first.sync())
    world.dead.add(first.pid)
    world.disk.onCall((call) => (call === 'datasync' ? 'hangs' : 'works'))
    await world.clock.pass(4 * SECOND)
    const asked: string[] = []
    await second.advance(async (captures) => captures.map(({ rid }) => asked.push(rid) > 0))
    const [left = ''] = (await world.disk.files.list('/journal')).filter((name) => name.includes('.of-'))
    const finished = await world.disk.files.status(`/journal/${left}/finished`)
    expect([second.unpostedCount(), asked, finished]).toEqual([1, [], undefined])
  })

  it('hands on each call once: its capture or its last progress, and no posted call', async () => {
    const [first, second] = [await world.open(), await world.open()]
    const running = progressOf(world)
    first.progress(running)
    world.capture(first)
    await first.advance(async (captures) => captures.map(() => true))
    const ended = progressOf(world)
    first.progress(ended)
    const captured = JSON.stringify({ ...JSON.parse(ended.event), isWhole: true })
    first.capture({ ...ended.hold, rail: CREDIT_RAIL }, captured)
    await world.during(first.sync())
    world.kill(first)
    await world.clock.pass(4 * SECOND)
    expect(await world.unposted(second)).toEqual([captured, running.event])
  })

  it('hands on every unposted call, wherever the cursor is in the segments', async () => {
    for (let posted = 0; posted <= 12; posted++) {
      const place = createJournalWorld()
      const first = await place.open({ segmentBytes: 500 })
      const events: string[] = []
      for (let count = 0; count < 12; count++) {
        events.push(place.capture(first))
        await place.during(first.sync())
      }
      await first.advance(async (captures) => captures.map((_, index) => index < posted))
      expect(await place.unposted(first)).toEqual(events.slice(posted))
      await place.during(first.sync())
      place.kill(first)
      expect(await place.unposted(await place.during(place.open()))).toEqual(events.slice(posted))
    }
  })

  it('waits while the disk of its heir accepts nothing', async () => {
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
