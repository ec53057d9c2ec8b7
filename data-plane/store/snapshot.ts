import type { Redis } from 'ioredis'
import type { Time } from '#shared/clock.ts'
import { SECOND } from '#shared/clock.ts'
import { CHANNELS, cacheKeys } from '#shared/contract/redis-keys.ts'
import { describeCause } from '#shared/errors.ts'
import type { Subscriptions } from '#shared/subscriptions.ts'
import type { Market } from './market.ts'
import { buildMarket, EMPTY_BODIES } from './market.ts'
import type { DocumentFigures, MarketDocuments } from './market-documents.ts'
import { createMarketDocuments } from './market-documents.ts'
import { createSnapshotFile, readSnapshotFile } from './snapshot-file.ts'

const POLL_MS = 2 * SECOND
const FILE_EVERY_MS = 10 * SECOND
/**
 * Documents fetched in one command. The documents of a large market take a megabyte each, and two batches are in memory
 * at once.
 */
const FETCH_BATCH = 2
/**
 * Characters of documents that may wait for the copy on disk. A whole market's would need as much memory as the market.
 */
const MAX_UNSAVED_CHARS = 2_000_000

type Log = { warn(facts: object, text: string): void }

export type SnapshotStore = {
  /** The present market. */
  market(): Market
  /** True once a snapshot has been loaded, from Redis or from disk. */
  isLoaded(): boolean
  figures(): SnapshotFigures
  /** Loads the snapshot from Redis or from disk. Resolves even when Redis cannot be reached. */
  start(): Promise<void>
  close(): Promise<void>
}

/** `ageMs` is the time since Redis last answered; undefined before the first answer. */
export type SnapshotFigures = DocumentFigures & { readonly ageMs: number | undefined; readonly swaps: number }

type Parts = {
  readonly redis: Redis
  readonly subscriptions: Subscriptions
  readonly clock: Time
  readonly log: Log
  /** Path of the copy on disk. Without it there is no copy. */
  readonly file: string | undefined
}

/**
 * Keeps the market in memory. Changed documents are fetched, checked and swapped in. An invalid one is refused alone.
 */
export function createSnapshotStore({ redis, subscriptions, clock, log, file }: Parts): SnapshotStore {
  const rest = () => new Promise<void>((resolve) => clock.soon(resolve))
  const documents = createMarketDocuments(rest)
  let market = buildMarket(EMPTY_BODIES)
  let isLoaded = false
  const copy = file === undefined ? undefined : createSnapshotFile(file)
  let fileDueAt = 0
  let retryAt = 0
  let timer: NodeJS.Timeout | undefined
  let askedAt: number | undefined
  let swaps = 0

  function swap(): void {
    swaps++
    market = buildMarket(documents.parts(), market)
    isLoaded = true
  }

  const refresh = createSerial(async () => {
    try {
      if (await fetchChanged(redis, documents, take)) swap()
      askedAt = clock.monotonic()
    } catch (cause) {
      log.warn({ cause: describeCause(cause) }, 'the snapshot could not be refreshed')
    }
  })

  const save = createSerial(async () => {
    const changedDocuments = documents.takeChanged()
    if (copy === undefined) return
    if (isLoaded) fileDueAt = clock.monotonic() + FILE_EVERY_MS
    try {
      // A part of a market is no copy of it. An earlier process's copy stays until this one is complete.
      await (isLoaded ? copy.save(changedDocuments) : copy.gather(changedDocuments))
    } catch (cause) {
      documents.returnChanged(changedDocuments)
      retryAt = clock.monotonic() + FILE_EVERY_MS
      log.warn({ cause: describeCause(cause) }, 'the copy of the snapshot could not be written')
    }
  })

  async function saveWhenDue(): Promise<void> {
    if (isLoaded && clock.monotonic() >= fileDueAt) await save()
  }

  /** An invalid document is refused alone: the last valid one stays, and the same version is not fetched again. */
  async function take({ name, text, version }: Document): Promise<void> {
    try {
      await documents.take(name, text)
    } catch (cause) {
      documents.refuse(name, version)
      log.warn({ document: name, cause: describeCause(cause) }, 'a snapshot document was refused')
    }
    if (documents.changedChars() > MAX_UNSAVED_CHARS && clock.monotonic() >= retryAt) void save()
    await rest()
  }

  return {
    market: () => market,
    isLoaded: () => isLoaded,
    figures: () => ({
      ...documents.figures(),
      ageMs: askedAt === undefined ? undefined : clock.monotonic() - askedAt,
      swaps,
    }),
    async start() {
      subscriptions.listen(CHANNELS.snapshot, refresh, refresh)
      await refresh()
      if (!isLoaded && file !== undefined && (await loadFile(file, take))) swap()
      timer = setInterval(() => void refresh().then(saveWhenDue), POLL_MS)
    },
    async close() {
      clearInterval(timer)
      fileDueAt = 0
      await saveWhenDue()
    },
  }
}

type Document = { readonly name: string; readonly text: string; readonly version: number }
type Fetched = Omit<Document, 'text'> & { readonly text: string | null }
type Take = (document: Document) => Promise<void>

/**
 * Fetches the documents that have a new version in the index. The next batch is fetched while one is read. Returns true
 * when any has.
 */
async function fetchChanged(redis: Redis, documents: MarketDocuments, take: Take): Promise<boolean> {
  const index = await redis.hgetall(cacheKeys.snapshotIndex)
  // An empty index means that Redis has lost its data. A market is never empty.
  if (Object.keys(index).length === 0) return false
  const wantedNames = documents.wantedNames(index)
  const fetchFrom = async (from: number): Promise<Fetched[]> => {
    const names = wantedNames.slice(from, from + FETCH_BATCH)
    const texts = names.length === 0 ? [] : await redis.mget(names.map(cacheKeys.document))
    return names.map((name, at) => ({ name, text: texts[at] ?? null, version: Number(index[name]) }))
  }
  let next = fetchFrom(0)
  for (let from = 0; from < wantedNames.length; from += FETCH_BATCH) {
    const batch = await next
    next = fetchFrom(from + FETCH_BATCH)
    // The next batch is not awaited yet. Its failure is thrown where it is awaited.
    next.catch(() => undefined)
    for (const { text, ...document } of batch) if (text !== null) await take({ ...document, text })
  }
  return documents.dropMissing(index) > 0 || wantedNames.length > 0
}

async function loadFile(file: string, take: Take): Promise<boolean> {
  let isAny = false
  for await (const { name, text } of readSnapshotFile(file)) {
    await take({ name, text, version: 0 })
    isAny = true
  }
  return isAny
}

/** Runs a function one at a time. A call during a run starts one more run after it. */
function createSerial(run: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined
  let isQueued = false
  async function runAll(): Promise<void> {
    do {
      isQueued = false
      await run()
    } while (isQueued)
    running = undefined
  }
  return () => {
    if (running === undefined) running = runAll()
    else isQueued = true
    return running
  }
}
