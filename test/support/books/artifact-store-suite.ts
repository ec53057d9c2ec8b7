import { once } from 'node:events'
import { buffer } from 'node:stream/consumers'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { ArtifactLimits, ArtifactStore } from '#data-plane/store/artifact-store.ts'
import type { Time } from '#shared/clock.ts'
import { HOUR, systemClock } from '#shared/clock.ts'
import { createIds } from '#shared/ids.ts'
import { until } from '#test/support/run/until.ts'

const LIMITS: ArtifactLimits = { fileBytes: 1_000, ownerBytes: 1_500, totalBytes: 2_000, keepMs: 24 * HOUR }
const LARGE = { fileBytes: 30_000_000, ownerBytes: 60_000_000, totalBytes: 60_000_000 }
/** More than two parts of an upload, and not a whole number of parts. */
const LARGE_BYTES = 20_000_003
const ids = createIds(systemClock)

/** A place where stores keep files: a folder or a bucket. */
export type StorePlace = {
  /** Opens a store for a process with this name. */
  open(node: string, limits: ArtifactLimits, clock: Time): Promise<ArtifactStore>
  /** The names of all stored objects, also of unfinished ones. */
  left(): Promise<readonly string[]>
  close(): Promise<void>
}

/** A place, and the clock of all stores that the suite opens there. */
export type OpenedPlace = {
  readonly place: StorePlace
  readonly clock: Time
  pass(ms: number): void
  openStore(node?: string, limits?: Partial<ArtifactLimits>): Promise<ArtifactStore>
}

export const artifactId = (index = 0) => ({ rid: ids.requestId(), index })
export const picture = (bytes: number, owner = 'acc_1') => ({
  owner,
  contentType: 'image/png',
  pieces: [Buffer.alloc(bytes, 7)],
})

/** The bytes that a store returns. Undefined when it has no such file. */
export async function readStored(
  store: ArtifactStore,
  id: ReturnType<typeof artifactId>,
  part?: { first: number; last: number },
) {
  const file = await store.open(id)
  return file && buffer(file.stream(part))
}

/** The promises of every place for media files. `more` adds promises of one place only. */
export function artifactStoreSuite(
  name: string,
  openPlace: () => Promise<StorePlace>,
  more: (at: OpenedPlace) => void = () => undefined,
): void {
  let place: StorePlace
  let now = 0
  let opened: ArtifactStore[]
  const clock: Time = { ...systemClock, now: () => now }
  const openStore = async (node = 'a', limits: Partial<ArtifactLimits> = {}) => {
    const store = await place.open(node, { ...LIMITS, ...limits }, clock)
    opened.push(store)
    return store
  }
  const left = () => place.left()

  describe(name, () => {
    beforeEach(async () => {
      place = await openPlace()
      now = Date.now()
      opened = []
    })
    afterEach(async () => {
      await Promise.all(opened.map((store) => store.close()))
      await place.close()
    })

    it('returns the stored bytes, whole and in parts, also in another process', async () => {
      const id = artifactId(3)
      const pieces = [Buffer.from('ab'), Buffer.alloc(0), Buffer.from('cdef')]
      await (await openStore('a')).put(id, { owner: 'acc_1', contentType: 'audio/wav', pieces, isOfAnswer: true })
      const other = await openStore('b')
      expect((await readStored(other, id))?.toString()).toBe('abcdef')
      expect((await readStored(other, id, { first: 1, last: 3 }))?.toString()).toBe('bcd')
      const file = await other.open(id)
      expect(file?.facts).toMatchObject({
        owner: 'acc_1',
        contentType: 'audio/wav',
        bytes: 6,
        expiresAt: now + 24 * HOUR,
        isOfAnswer: true,
      })
      await file?.close()
      expect(await other.open(artifactId())).toBeUndefined()
    })

    it('returns a file of zero bytes', async () => {
      const id = artifactId()
      await (await openStore()).put(id, picture(0))
      expect(await readStored(await openStore(), id)).toHaveLength(0)
    })

    it('returns a large file for pieces of any size, whole and in parts', async () => {
      const store = await openStore('a', LARGE)
      const id = artifactId()
      const content = Buffer.alloc(LARGE_BYTES)
      for (let at = 0; at + 4 <= content.length; at += 4) content.writeUInt32LE(at, at)
      const pieces = [content.subarray(0, 1), content.subarray(1, 9_000_000), content.subarray(9_000_000)]
      await store.put(id, { ...picture(0), pieces })
      expect((await readStored(store, id))?.equals(content)).toBe(true)
      const range = fc.record({ first: fc.nat(LARGE_BYTES - 1), bytes: fc.integer({ min: 1, max: 70_000 }) })
      await fc.assert(
        fc.asyncProperty(range, async ({ first, bytes }) => {
          const last = Math.min(first + bytes, LARGE_BYTES) - 1
          const part = await readStored(store, id, { first, last })
          expect(part?.equals(content.subarray(first, last + 1))).toBe(true)
        }),
        { numRuns: 20 },
      )
      expect(store.figures()).toMatchObject({ files: 1, bytes: LARGE_BYTES })
    })

    it.each([
      ['artifact_file', 1_001, 'acc_1'],
      ['artifact_owner', 800, 'acc_1'],
      ['artifact_store', 500, 'acc_2'],
    ])('refuses a file over the bound %s, and leaves no part of it', async (bound, bytes, owner) => {
      const store = await openStore()
      await store.put(artifactId(), picture(900, 'acc_1'))
      await store.put(artifactId(), picture(700, 'acc_3'))
      const before = await left()
      const refused = store.put(artifactId(), picture(bytes, owner))
      await expect(refused).rejects.toMatchObject({ code: 'service_unavailable', detail: { limit_source: bound } })
      expect(await left()).toEqual(before)
      expect(store.figures()).toMatchObject({ files: 2, bytes: 1_600 })
      expect([...store.figures().refused].filter(([, count]) => count > 0)).toEqual([[bound, 1]])
    })

    it.each([
      ['small', 100, {}],
      ['large', 1_000_000, { ...LARGE, fileBytes: 20_000_000 }],
    ])('cuts a %s source that grows without end, closes it and keeps no part of it', async (_size, piece, limits) => {
      let isEnded = false
      async function* endless() {
        try {
          for (;;) yield Buffer.alloc(piece)
        } finally {
          isEnded = true
        }
      }
      const store = await openStore('a', limits)
      await expect(store.put(artifactId(), { ...picture(0), pieces: endless() })).rejects.toMatchObject({
        detail: { limit_source: 'artifact_file' },
      })
      expect([isEnded, await left(), store.figures().bytes]).toEqual([true, [], 0])
    })

    it.each([
      ['at its beginning', 100],
      ['after some parts', 19_000_000],
    ])('leaves no part of a file whose source breaks %s', async (_when, bytes) => {
      async function* broken() {
        yield Buffer.alloc(bytes)
        throw new Error('cut')
      }
      const store = await openStore('a', LARGE)
      await expect(store.put(artifactId(), { ...picture(0), pieces: broken() })).rejects.toThrow('cut')
      expect([await left(), store.figures().bytes]).toEqual([[], 0])
    })

    it('shows no unfinished file', async () => {
      const store = await openStore('a', LARGE)
      const id = artifactId()
      let goOn = () => {}
      const gate = new Promise<void>((resolve) => {
        goOn = resolve
      })
      async function* slow() {
        yield Buffer.alloc(9_000_000, 1)
        await gate
        yield Buffer.alloc(1, 2)
      }
      const storing = store.put(id, { ...picture(0), pieces: slow() })
      expect(await (await openStore('b')).open(id)).toBeUndefined()
      goOn()
      await storing
      expect(await readStored(store, id)).toHaveLength(9_000_001)
    })

    it('serves no file after its expiry, and makes room for the next one', async () => {
      const store = await openStore()
      const [old, young] = [artifactId(), artifactId()]
      await store.put(old, picture(1_000))
      now += 24 * HOUR
      expect(await store.open(old)).toBeUndefined()
      await store.put(young, picture(1_000))
      expect(store.figures()).toMatchObject({ files: 1, bytes: 1_000, swept: 1 })
      expect(await readStored(store, young)).toHaveLength(1_000)
      expect(await left()).toHaveLength(1)
    })

    it('learns about the files of another process, counts them by owner, and forgets those that the other process removed', async () => {
      const [first, second] = [artifactId(), artifactId()]
      const one = await openStore('a')
      await one.put(first, picture(900))
      const other = await openStore('b')
      await until('the other store knows the file', 5_000, async () => other.figures().files === 1)
      await expect(other.put(second, picture(700))).rejects.toMatchObject({
        detail: { limit_source: 'artifact_owner' },
      })
      expect(other.figures()).toMatchObject({ files: 1, bytes: 900 })
      await one.remove(first)
      await one.remove(first)
      await other.put(second, picture(700))
      expect(other.figures()).toMatchObject({ files: 1, bytes: 700 })
    })

    it('counts a file that replaces another once', async () => {
      const store = await openStore()
      const id = artifactId()
      await store.put(id, picture(700))
      const before = await store.open(id)
      await before?.close()
      await store.put(id, picture(500))
      const after = await store.open(id)
      await after?.close()
      expect(store.figures()).toMatchObject({ files: 1, bytes: 500 })
      expect(after?.facts.tag).not.toBe(before?.facts.tag)
    })

    it('stops reading for a client that disconnects, and goes on for the others', async () => {
      const store = await openStore('a', LARGE)
      const id = artifactId()
      await store.put(id, picture(LARGE_BYTES))
      for (let count = 0; count < 60; count++) {
        const file = await store.open(id)
        const stream = file?.stream()
        if (stream === undefined) throw new Error('there is no such file')
        if (count % 3 > 0) stream.read(1)
        if (count % 3 > 1) await once(stream, 'readable')
        stream.destroy()
        await once(stream, 'close')
      }
      expect(await readStored(store, id)).toHaveLength(LARGE_BYTES)
    })

    more({
      get place() {
        return place
      },
      clock,
      pass(ms) {
        now += ms
      },
      openStore,
    })
  })
}
