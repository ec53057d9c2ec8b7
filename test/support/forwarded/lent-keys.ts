import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import pg from 'pg'
import { z } from 'zod'
import type { ResourceInput } from '#shared/catalog/resources.ts'
import { systemClock } from '#shared/clock.ts'
import type { LentDocumentSchema } from '#shared/contract/lent-offers.ts'
import { lentDocumentName } from '#shared/contract/snapshot.ts'
import { createIds } from '#shared/ids.ts'
import { parseKeyRing, sealCredential } from '#shared/seal.ts'
import { Secret } from '#shared/secret.ts'
import type { Network } from '#test/support/market/network.ts'
import { until } from '#test/support/run/until.ts'

const ids = createIds(systemClock)
const Book = z.object({ offers: z.array(z.object({ id: z.string() })) })
type Row = z.input<typeof LentDocumentSchema>['offers'][number]
/** A lent key, with the terms that differ from the default. */
export type LentKey = Partial<Omit<Row, 'credential' | 'resource'>> & { readonly key: string }

/** Adds records and lent keys to a running market. Its control plane publishes them. */
export async function openLending(network: Network) {
  const secrets = JSON.parse(readFileSync(join(network.home, 'secrets.json'), 'utf8'))
  const ring = parseKeyRing(String(secrets['CREDENTIAL_KEYS']))
  const redis = new Redis(network.sandbox.redis_url)
  const database = new pg.Pool({ connectionString: network.sandbox.database_url, max: 1 })
  // All keys are lent by the seller whose key the market shows.
  const { rows } = await database.query(
    `select a.id from account a join api_key k on k.user_id = a.owner
    where a.kind = 'seller_available' and $1 like k.key_prefix || '%'`,
    [network.sandbox.seller_key],
  )
  const sellerAccount = String(rows[0]?.id)

  /** Calls an operator's operation. */
  async function operate(operation: string, input: object): Promise<void> {
    const { api_base_url: base, management_key: key } = network.sandbox
    const answer = await fetch(`${base}/trpc/${operation}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(input),
    })
    if (!answer.ok) throw new Error(`${operation}: ${await answer.text()}`)
  }

  /** A busy control plane gives this answer, and the request is repeated. */
  async function publish(resource: string): Promise<void> {
    const input = { names: [lentDocumentName(resource)] }
    const asked = () =>
      operate('snapshot.republish', input).then(
        () => true,
        (error: unknown) => {
          if (String(error).includes('service_unavailable')) return false
          throw error
        },
      )
    await until(`the keys of ${resource} are published`, 60_000, asked)
  }

  const rowOf = (resource: string, { key, ...given }: LentKey): Row => {
    const id = ids.make('crd')
    const binding = { id, tenant: sellerAccount, host: resource, purpose: 'resource' } as const
    return {
      id: ids.make('ofr'),
      resource,
      sellerAccount,
      sellerAlias: 'lender',
      keptBps: 6_000,
      capDailyMicro: null,
      scope: { models: null, methods: null, paths: null },
      ratePerMinute: null,
      buyerSharePct: null,
      traits: [],
      createdAt: 1,
      ...given,
      credential: sealCredential(ring, binding, new Secret(key)),
    }
  }

  /** Waits until the data plane sells on exactly these keys. */
  async function routed(resource: string, ids: readonly string[]): Promise<void> {
    await until(`the keys of ${resource} are routed`, 20_000, async () => {
      const answer = await fetch(`${network.sandbox.api_base_url}/v1/resource/book/${resource}`)
      if (!answer.ok) return false
      const book = Book.parse(await answer.json()).offers.map(({ id }) => id)
      return book.length === ids.length && ids.every((id) => book.includes(id))
    })
  }

  return {
    database,
    redis,
    /** Stores records as an operator would, in place of the seeded ones. */
    async records(records: readonly ResourceInput[]) {
      for (const record of records) await operate('resource.put', { record, source: 'test' })
    },
    /**
     * Lends exactly these keys of a resource. They are stored without a probe of the provider. Returns the ids of the
     * offers.
     */
    async lend(resource: string, keys: readonly LentKey[]): Promise<readonly string[]> {
      const offers = keys.map((key) => rowOf(resource, key))
      await database.query(
        "update lent_offer set status = 'delisted', updated_at = to_timestamp(0) where resource = $1",
        [resource],
      )
      for (const offer of offers) await database.query(INSERT, valuesOf(offer))
      await publish(resource)
      const ids = offers.map(({ id }) => id)
      await routed(resource, ids)
      return ids
    },
    /** Takes the keys of a resource off the market. Their jobs go on unless the keys are destroyed. */
    async retire(resource: string, isDestroyed: boolean): Promise<void> {
      const destroyed = isDestroyed ? ', sealed = null, purged_at = now()' : ''
      await database.query(
        `update lent_offer set status = 'delisted', updated_at = now()${destroyed}
        where resource = $1 and updated_at > to_timestamp(0)`,
        [resource],
      )
      await publish(resource)
      await routed(resource, [])
    },
    async close() {
      redis.disconnect()
      await database.end()
    },
  }
}
export type Lending = Awaited<ReturnType<typeof openLending>>

const INSERT = `insert into lent_offer (id, seller_account, resource, credential_id, fingerprint, sealed, kept_bps,
    cap_daily_micro, models, methods, paths, rate_per_minute, buyer_share_pct, traits_declared, traits_probed,
    acknowledged_at, status, created_at, updated_at)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, now(), 'active', now(), now())`

function valuesOf(offer: Row): unknown[] {
  const { id, sellerAccount, resource, credential, keptBps, capDailyMicro, scope, traits } = offer
  const claimed = (provenance: string) =>
    traits.filter((trait) => trait.provenance === provenance).map(({ name }) => name)
  return [
    id,
    sellerAccount,
    resource,
    credential.id,
    createHash('sha256').update(id).digest('hex'),
    credential,
    keptBps,
    capDailyMicro,
    scope.models,
    scope.methods,
    scope.paths,
    offer.ratePerMinute,
    offer.buyerSharePct,
    claimed('declared'),
    claimed('probed'),
  ]
}
