import type { Redis } from 'ioredis'
import type { Clock } from '#shared/clock.ts'
import { SECOND } from '#shared/clock.ts'
import { CHANNELS, cacheKeys } from '#shared/contract/redis-keys.ts'
import type { DocumentName } from '#shared/contract/snapshot.ts'
import { DOCUMENT_SCHEMAS, DocumentEnvelopeSchema, OffersDocumentSchema } from '#shared/contract/snapshot.ts'
import { describeCause } from '#shared/errors.ts'
import type { Offer } from '../call.ts'
import type { Market, MarketParts } from './market.ts'
import { buildMarket, EMPTY_PARTS, rankOffers } from './market.ts'
import { readSnapshotFile, writeSnapshotFile } from './snapshot-file.ts'
import type { Subscriptions } from './subscriptions.ts'

const POLL_MS = 2 * SECOND
const FILE_EVERY_MS = 10 * SECOND
/** Documents fetched in one command. */
const FETCH_BATCH = 50

type Log = { warn(facts: object, text: string): void }

export type SnapshotStore = {
  /** The market as of now. */
  market(): Market
  /** True once a snapshot has been loaded, from Redis or from the disk. */
  isLoaded(): boolean
  /** Loads what there is; resolves also when Redis cannot be reached. */
  start(): Promise<void>
  close(): Promise<void>
}

type Parts = {
  readonly redis: Redis
  readonly subscriptions: Subscriptions
  readonly clock: Clock
  readonly log: Log
  /** Where the copy on disk lives; none is kept without it. */
  readonly file: string | undefined
}

/** Keeps the market in memory: changed documents are fetched, checked and swapped in; a bad one is refused alone. */
export function createSnapshotStore({ redis, subscriptions, clock, log, file }: Parts): SnapshotStore {
  let parts: MarketParts = EMPTY_PARTS
  let market = buildMarket(parts)
  let isLoaded = false
  let isClosed = false
  const versions = new Map<string, number>()
  const texts = new Map<string, string>()
  const refused = new Map<string, number>()
  let running: Promise<void> | undefined
  let runsAgain = false
  let fileDueAt = 0
  let isFileStale = false
  let timer: NodeJS.Timeout | undefined

  /** Takes one document text in; throws when it is not a valid document of that name. */
  function take(name: string, text: string): void {
    const envelope = DocumentEnvelopeSchema.parse(JSON.parse(text))
    if (envelope.name !== name) throw new Error('the document has another name')
    parts = withDocument(parts, name, envelope.body)
    versions.set(name, envelope.version)
    texts.set(name, text)
    refused.delete(name)
  }

  function tryTake(name: string, text: string, indexVersion: number): void {
    try {
      take(name, text)
    } catch (cause) {
      // The last good one stays; the same bad version is not fetched again.
      refused.set(name, indexVersion)
      log.warn({ document: name, cause: describeCause(cause) }, 'a snapshot document was refused')
    }
  }

  function swap(): void {
    market = buildMarket(parts, market)
    isLoaded = true
    isFileStale = true
  }

  async function refresh(): Promise<void> {
    const index = await redis.hgetall(cacheKeys.snapshotIndex)
    const names = Object.keys(index).filter((name) => !name.startsWith('account:'))
    // An empty index is a Redis that lost its memory, not an empty market.
    if (names.length === 0) return
    const wanted = names.filter(
      (name) => versions.get(name) !== Number(index[name]) && refused.get(name) !== Number(index[name]),
    )
    for (let from = 0; from < wanted.length && !isClosed; from += FETCH_BATCH) {
      const batch = wanted.slice(from, from + FETCH_BATCH)
      const found = await redis.mget(batch.map((name) => documentKey(name)))
      for (const [at, text] of found.entries()) {
        const name = batch[at]
        if (name !== undefined && typeof text === 'string') tryTake(name, text, Number(index[name]))
      }
    }
    const gone = [...versions.keys()].filter((name) => name.startsWith('offers:') && index[name] === undefined)
    for (const name of gone) {
      parts = withoutOffers(parts, name)
      versions.delete(name)
      texts.delete(name)
    }
    if (wanted.length > 0 || gone.length > 0) swap()
  }

  /** One refresh at a time; a wish during one is one more after it. */
  function refreshSoon(): Promise<void> {
    if (running) {
      runsAgain = true
      return running
    }
    running = refresh()
      .catch((cause: unknown) => log.warn({ cause: describeCause(cause) }, 'the snapshot could not be refreshed'))
      .finally(() => {
        running = undefined
        if (runsAgain && !isClosed) {
          runsAgain = false
          void refreshSoon()
        }
      })
    return running
  }

  async function writeFileWhenDue(): Promise<void> {
    if (file === undefined || !isFileStale || clock.monotonic() < fileDueAt) return
    isFileStale = false
    fileDueAt = clock.monotonic() + FILE_EVERY_MS
    try {
      await writeSnapshotFile(file, texts)
    } catch (cause) {
      log.warn({ cause: describeCause(cause) }, 'the copy of the snapshot could not be written')
    }
  }

  async function loadFile(): Promise<void> {
    const documents = file === undefined ? undefined : await readSnapshotFile(file)
    if (documents === undefined) return
    for (const [name, text] of Object.entries(documents)) tryTake(name, text, 0)
    swap()
    isFileStale = false
  }

  return {
    market: () => market,
    isLoaded: () => isLoaded,
    async start() {
      subscriptions.on(CHANNELS.snapshot, () => void refreshSoon())
      await refreshSoon()
      if (!isLoaded) await loadFile()
      timer = setInterval(() => void refreshSoon().then(writeFileWhenDue), POLL_MS)
    },
    async close() {
      isClosed = true
      clearInterval(timer)
      await running
      fileDueAt = 0
      await writeFileWhenDue()
    },
  }
}

/** The parts with one document replaced. Throws a ZodError for a body that is not what its name says. */
function withDocument(parts: MarketParts, name: string, body: unknown): MarketParts {
  if (name.startsWith('offers:')) {
    const document = OffersDocumentSchema.parse(body)
    const offers = new Map<string, readonly Offer[]>(parts.offers)
    offers.set(document.model, rankOffers(document.offers))
    return { ...parts, offers }
  }
  if (!isDocumentName(name)) return parts
  switch (name) {
    case 'models':
      return { ...parts, models: DOCUMENT_SCHEMAS.models.parse(body).models }
    case 'providers':
      return { ...parts, providers: DOCUMENT_SCHEMAS.providers.parse(body).providers }
    case 'prices':
      return { ...parts, prices: new Map(Object.entries(DOCUMENT_SCHEMAS.prices.parse(body).prices)) }
    case 'markets':
      return { ...parts, rows: DOCUMENT_SCHEMAS.markets.parse(body).rows }
    case 'resources':
      return { ...parts, resources: DOCUMENT_SCHEMAS.resources.parse(body).resources }
    case 'limits':
      return { ...parts, limits: DOCUMENT_SCHEMAS.limits.parse(body) }
  }
}

function withoutOffers(parts: MarketParts, name: string): MarketParts {
  const offers = new Map(parts.offers)
  offers.delete(name.slice('offers:'.length))
  return { ...parts, offers }
}

function documentKey(name: string): string {
  return isDocumentName(name) ? cacheKeys.document(name) : cacheKeys.document(`offers:${name.replace(/^offers:/, '')}`)
}

function isDocumentName(name: string): name is DocumentName {
  return Object.hasOwn(DOCUMENT_SCHEMAS, name)
}
