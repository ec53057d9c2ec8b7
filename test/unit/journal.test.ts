import { spawn } from 'node:child_process'
import { appendFile, cp, mkdtemp, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Progress } from '#data-plane/call.ts'
import { openJournal } from '#data-plane/journal/journal.ts'
import { RECORD_HEAD_BYTES, SEGMENT_HEAD_BYTES } from '#data-plane/journal/record.ts'
import { systemClock } from '#shared/clock.ts'
import type { AccountId, RequestId } from '#shared/ids.ts'
import { createIds } from '#shared/ids.ts'
import { createLogger } from '#shared/logger.ts'
import { microUsd } from '#shared/money.ts'
import type { CreditJournal } from '#test/support/books/credit-journal.ts'
import { asCreditJournal } from '#test/support/books/credit-journal.ts'
import { until } from '#test/support/run/until.ts'

const ids = createIds(systemClock)
const log = createLogger('test', 'silent')
const ACCOUNT: AccountId = 'acc_1'
let root: string
let opened: CreditJournal[]

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'journal-'))
  opened = []
})
afterEach(async () => {
  await Promise.all(opened.map((journal) => journal.close()))
  await rm(root, { recursive: true, force: true })
})

type Options = { node?: string; segmentBytes?: number; preparedBytes?: number; acceptsDamage?: boolean; dir?: string }

async function open(options: Options = {}) {
  const { node = 'n1', dir = root, ...rest } = options
  const journal = await openJournal({ dir, node, boot: ids.ulid(), clock: systemClock, log, ...rest })
  const credit = asCreditJournal(journal)
  opened.push(credit)
  return credit
}

const eventOf = (rid: RequestId, charge: number, filler = '') =>
  JSON.stringify({ v: 1, rid, account: ACCOUNT, rail: 'credit', chargeMicro: charge.toString(), filler })

const capture = (journal: CreditJournal, rid: RequestId, charge: number) =>
  journal.capture({ rid, account: ACCOUNT }, eventOf(rid, charge))

function progressOf(rid: RequestId, charge: number): Progress {
  return {
    hold: { rid },
    offer: null,
    outputTokens: charge,
    chargeMicro: microUsd(charge),
    event: eventOf(rid, charge),
  }
}

async function unposted(journal: CreditJournal): Promise<string[]> {
  const events: string[] = []
  for await (const event of journal.unposted()) events.push(event)
  return events
}

/** Closes a journal and makes its directory look like that of a dead process. */
async function kill(journal: CreditJournal): Promise<string> {
  await journal.close()
  opened.splice(opened.indexOf(journal), 1)
  const boots = (await readdir(root)).filter((name) => /^[0-9A-Z]{26}$/.test(name))
  const directory = join(root, boots.at(-1) ?? '')
  const lock = JSON.parse(await readFile(join(directory, 'lock.json'), 'utf8'))
  await writeFile(join(directory, 'lock.json'), JSON.stringify({ ...lock, startTicks: '1' }))
  return directory
}

const segmentsOf = async (directory: string) =>
  (await readdir(directory))
    .filter((name) => name.endsWith('.seg'))
    .sort((left, right) => (left < right ? -1 : 1))
    .map((name) => join(directory, name))

describe('a journal', () => {
  it('returns unposted records and forgets posted ones', async () => {
    const journal = await open()
    const rids = Array.from({ length: 5 }, () => ids.requestId())
    for (const [index, rid] of rids.entries()) capture(journal, rid, index)
    await journal.sync()
    expect(await unposted(journal)).toEqual(rids.map((rid, index) => eventOf(rid, index)))
    await journal.advance(async (captures) => captures.map(({ rid }) => rid !== rids[2]))
    expect(journal.unpostedCount()).toBe(1)
    expect(await unposted(journal)).toEqual([eventOf(rids[2]!, 2)])
  })

  it('continues over many segments in order', async () => {
    const journal = await open({ segmentBytes: 2_000 })
    const events = Array.from({ length: 100 }, (_, index) => eventOf(ids.requestId(), index, 'x'.repeat(100)))
    for (const event of events) {
      journal.capture(JSON.parse(event), event)
      await journal.sync()
    }
    expect(await unposted(journal)).toEqual(events)
    const directory = await kill(journal)
    expect((await segmentsOf(directory)).length).toBeGreaterThan(5)
    expect(await unposted(await open())).toEqual(events)
  })

  it('syncs many waiting records at once', async () => {
    const journal = await open()
    await Promise.all(
      Array.from({ length: 500 }, async (_, index) => {
        capture(journal, ids.requestId(), index)
        await journal.sync()
      }),
    )
    expect((await unposted(journal)).length).toBe(500)
  })

  it('admits nothing while it cannot write, loses nothing, and continues in a new segment', async () => {
    const journal = await open({ segmentBytes: 500 })
    const [boot = ''] = await readdir(root)
    // The names of the next two segments are taken, so that the disk fails twice.
    for (const ordinal of [2, 3]) await writeFile(join(root, boot, `0000000${ordinal}.seg`), '')
    const events = Array.from({ length: 10 }, (_, index) => eventOf(ids.requestId(), index))
    for (const event of events) journal.capture(JSON.parse(event), event)
    await journal.sync()
    const late = eventOf(ids.requestId(), 10)
    journal.capture(JSON.parse(late), late)
    await until('it has noticed', 2_000, () => !journal.isWritable())
    await journal.sync()
    expect(journal.isWritable()).toBe(true)
    expect(new Set(await unposted(journal))).toEqual(new Set([...events, late]))
    await kill(journal)
    expect(new Set(await unposted(await open()))).toEqual(new Set([...events, late]))
  })

  it('refuses a record that its reader would refuse', async () => {
    const journal = await open()
    expect(() => journal.capture({ rid: ids.requestId(), account: ACCOUNT }, 'x'.repeat(5_000_000))).toThrow()
    expect(journal.isWritable()).toBe(true)
  })
})

describe('the journal of a dead process', () => {
  it('captures a running call by its last progress, and a captured call as it was captured', async () => {
    const journal = await open()
    const [running, captured, posted] = [ids.requestId(), ids.requestId(), ids.requestId()]
    capture(journal, posted, 1)
    journal.progress(progressOf(running, 10))
    journal.progress(progressOf(captured, 10))
    journal.progress(progressOf(running, 30))
    capture(journal, captured, 50)
    await journal.advance(async (captures) => captures.map(({ rid }) => rid === posted))
    await kill(journal)

    const next = await open({ node: 'n2' })
    expect(next.inherited().map((left) => left.member)).toEqual([journal.member])
    expect(await unposted(next)).toEqual([eventOf(captured, 50), eventOf(running, 30)])
  })

  it('is inherited once, and again when the heir dies too', async () => {
    const journal = await open()
    const rid = ids.requestId()
    capture(journal, rid, 7)
    await kill(journal)
    const [second, third] = await Promise.all([open(), open()])
    expect(second.unpostedCount() + third.unpostedCount()).toBe(1)
    const heir = second.unpostedCount() === 1 ? second : third
    await (heir === second ? third : second).close()
    opened.splice(opened.indexOf(heir === second ? third : second), 1)
    await heir.close()
    opened.splice(opened.indexOf(heir), 1)
    for (const name of await readdir(root)) {
      const path = join(root, name, 'lock.json')
      const lock = JSON.parse(await readFile(path, 'utf8'))
      await writeFile(path, JSON.stringify({ ...lock, startTicks: '1' }))
    }
    const last = await open()
    expect(await unposted(last)).toEqual([eventOf(rid, 7)])
    expect(last.inherited().find(({ member }) => member === journal.member)?.isFirstHand).toBe(false)
  })

  it('is left alone while its process runs', async () => {
    const living = await open()
    capture(living, ids.requestId(), 1)
    await living.sync()
    const other = await open({ node: 'n2' })
    expect(other.unpostedCount()).toBe(0)
    expect(other.inherited()).toEqual([])
  })

  it('may end at any byte of its last three records', async () => {
    const journal = await open({ preparedBytes: 0 })
    const events = Array.from({ length: 6 }, (_, index) => eventOf(ids.requestId(), index))
    for (const event of events) journal.capture(JSON.parse(event), event)
    const directory = await kill(journal)
    const [segment = ''] = await segmentsOf(directory)
    const bytes = await readFile(segment)
    const sizes = events.map((event) => RECORD_HEAD_BYTES + Buffer.byteLength(event))
    const from = bytes.length - sizes.slice(-3).reduce((total, size) => total + size, 0)
    const name = segment.slice(directory.length + 1)
    for (let end = from; end <= bytes.length; end += 1) {
      const place = join(root, `cut-${end}`)
      await cp(directory, join(place, directory.slice(root.length + 1)), { recursive: true })
      await truncate(join(place, directory.slice(root.length + 1), name), end)
      const heir = await open({ dir: place, preparedBytes: 0 })
      let whole = 0
      for (let at = SEGMENT_HEAD_BYTES; whole < sizes.length; whole++) {
        at += sizes[whole] ?? 0
        if (at > end) break
      }
      expect(await unposted(heir)).toEqual(events.slice(0, whole))
      await heir.close()
      opened.splice(opened.indexOf(heir), 1)
    }
  })

  it('may be damaged in its last segment, but not earlier', async () => {
    const journal = await open({ segmentBytes: 600 })
    const events = Array.from({ length: 12 }, (_, index) => eventOf(ids.requestId(), index))
    for (const event of events) {
      journal.capture(JSON.parse(event), event)
      await journal.sync()
    }
    const directory = await kill(journal)
    const segments = await segmentsOf(directory)
    const last = segments.at(-1) ?? ''
    await appendFile(last, Buffer.from([1, 2, 3]))
    await flip(segments[0] ?? '', SEGMENT_HEAD_BYTES + 40)
    await expect(open()).rejects.toThrow(/damaged at byte 16 of/)
    const heir = await open({ acceptsDamage: true })
    const survivors = await unposted(heir)
    expect(survivors.length).toBeGreaterThan(0)
    expect(events.slice(-survivors.length)).toEqual(survivors)
  })

  it('is whole up to the last sync when a process is killed', async () => {
    const child = spawn(
      process.execPath,
      ['--import', 'tsx', join(import.meta.dirname, 'fixtures', 'journal-writer.ts'), root],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    )
    let printed = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      printed += text
    })
    await until('many records are synced', 20_000, () => printed.split('\n').length > 50)
    child.kill('SIGKILL')
    await until('it is gone', 5_000, () => child.signalCode !== null)
    const synced = Number(printed.trimEnd().split('\n').at(-1))
    const heir = await open()
    const events = await unposted(heir)
    expect(events.length).toBeGreaterThanOrEqual(synced)
    expect(events.map((event) => Number(JSON.parse(event).chargeMicro))).toEqual(events.map((_, index) => index + 1))
  })
})

async function flip(path: string, at: number): Promise<void> {
  const bytes = await readFile(path)
  bytes[at] = (bytes[at] ?? 0) ^ 1
  await writeFile(path, bytes)
}
