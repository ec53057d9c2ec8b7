import { createHash } from 'node:crypto'
import { SECOND } from '#shared/clock.ts'
import type { DocumentEnvelope } from '#shared/contract/snapshot.ts'
import {
  accountOfDocument,
  modelOfDocument,
  offersDocumentName,
  SNAPSHOT_SCHEMA_VERSION,
} from '#shared/contract/snapshot.ts'
import type { Database, Trx } from '../db/database.ts'
import { transact } from '../db/database.ts'
import { listOfferedModels, listOfferSources } from '../db/offers.ts'
import {
  findPublished,
  listPublished,
  lockDocument,
  lockSnapshot,
  nextVersion,
  UNPUBLISHED,
  upsertPublished,
} from '../db/snapshot.ts'
import type { Ctx } from '../operation.ts'
import { buildDocument, FIXED_DOCUMENTS } from './snapshot-documents.ts'

/** What publishing uses of the context. */
export type PublishCtx = Pick<Ctx, 'db' | 'publisher' | 'settings' | 'clock' | 'log'>

/**
 * Publishes what a committed change touched, so that it is routed at once. A failure is only logged: the reconciler
 * finds the same difference again.
 */
export async function publishSoon(ctx: PublishCtx, names: readonly string[]): Promise<void> {
  try {
    await publishChanged(ctx, names)
  } catch (error) {
    ctx.log.warn({ err: error, documents: names }, 'a change is published later')
  }
}

/** Models whose changed offers wait for the next publication, which begins when the running one is over. */
type Lane = { readonly models: Set<string>; running: Promise<void>; next: Promise<void> | undefined; restMs: number }
const lanes = new WeakMap<PublishCtx['publisher'], Lane>()
/** While more models than this wait already, a change does not wait for its own publication. */
const MAX_WAITED_FOR = 8
/** When that many wait again at once, the lane rests for a multiple of its work: a storm must not stop the service. */
const REST_FACTOR = 3
const MAX_REST_MS = 5 * SECOND

/**
 * Publishes the offers of models. A publication writes all offers of a model, so changes that come during one go together
 * in the next. Resolves when theirs is out, or at once while many others wait. Never throws: see {@link publishSoon}.
 */
export async function publishOffers(ctx: PublishCtx, models: readonly string[]): Promise<void> {
  const lane = lanes.get(ctx.publisher) ?? { models: new Set(), running: Promise.resolve(), next: undefined, restMs: 0 }
  lanes.set(ctx.publisher, lane)
  const isBusy = lane.models.size > MAX_WAITED_FOR
  for (const model of models) lane.models.add(model)
  if (lane.next === undefined) {
    lane.next = lane.running.then(() => publishWaiting(ctx, lane))
    lane.running = lane.next
  }
  if (!isBusy) await lane.next
}

async function publishWaiting(ctx: PublishCtx, lane: Lane): Promise<void> {
  if (lane.restMs > 0) await ctx.clock.sleep(lane.restMs)
  const taken = [...lane.models]
  lane.models.clear()
  lane.next = undefined
  const startedAt = ctx.clock.monotonic()
  await publishSoon(ctx, taken.map(offersDocumentName))
  const tookMs = ctx.clock.monotonic() - startedAt
  lane.restMs = lane.models.size > MAX_WAITED_FOR ? Math.min(tookMs * REST_FACTOR, MAX_REST_MS) : 0
}

/** Publishes those of the named documents whose body has changed; answers their names. Throws when the store is away. */
export async function publishChanged(ctx: PublishCtx, names: readonly string[]): Promise<string[]> {
  const inStore = await ctx.publisher.versions(names)
  // A store that was emptied must get everything in one step: a lone entry in the index would be the whole market.
  if (inStore.size === 0 && (await ctx.publisher.isEmpty())) return restoreSnapshot(ctx)
  const published: string[] = []
  for (const name of new Set(names)) {
    if (await publishOne(ctx, name, inStore.get(name))) published.push(name)
  }
  return published
}

/**
 * Brings the store to what Postgres says, document by document, and answers the names of those that differed. Throws
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
    // Offers are many, and asking whether anything was written costs little; changes of accounts leave word of themselves.
    if (model !== undefined) return state.source !== (sources.get(model) ?? NO_OFFERS)
    return accountOfDocument(name) === undefined
  }
  return publishChanged(ctx, (await allNames(ctx.db)).filter(isDue))
}

/** True when the store holds every document in the version that Postgres remembers: cheap enough to ask often. */
export async function isSnapshotWhole(ctx: Pick<Ctx, 'db' | 'publisher'>): Promise<boolean> {
  const [inStore, remembered] = await Promise.all([ctx.publisher.versions(), listPublished(ctx.db)])
  return remembered.length > 0 && remembered.every(({ name, version }) => inStore.get(name) === Number(version))
}

/** Every name there is to publish: fixed ones, models with offers, and whatever was published before. */
async function allNames(db: Database | Trx): Promise<string[]> {
  const models = await listOfferedModels(db)
  const remembered = await listPublished(db)
  return [...new Set([...FIXED_DOCUMENTS, ...models.map(offersDocumentName), ...remembered.map((state) => state.name)])]
}

/** One document under its lock: whoever comes second reads what the first has committed, and gets a higher version. */
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
    await ctx.publisher.publish([document.envelope])
    await remember(ctx, trx, document)
    return true
  })
}

/** Everything in one step, for a store that lost its memory. */
function restoreSnapshot(ctx: PublishCtx): Promise<string[]> {
  return transact(ctx.db, async (trx) => {
    await lockSnapshot(trx, 'exclusive')
    const names = await allNames(trx)
    const documents: Versioned[] = []
    for (const name of names) documents.push(await buildVersioned(ctx, trx, name))
    await ctx.publisher.publish(documents.map((document) => document.envelope))
    for (const document of documents) await remember(ctx, trx, document)
    return names
  })
}

type Versioned = { readonly envelope: DocumentEnvelope; readonly hash: string; readonly source: string | null }

/** The source of a document without offers. */
const NO_OFFERS = 'none'

async function buildVersioned(ctx: PublishCtx, trx: Trx, name: string): Promise<Versioned> {
  const model = modelOfDocument(name)
  // Asked for first: what is written in between makes a difference at the next look, never a document thought current.
  const source = model === undefined ? null : ((await listOfferSources(trx, model)).get(model) ?? NO_OFFERS)
  const body = await buildDocument(ctx, trx, name)
  const hash = createHash('sha256').update(JSON.stringify(body)).digest('hex')
  return { hash, source, envelope: { schema: SNAPSHOT_SCHEMA_VERSION, name, version: await nextVersion(trx), body } }
}

function remember(ctx: PublishCtx, trx: Trx, { envelope, hash, source }: Versioned): Promise<void> {
  const state = { name: envelope.name, version: BigInt(envelope.version), bodyHash: hash, source }
  return upsertPublished(trx, state, ctx.clock.now())
}
