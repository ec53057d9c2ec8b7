import { createHash } from 'node:crypto'
import type { Database, Trx } from '#control-plane/db/database.ts'
import { transact } from '#control-plane/db/database.ts'
import { listLentResources } from '#control-plane/db/lent-offers.ts'
import { listOfferedModels, listOfferSources } from '#control-plane/db/listed-offers.ts'
import {
  findPublished,
  listPublished,
  lockDocument,
  lockSnapshot,
  nextVersion,
  UNPUBLISHED,
  upsertPublished,
} from '#control-plane/db/snapshot.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import type { PublishedDocument } from '#control-plane/ports/publisher/publisher.ts'
import {
  accountOfDocument,
  lentDocumentName,
  modelOfDocument,
  offersDocumentName,
  writeDocument,
} from '#shared/contract/snapshot.ts'
import { buildDocument, FIXED_DOCUMENTS, NO_OFFERS } from './snapshot-documents.ts'

/** The parts of the context that a publication uses. */
export type PublishCtx = Pick<Ctx, 'db' | 'publisher' | 'settings' | 'clock' | 'log' | 'sellerAlias'>

/** Documents that are published at once. Postgres reads one while another is written. */
const AT_ONCE = 3

/** Publishes the named documents whose body has changed, and returns their names. Throws when the store is away. */
export async function publishChanged(ctx: PublishCtx, names: readonly string[]): Promise<string[]> {
  const inStore = await ctx.publisher.versions(names)
  // An emptied store gets everything in one step. A single index entry would otherwise pass for the whole market.
  if (inStore.size === 0 && (await ctx.publisher.isEmpty())) return restoreSnapshot(ctx)
  const waiting = [...new Set(names)]
  const published = new Set<string>()
  const publishNext = async () => {
    for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
      if (await publishOne(ctx, name, inStore.get(name))) published.add(name)
    }
  }
  const ends = await Promise.allSettled(Array.from({ length: AT_ONCE }, publishNext))
  for (const end of ends) if (end.status === 'rejected') throw end.reason
  return names.filter((name) => published.delete(name))
}

/**
 * Makes the store equal to Postgres, document by document. Returns the names of the documents that differed. Throws
 * when the store is away.
 */
export async function reconcileSnapshot(ctx: PublishCtx): Promise<string[]> {
  const inStore = await ctx.publisher.versions()
  const remembered = new Map((await listPublished(ctx.db)).map((state) => [state.name, state]))
  const sources = await listOfferSources(ctx.db)
  const isDue = (name: string): boolean => {
    const state = remembered.get(name)
    if (state === undefined || state.bodyHash === UNPUBLISHED || inStore.get(name) !== Number(state.version))
      return true
    const model = modelOfDocument(name)
    // Offers are many, so only their fingerprint is compared. Changes of accounts are recorded when they are made.
    if (model !== undefined) return state.source !== (sources.get(model) ?? NO_OFFERS)
    return accountOfDocument(name) === undefined
  }
  return publishChanged(ctx, (await allNames(ctx.db)).filter(isDue))
}

/**
 * True when the store holds every document in the version that Postgres records. The check is cheap enough to run
 * often.
 */
export async function isSnapshotWhole(ctx: Pick<Ctx, 'db' | 'publisher'>): Promise<boolean> {
  const [inStore, remembered] = await Promise.all([ctx.publisher.versions(), listPublished(ctx.db)])
  return remembered.length > 0 && remembered.every(({ name, version }) => inStore.get(name) === Number(version))
}

/**
 * Every name to publish: the fixed ones, models with offers, resources with keys, and all names that were published
 * before.
 */
async function allNames(db: Database | Trx): Promise<string[]> {
  const models = await listOfferedModels(db)
  const lentResources = await listLentResources(db)
  const remembered = await listPublished(db)
  const documentNames = [...models.map(offersDocumentName), ...lentResources.map(lentDocumentName)]
  return [...new Set([...FIXED_DOCUMENTS, ...documentNames, ...remembered.map((state) => state.name)])]
}

/**
 * Publishes one document under its lock. A second publisher reads the first one's commit, and gets a higher version.
 */
function publishOne(ctx: PublishCtx, name: string, versionInStore: number | undefined): Promise<boolean> {
  return transact(ctx.db, async (trx) => {
    await lockSnapshot(trx, 'shared')
    await lockDocument(trx, name)
    const before = await findPublished(trx, name)
    const document = await buildVersioned(ctx, trx, name)
    const isInStore = before !== undefined && versionInStore === Number(before.version)
    if (isInStore && before.bodyHash === document.hash) {
      const { source } = document
      if (source !== before.source) await upsertPublished(trx, { ...before, source }, ctx.clock.now())
      return false
    }
    await ctx.publisher.publish([document])
    await remember(ctx, trx, document)
    return true
  })
}

/** Publishes everything in one step, for a store that has lost its data. */
function restoreSnapshot(ctx: PublishCtx): Promise<string[]> {
  return transact(ctx.db, async (trx) => {
    await lockSnapshot(trx, 'exclusive')
    const names = await allNames(trx)
    const documents: Versioned[] = []
    for (const name of names) documents.push(await buildVersioned(ctx, trx, name))
    await ctx.publisher.publish(documents)
    for (const document of documents) await remember(ctx, trx, document)
    return names
  })
}

type Versioned = PublishedDocument & { readonly hash: string; readonly source: string | null }

async function buildVersioned(ctx: PublishCtx, trx: Trx, name: string): Promise<Versioned> {
  const { body, source } = await buildDocument(ctx, trx, name)
  const hash = createHash('sha256').update(body).digest('hex')
  const version = await nextVersion(trx)
  return { name, version, text: writeDocument(name, version, body), hash, source }
}

function remember(ctx: PublishCtx, trx: Trx, { name, version, hash, source }: Versioned): Promise<void> {
  return upsertPublished(trx, { name, version: BigInt(version), bodyHash: hash, source }, ctx.clock.now())
}
