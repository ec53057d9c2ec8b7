import { beforeEach, describe, expect, it } from 'vitest'
import type { OpenJournal } from '#data-plane/journal/journal.ts'
import { openJournal } from '#data-plane/journal/journal.ts'
import type { ProcessMark } from '#data-plane/journal/processes.ts'
import { readSegment } from '#data-plane/journal/record.ts'
import { SECOND } from '#shared/clock.ts'
import type { AccountId } from '#shared/ids.ts'
import { createIds } from '#shared/ids.ts'
import { createLogger } from '#shared/logger.ts'
import type { ManualTime } from './fixtures/manual-time.ts'
import { createManualTime } from './fixtures/manual-time.ts'
import type { MemoryDisk } from './fixtures/memory-disk.ts'
import { createMemoryDisk } from './fixtures/memory-disk.ts'

const ROOT = '/journal'
const ACCOUNT: AccountId = 'acc_1'
let clock: ManualTime
let disk: MemoryDisk
let ids: ReturnType<typeof createIds>
let dead: Set<number>
let pids: number
let givenUp: number

beforeEach(() => {
  clock = createManualTime()
  disk = createMemoryDisk(clock.time.now)
  ids = createIds(clock.time)
  dead = new Set()
  pids = 0
  givenUp = 0
})

type Opened = OpenJournal & { readonly pid: number; readonly path: string }

async function open(options: { segmentBytes?: number; acceptsDamage?: boolean } = {}): Promise<Opened> {
  pids += 1
  const boot = ids.ulid()
  const mark: ProcessMark = { pid: pids, startTicks: null, host: 'here' }
  const journal = await openJournal({
    dir: ROOT,
    node: `n${mark.pid}`,
    boot,
    clock: clock.time,
    log: createLogger('test', 'silent'),
    files: disk.files,
    processes: { own: async () => mark, isAlive: async ({ pid }) => !dead.has(pid) },
    preparedBytes: 1_000,
    onGiveUp: () => {
      givenUp += 1
    },
    ...options,
  })
  return Object.assign(journal, { pid: mark.pid, path: `${ROOT}/${boot}` })
}

/** Captures an event and answers with it. */
function capture(journal: OpenJournal): string {
  const subject = { rid: ids.requestId(), account: ACCOUNT }
  const event = JSON.stringify({ v: 1, ...subject })
  journal.capture(subject, event)
  return event
}

/** Waits for something while time passes. */
async function during<Done>(promise: Promise<Done>, limitMs = 40 * SECOND): Promise<Done> {
  const state = { isOver: false }
  const over = promise.finally(() => {
    state.isOver = true
  })
  over.catch(() => undefined)
  for (let passed = 0; passed < limitMs && !state.isOver; passed += 10) await clock.pass(10)
  return over
}

async function unposted(journal: OpenJournal, left?: Parameters<OpenJournal['unposted']>[0]): Promise<string[]> {
  const events: string[] = []
  for await (const event of journal.unposted(left)) events.push(event)
  return events
}

/** The process is gone, and with `losesPower` all that was not on the disk. */
function kill(journal: Opened, losesPower = false): void {
  dead.add(journal.pid)
  disk.onCall(() => 'works')
  if (losesPower) disk.loseUnsynced(11)
}

const segmentNames = async (path: string) => (await disk.files.list(path)).filter((name) => name.endsWith('.seg'))

describe('[F06] an error of the disk', () => {
  const cases = [1, 2, 3, 4, 5].flatMap((number) => (['write', 'datasync'] as const).map((call) => ({ call, number })))
  it.each(cases)('EIO at $call $number stops paid calls until a new segment, and loses nothing', async (at) => {
    const journal = await open()
    disk.onCall((call, number) => (call === at.call && number === at.number ? 'EIO' : 'works'))
    const events: string[] = []
    let wasRefused = false
    for (let round = 0; round < 6; round += 1) {
      events.push(capture(journal), capture(journal))
      const synced = during(journal.sync())
      await clock.pass(5)
      wasRefused ||= !journal.isWritable()
      await synced
    }
    expect(wasRefused).toBe(true)
    expect(journal.isWritable()).toBe(true)
    expect(await unposted(journal)).toEqual(events)

    const after = disk.calls.slice(disk.calls.indexOf('create 00000002.seg'))
    expect(after.length).toBeGreaterThan(1)
    expect(after.filter((call) => call.endsWith('00000001.seg'))).toEqual([])
    kill(journal, true)
    expect(await unposted(await during(open()))).toEqual(events)
  })

  it('keeps what was synced before it in the failed segment, and repeats the rest', async () => {
    const journal = await open()
    const first = capture(journal)
    await during(journal.sync())
    const second = capture(journal)
    await clock.pass(5)
    disk.onCall((call, number) => (call === 'datasync' && number === 1 ? 'EIO' : 'works'))
    await during(journal.sync())
    expect(await segmentNames(journal.path)).toEqual(['00000001.seg', '00000002.seg'])
    kill(journal)
    disk.damage(`${journal.path}/00000001.seg`, (bytes) => bytes.subarray(0, 120))
    expect(await unposted(await during(open()))).toEqual([first, second])
  })

  it('leaves no segment in which nothing is safe', async () => {
    const journal = await open()
    disk.onCall((call, number) => (call === 'datasync' && number === 1 ? 'EIO' : 'works'))
    const event = capture(journal)
    await during(journal.sync())
    expect(await segmentNames(journal.path)).toEqual(['00000002.seg'])
    expect(await unposted(journal)).toEqual([event])
  })
})

describe('a full disk', () => {
  it('keeps captures in memory, where the gate can read them, and writes them when there is room', async () => {
    const journal = await open()
    const events = [capture(journal)]
    await during(journal.sync())
    disk.onCall(() => 'ENOSPC')
    events.push(capture(journal))
    await clock.pass(10)
    expect(journal.isWritable()).toBe(false)
    events.push(capture(journal))
    await clock.pass(5 * SECOND)
    expect(await unposted(journal)).toEqual(events)
    expect(await segmentNames(journal.path)).toEqual(['00000001.seg'])
    disk.onCall(() => 'works')
    await clock.pass(1 * SECOND)
    expect(journal.isWritable()).toBe(true)
    kill(journal, true)
    expect(await unposted(await during(open()))).toEqual(events)
    expect(givenUp).toBe(0)
  })

  it('takes no progress of running calls, which would only fill the memory', async () => {
    const journal = await open()
    disk.onCall(() => 'ENOSPC')
    capture(journal)
    await clock.pass(10)
    const hold = { rid: ids.requestId(), account: ACCOUNT }
    const seen = disk.calls.length
    for (let turn = 0; turn < 100; turn += 1) {
      const event = JSON.stringify({ v: 1, ...hold })
      journal.progress(Object.assign(Object.create(null), { hold, event }))
    }
    disk.onCall(() => 'works')
    await clock.pass(2 * SECOND)
    expect(disk.calls.length).toBeGreaterThan(seen)
    kill(journal)
    expect((await unposted(await during(open()))).length).toBe(1)
  })

  it('ends the process after 30 s without anything made safe, and tells it once', async () => {
    const journal = await open()
    await clock.pass(60 * SECOND)
    expect(givenUp).toBe(0)
    disk.onCall(() => 'ENOSPC')
    const event = capture(journal)
    await clock.pass(29 * SECOND)
    expect(givenUp).toBe(0)
    await clock.pass(3 * SECOND)
    expect(givenUp).toBe(1)
    expect(await unposted(journal)).toEqual([event])
    await clock.pass(120 * SECOND)
    expect(givenUp).toBe(1)
  })

  it('that has room again after 28 s ends nothing', async () => {
    const journal = await open()
    disk.onCall(() => 'ENOSPC')
    capture(journal)
    await clock.pass(28 * SECOND)
    disk.onCall(() => 'works')
    await clock.pass(60 * SECOND)
    expect([givenUp, journal.isWritable()]).toEqual([0, true])
  })
})

describe('a process that ends in order', () => {
  it('tries a disk that fails again before it goes [F06]', async () => {
    const journal = await open()
    disk.onCall((_, number) => (number <= 1 ? 'EIO' : 'works'))
    const event = capture(journal)
    await during(journal.close())
    kill(journal, true)
    expect(await unposted(await during(open()))).toEqual([event])
  })

  it.each(['EIO', 'hangs'] as const)('does not wait for ever for a disk that only %s', async (fault) => {
    const journal = await open()
    disk.onCall(() => fault)
    capture(journal)
    await during(journal.close(), 7 * SECOND)
    expect(journal.isWritable()).toBe(false)
  })
})

describe('a disk that does not answer', () => {
  it('lets nobody wait for more than 10 s, takes no new work, and is given up after 30 s', async () => {
    const journal = await open()
    disk.onCall((call) => (call === 'datasync' ? 'hangs' : 'works'))
    capture(journal)
    await expect(during(journal.sync())).rejects.toMatchObject({ code: 'service_unavailable' })
    await clock.pass(2 * SECOND)
    expect([givenUp, journal.isWritable()]).toEqual([0, false])
    await clock.pass(20 * SECOND)
    expect(givenUp).toBe(1)
  })

  it('is not blamed for the time in which the process was frozen [F04]', async () => {
    const journal = await open()
    capture(journal)
    await clock.freeze(700 * SECOND)
    await clock.pass(2 * SECOND)
    expect([givenUp, journal.isWritable()]).toEqual([0, true])
  })
})

describe('a directory that is not there any more', () => {
  it('ends the process, since nobody would find what it writes', async () => {
    const journal = await open()
    await disk.files.remove(journal.path)
    await clock.pass(61 * SECOND)
    expect(givenUp).toBe(1)
  })
})

describe('[F08] the journal of a dead process', () => {
  /** Captures in three segments, all safe; `counts` says how many lie in each. */
  async function threeSegments(): Promise<{ journal: Opened; events: string[]; counts: number[] }> {
    const journal = await open({ segmentBytes: 600 })
    const events: string[] = []
    let counts: number[] = []
    while ((counts[2] ?? 0) < 5) {
      events.push(capture(journal))
      await during(journal.sync())
      const paths = (await segmentNames(journal.path)).map((name) => `${journal.path}/${name}`)
      const contents = await Promise.all(paths.map((path) => disk.files.read(path)))
      counts = contents.map((bytes) => (bytes ? readSegment(bytes).records.length : 0))
    }
    kill(journal)
    return { journal, events, counts }
  }

  const flipAt = (at: number) => (bytes: Buffer) => {
    bytes[at] = (bytes[at] ?? 0) ^ 4
    return bytes
  }

  it('starts with a flipped bit in the middle of the last segment, without what follows there', async () => {
    const { journal, events, counts } = await threeSegments()
    disk.damage(`${journal.path}/00000003.seg`, flipAt(16 + 200))
    const [one = 0, two = 0] = counts
    // The flip is in the third record of the segment.
    expect(await unposted(await during(open()))).toEqual(events.slice(0, one + two + 2))
  })

  it.each([
    ['the first record of all', '00000001.seg', 16 + 30],
    ['a record in the middle of the first segment', '00000001.seg', 16 + 200],
    ['a record of the second segment', '00000002.seg', 16 + 30],
    ['the head of a segment', '00000002.seg', 2],
    ['the head of the last segment', '00000003.seg', 2],
  ])('refuses to start with a flipped bit in %s, unless told to accept that', async (_, segment, at) => {
    const { journal, events } = await threeSegments()
    disk.damage(`${journal.path}/${segment}`, flipAt(at))
    await expect(during(open())).rejects.toThrow(/damaged at byte \d+ of .*JOURNAL_ACCEPT_DAMAGE=1/)
    await expect(during(open())).rejects.toThrow(/damaged/)
    const found = await unposted(await during(open({ acceptsDamage: true })))
    expect(found.length).toBeGreaterThan(0)
    expect(events.filter((event) => found.includes(event))).toEqual(found)
  })

  it('refuses to start when a segment in the middle is not there', async () => {
    const { journal } = await threeSegments()
    await disk.files.remove(`${journal.path}/00000002.seg`)
    await expect(during(open())).rejects.toThrow(/damaged/)
  })

  it('ignores a segment that was only made ahead, or not even that', async () => {
    const { journal, events } = await threeSegments()
    for (const [name, bytes] of [
      ['00000008.seg', ''],
      ['00000009.seg', 'MKT'],
    ] as const) {
      await disk.files.write(`${journal.path}/${name}`, bytes)
    }
    disk.damage(`${journal.path}/00000003.seg`, (bytes) => bytes.subarray(0, bytes.length - 1))
    const found = await unposted(await during(open()))
    expect(found).toEqual(events.slice(0, found.length))
    expect(found.length).toBeGreaterThanOrEqual(events.length - 1)
  })

  it('counts the first of two captures of one call', async () => {
    const journal = await open()
    const subject = { rid: ids.requestId(), account: ACCOUNT }
    for (const chargeMicro of ['5', '0']) journal.capture(subject, JSON.stringify({ v: 1, ...subject, chargeMicro }))
    await during(journal.sync())
    kill(journal)
    const [event = '{}', ...more] = await unposted(await during(open()))
    expect([JSON.parse(event).chargeMicro, more]).toEqual(['5', []])
  })

  it('needs no reading of what is posted: the cursor says from where on', async () => {
    const journal = await open({ segmentBytes: 600 })
    const events = Array.from({ length: 20 }, () => capture(journal))
    await during(journal.sync())
    events.push(capture(journal))
    await journal.advance(async (captures) => captures.map(({ seq }) => seq <= 20))
    await during(journal.sync())
    kill(journal)
    expect(await unposted(await during(open()))).toEqual(events.slice(20))
  })
})

describe('a process that dies while others live', () => {
  it('is taken over by one of them within seconds, and crossed off once that is handed on', async () => {
    const [first, second, third] = [await open(), await open(), await open()]
    const event = capture(first)
    const own = capture(second)
    await during(Promise.all([first.sync(), second.sync()]))
    kill(first, true)
    await clock.pass(4 * SECOND)
    const heirs = [second, third].filter((journal) => journal.inherited().length > 0)
    expect(heirs.length).toBe(1)
    const [heir = second] = heirs
    const [left] = heir.inherited()
    expect([left?.member, left?.isFirstHand]).toEqual([first.member, true])
    expect(await unposted(heir, left)).toEqual([event])
    expect(new Set(await unposted(heir))).toEqual(new Set(heir === second ? [own, event] : [event]))
    if (left) heir.crossOff(left)
    await clock.pass(10 * SECOND)
    expect(second.inherited().length + third.inherited().length).toBe(0)
    expect(second.unpostedCount() + third.unpostedCount()).toBe(2)
  })

  it('is left to the next start when its journal is damaged', async () => {
    const [first, second] = [await open({ segmentBytes: 300 }), await open()]
    for (let count = 0; count < 12; count += 1) {
      capture(first)
      await during(first.sync())
    }
    kill(first)
    disk.damage(`${first.path}/00000001.seg`, (bytes) => bytes.fill(1, 40, 50))
    await clock.pass(30 * SECOND)
    expect([second.inherited(), second.isWritable(), second.unpostedCount()]).toEqual([[], true, 0])
    kill(second)
    await expect(during(open())).rejects.toThrow(/damaged/)
    expect((await unposted(await during(open({ acceptsDamage: true })))).length).toBeGreaterThan(0)
  })

  it('has its captures passed by no cursor before they are crossed off', async () => {
    const [first, second] = [await open(), await open()]
    const event = capture(first)
    await during(first.sync())
    const own = capture(second)
    kill(first)
    await clock.pass(4 * SECOND)
    capture(second)
    const asked: string[] = []
    const allPosted = async (captures: readonly { rid: string }[]) => captures.map(({ rid }) => asked.push(rid) > 0)
    await second.advance(allPosted)
    expect(asked).toEqual([JSON.parse(own).rid])
    expect((await unposted(second))[0]).toEqual(event)
    for (const left of second.inherited()) second.crossOff(left)
    await second.advance(allPosted)
    expect(second.unpostedCount()).toBe(0)
  })

  it('hands on what could be read of it when the rest cannot be, and keeps its member on the record', async () => {
    const [first, second] = [await open(), await open()]
    const events = Array.from({ length: 3 }, () => capture(first))
    await during(first.sync())
    dead.add(first.pid)
    disk.onCall((call) => (call === 'datasync' ? 'hangs' : 'works'))
    await clock.pass(15 * SECOND)
    expect(second.inherited().map((left) => left.member)).toEqual([undefined])
    expect(await unposted(second, second.inherited()[0])).toEqual(events)
  })

  it('waits while the disk of the living takes nothing', async () => {
    const [first, second] = [await open(), await open()]
    const event = capture(first)
    await during(first.sync())
    dead.add(first.pid)
    disk.onCall(() => 'ENOSPC')
    const own = capture(second)
    await clock.pass(10 * SECOND)
    expect(second.inherited()).toEqual([])
    disk.onCall(() => 'works')
    await clock.pass(10 * SECOND)
    expect(await unposted(second)).toEqual([own, event])
  })
})
