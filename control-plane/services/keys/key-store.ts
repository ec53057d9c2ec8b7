import type { z } from 'zod'
import type { Trx } from '#control-plane/db/database.ts'
import { transact } from '#control-plane/db/database.ts'
import type { StoredKey } from '#control-plane/db/key-store.ts'
import {
  deleteKeyChanges,
  findStoredKeys,
  listKeyChanges,
  listStoredKeys,
  lockKeyStore,
} from '#control-plane/db/key-store.ts'
import { hasKeyChanges } from '#control-plane/db/open-work.ts'
import { nextVersion } from '#control-plane/db/snapshot.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import type { PublishedKey } from '#control-plane/ports/publisher/publisher.ts'
import type { KeyRecordSchema } from '#shared/contract/key-record.ts'

type KeyStoreCtx = Pick<Ctx, 'db' | 'publisher' | 'log'>

/** Changes of one round, most rounds of one drain, and keys in a page of a rebuild. */
const DRAIN_BATCH = 500
const DRAIN_ROUNDS = 100
const PAGE = 2_000
const MAX_PAGES = 100_000

/** Publishes changed keys now. After a failure their rows wait for the worker. */
export async function publishKeysSoon(ctx: KeyStoreCtx): Promise<void> {
  try {
    await drainKeyChanges(ctx)
  } catch (error) {
    ctx.log.warn({ err: error }, 'changed keys are published later')
  }
}

/** Publishes keys with unpublished changes. The check for waiting rows takes no lock. */
export async function publishWaitingKeys(ctx: KeyStoreCtx): Promise<number> {
  return (await hasKeyChanges(ctx.db)) ? drainKeyChanges(ctx) : 0
}

/** Publishes the keys with a waiting change and returns their number. Throws when the store is away. */
export async function drainKeyChanges(ctx: KeyStoreCtx): Promise<number> {
  let published = 0
  for (let round = 0; round < DRAIN_ROUNDS; round++) {
    const drained = await transact(ctx.db, async (trx) => {
      await lockKeyStore(trx)
      const changes = await listKeyChanges(trx, DRAIN_BATCH)
      if (changes.length === 0) return 0
      // An empty store gets all keys by a rebuild. A version written now would make all other keys unknown.
      if (!(await ctx.publisher.hasKeys())) await rebuild(ctx, trx)
      else {
        const keys = await findStoredKeys(
          trx,
          changes.map((change) => change.keyId),
        )
        await ctx.publisher.putKeys(keys.map(toPublished), await nextVersion(trx))
      }
      await deleteKeyChanges(
        trx,
        changes.map((change) => change.seq),
      )
      return changes.length
    })
    published += drained
    if (drained < DRAIN_BATCH) break
  }
  return published
}

/** Fills the key store if it is empty. Returns true when it was. Throws when the store is away. */
export async function restoreKeyStore(ctx: KeyStoreCtx): Promise<boolean> {
  if (await ctx.publisher.hasKeys()) return false
  return transact(ctx.db, async (trx) => {
    await lockKeyStore(trx)
    if (await ctx.publisher.hasKeys()) return false
    await rebuild(ctx, trx)
    return true
  })
}

async function rebuild(ctx: KeyStoreCtx, trx: Trx): Promise<void> {
  await ctx.publisher.replaceKeys(pagesOfKeys(trx), await nextVersion(trx))
}

async function* pagesOfKeys(trx: Trx): AsyncGenerator<PublishedKey[]> {
  let after = ''
  for (let page = 0; page < MAX_PAGES; page++) {
    const keys = await listStoredKeys(trx, after, PAGE)
    yield keys.map(toPublished)
    const last = keys.at(-1)
    if (last === undefined || keys.length < PAGE) return
    after = last.id
  }
}

function toPublished(key: StoredKey): PublishedKey {
  const record: z.input<typeof KeyRecordSchema> = {
    v: 1,
    id: key.id,
    type: key.type,
    account: key.account,
    wallet: key.wallet,
    label: key.label,
    isRevoked: key.isRevoked,
    isFrozen: key.isFrozen,
    expiresAt: key.expiresAt?.getTime() ?? null,
    minDiscountPct: key.minDiscountPct,
    providersBlocked: key.providersBlocked,
    allowsUntrusted: key.allowsUntrusted,
    capDailyMicro: key.capDailyMicro?.toString() ?? null,
    capMonthlyMicro: key.capMonthlyMicro?.toString() ?? null,
    ratePerMinute: key.ratePerMinute,
    modelsAllowed: key.modelsAllowed,
    ...(key.budgets !== null && { budgets: JSON.parse(key.budgets) }),
  }
  return { hash: key.hash, record: JSON.stringify(record) }
}
