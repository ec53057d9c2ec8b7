import { z } from 'zod'
import { transact } from '#control-plane/db/database.ts'
import { listPublishedTimes, markUnpublished } from '#control-plane/db/snapshot.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { accountOfDocument } from '#shared/contract/snapshot.ts'
import { AppError } from '#shared/errors.ts'
import { byText } from '#shared/text-order.ts'

/** A document of the snapshot: what Postgres remembers of it and what stands in the store. Times are Unix milliseconds. */
export type DocumentView = {
  readonly name: string
  readonly version: number
  /** Null when the store does not have it. */
  readonly versionInStore: number | null
  readonly bytes: number | null
  readonly publishedAt: number
  readonly isCurrent: boolean
}

export type SnapshotView = {
  readonly documents: readonly DocumentView[]
  /** Accounts' own documents, of which only those behind are listed above. */
  readonly accounts: number
  readonly bytes: number
  readonly isWhole: boolean
}

/** Every document with version, size and age; of accounts only how many. */
export const readSnapshot = defineOperation({
  name: 'snapshot.read',
  access: 'operator',
  input: z.object({}),
  limit: 'read',
  idempotency: 'none',
  run: async (ctx): Promise<SnapshotView> => viewSnapshot(ctx),
})

async function viewSnapshot(ctx: Pick<Ctx, 'db' | 'publisher' | 'desk'>): Promise<SnapshotView> {
  const [remembered, inStore] = await Promise.all([listPublishedTimes(ctx.db), ctx.publisher.versions()])
  const all = remembered.map((state) => {
    const versionInStore = inStore.get(state.name) ?? null
    const version = Number(state.version)
    return { ...state, version, versionInStore, isCurrent: state.isPublished && versionInStore === version }
  })
  const accounts = all.filter(({ name }) => accountOfDocument(name) !== undefined)
  const listed = all.filter(({ name, isCurrent }) => accountOfDocument(name) === undefined || !isCurrent)
  const sizes = await ctx.desk.documentSizes(listed.map(({ name }) => name))
  const documents = listed.map(({ name, version, versionInStore, publishedAt, isCurrent }) => ({
    name,
    version,
    versionInStore,
    bytes: sizes.get(name) ?? null,
    publishedAt: publishedAt.getTime(),
    isCurrent,
  }))
  const bytes = documents.reduce((sum, document) => sum + (document.bytes ?? 0), 0)
  return { documents, accounts: accounts.length, bytes, isWhole: all.every(({ isCurrent }) => isCurrent) }
}

const MAX_NAMED = 1_000

/** Publishes again: the named documents whatever they look like, or all that differ from the tables. */
export const republishSnapshot = defineOperation({
  name: 'snapshot.republish',
  access: 'operator',
  input: z.strictObject({ names: z.array(z.string().max(200)).min(1).max(MAX_NAMED).optional() }),
  limit: 'none',
  idempotency: 'none',
  run: async (ctx, _actor, { names }): Promise<{ readonly published: readonly string[] }> => {
    const published = names === undefined ? await ctx.publication.reconcile() : await publishAgain(ctx, names)
    ctx.note({ subject: 'snapshot', before: null, after: { published: published.length, named: names ?? null } })
    return { published }
  },
})

async function publishAgain(
  ctx: Pick<Ctx, 'db' | 'clock' | 'publication'>,
  names: readonly string[],
): Promise<string[]> {
  const known = new Set((await listPublishedTimes(ctx.db)).map(({ name }) => name))
  const unknown = names.find((name) => !known.has(name))
  if (unknown !== undefined) throw new AppError('not_found', { message: `No document is called ${unknown}.` })
  await transact(ctx.db, async (trx) => {
    for (const name of [...names].sort(byText)) await markUnpublished(trx, name, ctx.clock.now())
  })
  return ctx.publication.publishChanged(names)
}
