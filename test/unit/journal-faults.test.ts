import { beforeEach, describe, expect, it } from 'vitest'
import { readSegment } from '#data-plane/journal/record.ts'
import { SECOND } from '#shared/clock.ts'
import type { AccountId } from '#shared/ids.ts'
import type { JournalWorld, Opened } from './fixtures/journal-world.ts'
import { createJournalWorld } from './fixtures/journal-world.ts'

const ACCOUNT: AccountId = 'acc_1'
let world: JournalWorld
beforeEach(() => {
  world = createJournalWorld()
})

const segmentNames = async (path: string) => (await world.disk.files.list(path)).filter((name) => name.endsWith('.seg'))

describe('[F06] an error of the disk', () => {
  const cases = [1, 2, 3, 4, 5].flatMap((number) => (['write', 'datasync'] as const).map((call) => ({ call, number })))
  it.each(cases)('EIO at $call $number stops paid calls until a new segment, and loses nothing', async (at) => {
    const journal = await world.open()
    world.disk.onCall((call, number) => (call === at.call && number === at.number ? 'EIO' : 'works'))
    const events: string[] = []
    let wasRefused = false
    for (let round = 0; round < 6; round += 1) {
      events.push(world.capture(journal), world.capture(journal))
      const synced = world.during(journal.sync())
      await world.clock.pass(5)
      wasRefused ||= !journal.isWritable()
      await synced
    }
    expect(wasRefused).toBe(true)
    expect(journal.isWritable()).toBe(true)
    expect(await world.unposted(journal)).toEqual(events)

    const after = world.disk.calls.slice(world.disk.calls.indexOf('create 00000002.seg'))
    expect(after.length).toBeGreaterThan(1)
    expect(after.filter((call) => call.endsWith('00000001.seg'))).toEqual([])
    world.kill(journal, true)
    expect(await world.unposted(await world.during(world.open()))).toEqual(events)
  })

  it('keeps the synced records in the failed segment, and repeats the others', async () => {
    const journal = await world.open()
    const first = world.capture(journal)
    await world.during(journal.sync())
    const second = world.capture(journal)
    await world.clock.pass(5)
    world.disk.onCall((call, number) => (call === 'datasync' && number === 1 ? 'EIO' : 'works'))
    await world.during(journal.sync())
    expect(await segmentNames(journal.path)).toEqual(['00000001.seg', '00000002.seg'])
    world.kill(journal)
    world.disk.damage(`${journal.path}/00000001.seg`, (bytes) => bytes.subarray(0, 120))
    expect(await world.unposted(await world.during(world.open()))).toEqual([first, second])
  })

  it('leaves no segment without synced records', async () => {
    const journal = await world.open()
    world.disk.onCall((call, number) => (call === 'datasync' && number === 1 ? 'EIO' : 'works'))
    const event = world.capture(journal)
    await world.during(journal.sync())
    expect(await segmentNames(journal.path)).toEqual(['00000002.seg'])
    expect(await world.unposted(journal)).toEqual([event])
  })
})

describe('a full disk', () => {
  it('keeps captures in memory, where the gate can read them, and writes them when the disk has space', async () => {
    const journal = await world.open()
    const events = [world.capture(journal)]
    await world.during(journal.sync())
    world.disk.onCall(() => 'ENOSPC')
    events.push(world.capture(journal))
    await world.clock.pass(10)
    expect(journal.isWritable()).toBe(false)
    events.push(world.capture(journal))
    await world.clock.pass(5 * SECOND)
    expect(await world.unposted(journal)).toEqual(events)
    expect(await segmentNames(journal.path)).toEqual(['00000001.seg'])
    world.disk.onCall(() => 'works')
    await world.clock.pass(1 * SECOND)
    expect(journal.isWritable()).toBe(true)
    world.kill(journal, true)
    expect(await world.unposted(await world.during(world.open()))).toEqual(events)
    expect(world.givenUp()).toBe(0)
  })

  it('refuses progress of running calls, which would only fill the memory', async () => {
    const journal = await world.open()
    world.disk.onCall(() => 'ENOSPC')
    world.capture(journal)
    await world.clock.pass(10)
    const hold = { rid: world.ids.requestId(), account: ACCOUNT }
    const seen = world.disk.calls.length
    for (let turn = 0; turn < 100; turn += 1) {
      const event = JSON.stringify({ v: 1, ...hold })
      journal.progress(Object.assign(Object.create(null), { hold, event }))
    }
    world.disk.onCall(() => 'works')
    await world.clock.pass(2 * SECOND)
    expect(world.disk.calls.length).toBeGreaterThan(seen)
    world.kill(journal)
    expect((await world.unposted(await world.during(world.open()))).length).toBe(1)
  })

  it('ends the process after 30 s without a sync, with one log line', async () => {
    const journal = await world.open()
    await world.clock.pass(60 * SECOND)
    expect(world.givenUp()).toBe(0)
    world.disk.onCall(() => 'ENOSPC')
    const event = world.capture(journal)
    await world.clock.pass(29 * SECOND)
    expect(world.givenUp()).toBe(0)
    await world.clock.pass(3 * SECOND)
    expect(world.givenUp()).toBe(1)
    expect(await world.unposted(journal)).toEqual([event])
    await world.clock.pass(120 * SECOND)
    expect(world.givenUp()).toBe(1)
  })

  it('that has space again after 28 s does not end the process', async () => {
    const journal = await world.open()
    world.disk.onCall(() => 'ENOSPC')
    world.capture(journal)
    await world.clock.pass(28 * SECOND)
    world.disk.onCall(() => 'works')
    await world.clock.pass(60 * SECOND)
    expect([world.givenUp(), journal.isWritable()]).toEqual([0, true])
  })
})

describe('a process that closes in order', () => {
  it('retries a failing disk before it exits [F06]', async () => {
    const journal = await world.open()
    world.disk.onCall((_, number) => (number <= 1 ? 'EIO' : 'works'))
    const event = world.capture(journal)
    await world.during(journal.close())
    world.kill(journal, true)
    expect(await world.unposted(await world.during(world.open()))).toEqual([event])
  })

  it.each(['EIO', 'hangs'] as const)('does not wait for ever for a disk that only %s', async (fault) => {
    const journal = await world.open()
    world.disk.onCall(() => fault)
    world.capture(journal)
    await world.during(journal.close(), 7 * SECOND)
    expect(journal.isWritable()).toBe(false)
  })
})

describe('a disk that does not answer', () => {
  it('lets no call wait for more than 10 s, admits no new work, and ends the process after 30 s', async () => {
    const journal = await world.open()
    world.disk.onCall((call) => (call === 'datasync' ? 'hangs' : 'works'))
    world.capture(journal)
    await expect(world.during(journal.sync())).rejects.toMatchObject({ code: 'service_unavailable' })
    await world.clock.pass(2 * SECOND)
    expect([world.givenUp(), journal.isWritable()]).toEqual([0, false])
    await world.clock.pass(20 * SECOND)
    expect(world.givenUp()).toBe(1)
  })

  it('is not blamed for time in which the process was frozen [F04]', async () => {
    const journal = await world.open()
    world.capture(journal)
    await world.clock.freeze(700 * SECOND)
    await world.clock.pass(2 * SECOND)
    expect([world.givenUp(), journal.isWritable()]).toEqual([0, true])
  })
})

describe('a directory that was deleted', () => {
  it('ends the process, since no heir would find the journal', async () => {
    const journal = await world.open()
    await world.disk.files.remove(journal.path)
    await world.clock.pass(61 * SECOND)
    expect(world.givenUp()).toBe(1)
  })
})

describe('[F08] the journal of a dead process', () => {
  /** Captures in three segments, all synced; `counts` says how many are in each. */
  async function threeSegments(): Promise<{ journal: Opened; events: string[]; counts: number[] }> {
    const journal = await world.open({ segmentBytes: 600 })
    const events: string[] = []
    let counts: number[] = []
    while ((counts[2] ?? 0) < 5) {
      events.push(world.capture(journal))
      await world.during(journal.sync())
      const paths = (await segmentNames(journal.path)).map((name) => `${journal.path}/${name}`)
      const contents = await Promise.all(paths.map((path) => world.disk.files.read(path)))
      counts = contents.map((bytes) => (bytes ? readSegment(bytes).records.length : 0))
    }
    world.kill(journal)
    return { journal, events, counts }
  }

  const flipAt = (at: number) => (bytes: Buffer) => {
    bytes[at] = (bytes[at] ?? 0) ^ 4
    return bytes
  }

  it('starts despite a flipped bit in the middle of the last segment, and loses that record alone', async () => {
    const { journal, events, counts } = await threeSegments()
    world.disk.damage(`${journal.path}/00000003.seg`, flipAt(16 + 200))
    const [one = 0, two = 0] = counts
    // The flip is in the third record of the segment.
    const lost = one + two + 2
    const found = await world.unposted(await world.during(world.open()))
    expect(found).toEqual(events.filter((_event, at) => at !== lost))
  })

  it.each([
    ['the first record of the journal', '00000001.seg', 16 + 30],
    ['a record in the middle of the first segment', '00000001.seg', 16 + 200],
    ['a record of the second segment', '00000002.seg', 16 + 30],
    ['the head of a segment', '00000002.seg', 2],
    ['the head of the last segment', '00000003.seg', 2],
  ])('refuses to start with a flipped bit in %s, unless a setting accepts the loss', async (_, segment, at) => {
    const { journal, events } = await threeSegments()
    world.disk.damage(`${journal.path}/${segment}`, flipAt(at))
    await expect(world.during(world.open())).rejects.toThrow(/damaged at byte \d+ of .*JOURNAL_ACCEPT_DAMAGE=1/)
    await expect(world.during(world.open())).rejects.toThrow(/damaged/)
    const found = await world.unposted(await world.during(world.open({ acceptsDamage: true })))
    expect(found.length).toBeGreaterThan(0)
    expect(events.filter((event) => found.includes(event))).toEqual(found)
  })

  it('refuses to start when a segment in the middle is missing', async () => {
    const { journal } = await threeSegments()
    await world.disk.files.remove(`${journal.path}/00000002.seg`)
    await expect(world.during(world.open())).rejects.toThrow(/damaged/)
  })

  it('ignores segments without records, also with a part of a head', async () => {
    const { journal, events } = await threeSegments()
    for (const [name, bytes] of [
      ['00000008.seg', ''],
      ['00000009.seg', 'MKT'],
    ] as const) {
      await world.disk.files.write(`${journal.path}/${name}`, bytes)
    }
    world.disk.damage(`${journal.path}/00000003.seg`, (bytes) => bytes.subarray(0, bytes.length - 1))
    const found = await world.unposted(await world.during(world.open()))
    expect(found).toEqual(events.slice(0, found.length))
    expect(found.length).toBeGreaterThanOrEqual(events.length - 1)
  })

  it('counts the first of two captures of one call', async () => {
    const journal = await world.open()
    const subject = { rid: world.ids.requestId(), rail: 'credit', account: ACCOUNT }
    for (const chargeMicro of ['5', '0']) journal.capture(subject, JSON.stringify({ v: 1, ...subject, chargeMicro }))
    await world.during(journal.sync())
    world.kill(journal)
    const [event = '{}', ...more] = await world.unposted(await world.during(world.open()))
    expect([JSON.parse(event).chargeMicro, more]).toEqual(['5', []])
  })

  it('does not read posted segments: reading begins at the cursor', async () => {
    const journal = await world.open({ segmentBytes: 600 })
    const events = Array.from({ length: 20 }, () => world.capture(journal))
    await world.during(journal.sync())
    events.push(world.capture(journal))
    await journal.advance(async (captures) => captures.map(({ seq }) => seq <= 20))
    await world.during(journal.sync())
    world.kill(journal)
    expect(await world.unposted(await world.during(world.open()))).toEqual(events.slice(20))
  })
})
