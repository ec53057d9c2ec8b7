import type { ChainableCommander, Redis } from 'ioredis'
import { CHANNELS, cacheKeys } from '#shared/contract/redis-keys.ts'
import { accountDocumentName, accountOfDocument } from '#shared/contract/snapshot.ts'
import type { PublishedDocument, Publisher } from './publisher.ts'

/** Most documents of one round trip, and about how many characters of them. */
const DOCUMENT_BATCH = 200
const BATCH_CHARS = 4_000_000
/** Seconds after which a half-built key store expires, if its process died. */
const BUILDING_TTL_SECONDS = 600

/** The publisher over Redis. The connection should fail fast and not queue commands while Redis is away. */
export function createRedisPublisher(redis: Redis): Publisher {
  return {
    async versions(names) {
      if (names !== undefined) return versionsOf(redis, names)
      const [market, accounts] = await Promise.all([
        redis.hgetall(cacheKeys.snapshotIndex),
        redis.hgetall(cacheKeys.accountsIndex),
      ])
      const entries = Object.entries(accounts).map(([account, version]) => [accountDocumentName(account), version])
      return new Map([...Object.entries(market), ...entries].map(([name = '', version]) => [name, Number(version)]))
    },

    async isEmpty() {
      const sizes = await Promise.all([redis.hlen(cacheKeys.snapshotIndex), redis.hlen(cacheKeys.accountsIndex)])
      return sizes.every((size) => size === 0)
    },

    async publish(documents) {
      if (documents.length === 0) return
      // The index is written last, so a reader never sees an entry whose document is missing.
      const batches = batchesOf(documents)
      for (const batch of batches.slice(0, -1)) {
        const step = redis.multi()
        for (const [key, text] of batch) step.set(key, text)
        await execute(step)
      }
      const last = redis.multi()
      for (const [key, text] of batches.at(-1) ?? []) last.set(key, text)
      setIndexes(last, documents)
      last.publish(CHANNELS.snapshot, JSON.stringify(documents.map((document) => document.name)))
      await execute(last)
    },

    hasKeys: async () => (await redis.exists(cacheKeys.keysVersion)) === 1,

    async putKeys(keys, version) {
      const step = redis.multi()
      if (keys.length > 0) step.hset(cacheKeys.keys, new Map(keys.map(({ hash, record }) => [hash, record])))
      step.set(cacheKeys.keysVersion, String(version))
      step.publish(CHANNELS.keys, JSON.stringify(keys.map((key) => key.hash)))
      await execute(step)
    },

    async removeKeys(hashes, version) {
      const step = redis.multi()
      step.hdel(cacheKeys.keys, ...hashes)
      step.set(cacheKeys.keysVersion, String(version))
      step.publish(CHANNELS.keys, JSON.stringify(hashes))
      await execute(step)
    },

    async replaceKeys(pages, version) {
      const building = `${cacheKeys.keys}:building:${version}`
      let isEmpty = true
      for await (const page of pages) {
        if (page.length === 0) continue
        const step = redis.multi()
        step.hset(building, new Map(page.map(({ hash, record }) => [hash, record])))
        step.expire(building, BUILDING_TTL_SECONDS)
        await execute(step)
        isEmpty = false
      }
      const swap = redis.multi()
      if (isEmpty) swap.del(cacheKeys.keys)
      else swap.rename(building, cacheKeys.keys).persist(cacheKeys.keys)
      swap.set(cacheKeys.keysVersion, String(version))
      await execute(swap)
    },
  }
}

/** Reads the versions of single documents. A change of one account must not cost as much as a read of all accounts. */
async function versionsOf(redis: Redis, names: readonly string[]): Promise<ReadonlyMap<string, number>> {
  const pipeline = redis.pipeline()
  for (const name of names) {
    const account = accountOfDocument(name)
    if (account === undefined) pipeline.hget(cacheKeys.snapshotIndex, name)
    else pipeline.hget(cacheKeys.accountsIndex, account)
  }
  const versions = new Map<string, number>()
  for (const [at, [error, version]] of ((await pipeline.exec()) ?? []).entries()) {
    if (error) throw error
    const name = names[at]
    if (name !== undefined && typeof version === 'string') versions.set(name, Number(version))
  }
  return versions
}

/** Splits documents into round trips that Redis answers in time, however large the documents are. */
function batchesOf(documents: readonly PublishedDocument[]): (readonly [key: string, text: string])[][] {
  const batches: (readonly [string, string])[][] = []
  let chars = Number.POSITIVE_INFINITY
  for (const { name, text } of documents) {
    const batch = batches.at(-1)
    if (batch === undefined || batch.length >= DOCUMENT_BATCH || chars + text.length > BATCH_CHARS) {
      batches.push([[documentKey(name), text]])
      chars = text.length
    } else {
      batch.push([documentKey(name), text])
      chars += text.length
    }
  }
  return batches
}

/**
 * Documents of accounts have an index of their own, because every data plane often reads the whole index of the market.
 */
function setIndexes(step: ChainableCommander, documents: readonly PublishedDocument[]): void {
  const market = new Map<string, string>()
  const accounts = new Map<string, string>()
  for (const { name, version } of documents) {
    const account = accountOfDocument(name)
    if (account === undefined) market.set(name, String(version))
    else accounts.set(account, String(version))
  }
  if (market.size > 0) step.hset(cacheKeys.snapshotIndex, market)
  if (accounts.size === 0) return
  step.hset(cacheKeys.accountsIndex, accounts)
  step.set(cacheKeys.accountsVersion, String(Math.max(...[...accounts.values()].map(Number))))
}

function documentKey(name: string): string {
  const account = accountOfDocument(name)
  return account === undefined ? cacheKeys.document(name) : cacheKeys.account(account)
}

/** Runs a transaction of commands. Throws the first refusal among them. */
async function execute(step: ChainableCommander): Promise<void> {
  const answers = await step.exec()
  if (answers === null) throw new Error('a Redis transaction was dropped')
  for (const [error] of answers) if (error) throw error
}
