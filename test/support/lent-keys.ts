import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import pg from 'pg'
import type { z } from 'zod'
import type { ResourceInput } from '#shared/catalog/resources.ts'
import { systemClock } from '#shared/clock.ts'
import type { LentDocumentSchema } from '#shared/contract/lent-offers.ts'
import { CHANNELS, cacheKeys } from '#shared/contract/redis-keys.ts'
import { lentDocumentName, writeDocument } from '#shared/contract/snapshot.ts'
import { createIds } from '#shared/ids.ts'
import { parseKeyRing, sealCredential } from '#shared/seal.ts'
import { Secret } from '#shared/secret.ts'
import type { Network } from './network.ts'

const ids = createIds(systemClock)
type Row = z.input<typeof LentDocumentSchema>['offers'][number]
/** A key that is lent, with the terms that differ from none at all. */
export type LentKey = Partial<Omit<Row, 'credential' | 'resource'>> & { readonly key: string }

/** Publishes records and lent keys to the data planes of a running market, as its control plane does. */
export async function openLending(network: Network) {
  const secrets = JSON.parse(readFileSync(join(network.home, 'secrets.json'), 'utf8'))
  const ring = parseKeyRing(String(secrets['CREDENTIAL_KEYS']))
  const redis = new Redis(network.sandbox.redis_url)
  const database = new pg.Pool({ connectionString: network.sandbox.database_url, max: 1 })
  const { rows } = await database.query("select id from account where kind = 'seller_available' order by id limit 1")
  const sellerAccount = String(rows[0]?.id)
  let version = 1_000_000

  async function publish(name: string, body: object): Promise<void> {
    version++
    await redis.set(cacheKeys.document(name), writeDocument(name, version, JSON.stringify(body)))
    await redis.hset(cacheKeys.snapshotIndex, name, version)
    await redis.publish(CHANNELS.snapshot, JSON.stringify([name]))
  }

  const rowOf = (resource: string, { key, ...given }: LentKey): Row => {
    const id = ids.make('crd')
    const binding = { id, tenant: sellerAccount, host: resource, purpose: 'offer' } as const
    return {
      ...{ id: ids.make('ofr'), resource, sellerAccount, sellerAlias: 'lender', keptBps: 6_000, capDailyMicro: null },
      ...{ scope: { models: null, methods: null, paths: null }, ratePerMinute: null, buyerSharePct: null, traits: [] },
      createdAt: 1,
      ...given,
      credential: sealCredential(ring, binding, new Secret(key)),
    }
  }

  return {
    database,
    redis,
    /** Stores new records, so that the control plane publishes the same. */
    async records(records: readonly ResourceInput[]) {
      for (const record of records) {
        const { id, kind } = record
        await database.query('insert into resource values ($1, $2, 1, now())', [id, kind])
        await database.query("insert into resource_version values ($1, 1, $2, 'test', 'test', now())", [id, record])
      }
      await publish('resources', { resources: records.map((record) => ({ version: 1, record })) })
    },
    /** Lends these keys of a resource, and no others. Answers the ids of the offers. */
    async lend(resource: string, keys: readonly LentKey[]): Promise<readonly string[]> {
      const offers = keys.map((key) => rowOf(resource, key))
      await publish(lentDocumentName(resource), { resource, offers })
      return offers.map(({ id }) => id)
    },
    async close() {
      redis.disconnect()
      await database.end()
    },
  }
}
export type Lending = Awaited<ReturnType<typeof openLending>>
