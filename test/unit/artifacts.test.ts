import { mkdir, mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { readWanted } from '#data-plane/http/byte-range.ts'
import { openArtifactFolder } from '#data-plane/store/artifact-folder.ts'
import type { ArtifactLimits, ArtifactStore } from '#data-plane/store/artifact-store.ts'
import { createArtifacts } from '#data-plane/store/artifacts.ts'
import type { Time } from '#shared/clock.ts'
import { HOUR, systemClock } from '#shared/clock.ts'
import { createIds } from '#shared/ids.ts'
import { createLogger } from '#shared/logger.ts'
import { Secret } from '#shared/secret.ts'

const LIMITS: ArtifactLimits = { fileBytes: 1_000, ownerBytes: 1_500, totalBytes: 2_000, keepMs: 24 * HOUR }
const log = createLogger('data-plane', 'silent')
const ids = createIds(systemClock)
let home: string
let now = 0
let opened: ArtifactStore[]
const clock: Time = { ...systemClock, now: () => now }

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'artifacts-'))
  now = Date.now()
  opened = []
})
afterEach(async () => {
  await Promise.all(opened.map((store) => store.close()))
  await rm(home, { recursive: true })
})

const dir = () => join(home, 'files')

function openStore(node = 'a', limits: Partial<ArtifactLimits> = {}): ArtifactStore {
  const store = openArtifactFolder({ dir: dir(), node, limits: { ...LIMITS, ...limits }, clock, log })
  opened.push(store)
  return store
}

const idOf = (index = 0) => ({ rid: ids.requestId(), index })
const png = (bytes: number, owner = 'acc_1') => ({ owner, contentType: 'image/png', pieces: [Buffer.alloc(bytes, 7)] })

/** The bytes that a store answers; undefined when it has no such file. */
async function read(store: ArtifactStore, id: ReturnType<typeof idOf>, part?: { first: number; last: number }) {
  const file = await store.open(id)
  return file && buffer(file.stream(part))
}

async function leftIn(): Promise<string[]> {
  return readdir(dir())
}

describe('a folder of media files', () => {
  it('gives back what was stored, whole and in parts, also in another process', async () => {
    const id = idOf(3)
    const pieces = [Buffer.from('ab'), Buffer.alloc(0), Buffer.from('cdef')]
    await openStore('a').put(id, { owner: 'acc_1', contentType: 'audio/wav', pieces })
    const other = openStore('b')
    expect((await read(other, id))?.toString()).toBe('abcdef')
    expect((await read(other, id, { first: 1, last: 3 }))?.toString()).toBe('bcd')
    const file = await other.open(id)
    expect(file?.facts).toMatchObject({
      owner: 'acc_1',
      contentType: 'audio/wav',
      bytes: 6,
      expiresAt: now + 24 * HOUR,
    })
    await file?.close()
    expect(await other.open(idOf())).toBeUndefined()
  })

  it('gives back a file of no bytes', async () => {
    const id = idOf()
    await openStore().put(id, png(0))
    expect(await read(openStore(), id)).toHaveLength(0)
  })

  it.each([
    ['artifact_file', 1_001, 'acc_1'],
    ['artifact_owner', 800, 'acc_1'],
    ['artifact_store', 500, 'acc_2'],
  ])('refuses what goes over the bound %s, and leaves nothing of it', async (bound, bytes, owner) => {
    const store = openStore()
    await store.put(idOf(), png(900, 'acc_1'))
    await store.put(idOf(), png(700, 'acc_3'))
    const before = await leftIn()
    const refused = store.put(idOf(), png(bytes, owner))
    await expect(refused).rejects.toMatchObject({ code: 'service_unavailable', detail: { limit_source: bound } })
    expect(await leftIn()).toEqual(before)
    expect(store.figures()).toMatchObject({ files: 2, bytes: 1_600 })
    expect([...store.figures().refused].filter(([, count]) => count > 0)).toEqual([[bound, 1]])
  })

  it('cuts a source that grows without end', async () => {
    let isEnded = false
    async function* endless() {
      try {
        for (;;) yield Buffer.alloc(100)
      } finally {
        isEnded = true
      }
    }
    const store = openStore()
    await expect(store.put(idOf(), { ...png(0), pieces: endless() })).rejects.toMatchObject({
      detail: { limit_source: 'artifact_file' },
    })
    expect([isEnded, await leftIn(), store.figures().bytes]).toEqual([true, [], 0])
  })

  it('leaves nothing of a source that breaks', async () => {
    async function* broken() {
      yield Buffer.alloc(100)
      throw new Error('cut')
    }
    const store = openStore()
    await expect(store.put(idOf(), { ...png(0), pieces: broken() })).rejects.toThrow('cut')
    expect([await leftIn(), store.figures().bytes]).toEqual([[], 0])
  })

  it('serves no file after its time, and makes room of it for the next', async () => {
    const store = openStore()
    const [old, young] = [idOf(), idOf()]
    await store.put(old, png(1_000))
    now += 24 * HOUR
    expect(await store.open(old)).toBeUndefined()
    await store.put(young, png(1_000))
    expect(store.figures()).toMatchObject({ files: 1, bytes: 1_000, swept: 1 })
    expect(await read(store, young)).toHaveLength(1_000)
  })

  it('counts a file that replaces another once', async () => {
    const store = openStore()
    const id = idOf()
    await store.put(id, png(700))
    const before = await store.open(id)
    await before?.close()
    await store.put(id, png(500))
    const after = await store.open(id)
    await after?.close()
    expect(store.figures()).toMatchObject({ files: 1, bytes: 500 })
    expect(after?.facts.tag).not.toBe(before?.facts.tag)
  })

  it('removes at its start what a crash left, and nothing that another process writes', async () => {
    const { rid } = idOf()
    await mkdir(dir())
    const names = [`.${rid}-0.a.0123.part`, `.${rid}-1.b.0123.part`, `.${rid}-2.b.4567.part`, `.${rid}-3.a.b.89.part`]
    for (const name of names) await writeFile(join(dir(), name), 'half')
    await writeFile(join(dir(), `${rid}-4`), 'no file of ours')
    await writeFile(join(dir(), 'notes.txt'), 'somebody else')
    await utimes(join(dir(), names[1] ?? ''), 0, 0)
    await openStore('a').close()
    expect(new Set(await leftIn())).toEqual(new Set([names[2], names[3], 'notes.txt']))
  })
})

describe('a link to a media file', () => {
  const artifacts = (secret = 'one') =>
    createArtifacts({
      ...{ store: openStore(), secret: new Secret(secret), apiBaseUrl: 'https://api.example', linkMs: HOUR, clock },
    })
  const membersOf = (url: string) => {
    const { searchParams } = new URL(url)
    return [searchParams.get('expires') ?? '', searchParams.get('signature') ?? ''] as const
  }

  it('opens its own file until its time is over', async () => {
    const ours = artifacts()
    const id = idOf(2)
    const { url, expiresAt } = await ours.keep(id, png(10))
    const [expires, signature] = membersOf(url)
    expect(url.startsWith(`https://api.example/v1/media/artifacts/job_${id.rid}/2?`)).toBe(true)
    expect(expiresAt).toBe(Number(expires) * 1_000)
    expect(ours.isSigned(id, expires, signature)).toBe(true)
    expect(ours.isSigned({ ...id, index: 1 }, expires, signature)).toBe(false)
    expect(ours.isSigned(idOf(2), expires, signature)).toBe(false)
    expect(artifacts('two').isSigned(id, expires, signature)).toBe(false)
    now += HOUR
    expect(ours.isSigned(id, expires, signature)).toBe(false)
  })

  it('opens nothing once one character of it is another', async () => {
    const ours = artifacts()
    const id = idOf()
    const { url } = await ours.keep(id, png(10))
    const members = membersOf(url)
    const changed = fc.record({ at: fc.nat(), text: fc.string({ minLength: 0, maxLength: 2 }), isTime: fc.boolean() })
    fc.assert(
      fc.property(changed, ({ at, text, isTime }) => {
        const [expires, signature] = members
        const old = isTime ? expires : signature
        const place = at % old.length
        const given = old.slice(0, place) + text + old.slice(place + 1)
        const isSigned = isTime ? ours.isSigned(id, given, signature) : ours.isSigned(id, expires, given)
        expect(isSigned).toBe(given === old)
      }),
    )
  })
})

describe('the part of a file that a request wants', () => {
  const etag = '"t"'
  const wanted = (headers: Record<string, string>, bytes = 10, method = 'GET') =>
    readWanted(method, headers, etag, bytes)
  const part = (first: number, last: number) => ({ status: 206, part: { first, last } })

  it.each([
    ['bytes=0-3', part(0, 3)],
    ['bytes=5-', part(5, 9)],
    ['bytes=9-99', part(9, 9)],
    ['bytes=-4', part(6, 9)],
    ['bytes=-99', part(0, 9)],
    ['BYTES= 2-2 ', part(2, 2)],
    ['bytes=10-', { status: 416 }],
    ['bytes=-0', { status: 416 }],
    ['bytes=4-2', { status: 200 }],
    ['bytes=-', { status: 200 }],
    ['bytes=0-1,4-5', { status: 200 }],
    ['lines=0-1', { status: 200 }],
    ['bytes=1e1-', { status: 200 }],
    ['bytes=0-9999999999999999999', { status: 200 }],
  ])('%s', (range, expected) => {
    expect(wanted({ range })).toEqual(expected)
  })

  it('is none of an empty file', () => {
    expect([wanted({ range: 'bytes=0-' }, 0), wanted({ range: 'bytes=-1' }, 0), wanted({}, 0)]).toEqual([
      { status: 416 },
      { status: 416 },
      { status: 200 },
    ])
  })

  it('is all of it for HEAD and for a tag of before, and nothing for a tag of now', () => {
    const range = 'bytes=0-3'
    expect(wanted({ range }, 10, 'HEAD')).toEqual({ status: 200 })
    expect(wanted({ range, 'if-range': '"old"' })).toEqual({ status: 200 })
    expect(wanted({ range, 'if-range': etag })).toEqual(part(0, 3))
    for (const list of [etag, '"a", W/"t"', '*']) {
      expect(wanted({ range, 'if-none-match': list })).toEqual({ status: 304 })
    }
    expect(wanted({ 'if-none-match': '"old"' })).toEqual({ status: 200 })
  })

  it('lies within the file whatever is asked', () => {
    const range = fc.oneof(fc.string(), fc.stringMatching(/^bytes=\d{0,17}-\d{0,17}$/))
    fc.assert(
      fc.property(range, fc.nat(40), (asked, bytes) => {
        const answer = wanted({ range: asked }, bytes)
        if (answer.status !== 206) return
        const { first, last } = answer.part
        expect(first >= 0 && first <= last && last < bytes).toBe(true)
      }),
    )
  })
})
