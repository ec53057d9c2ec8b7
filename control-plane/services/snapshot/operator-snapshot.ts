import { z } from 'zod'
import { transact } from '#control-plane/db/database.ts'
import { listPublishedTimes, markUnpublished } from '#control-plane/db/snapshot.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { UnixMs } from '#control-plane/services/view-fields.ts'
import { accountOfDocument } from '#shared/contract/snapshot.ts'
import { AppError } from '#shared/errors.ts'
import { byText } from '#shared/text-order.ts'
import { oneLine } from '#shared/texts.ts'

/** A document of the snapshot, in Postgres and in the store. Times are Unix milliseconds. */
export const DocumentViewSchema = z.object({
  name: z.string(),
  version: z.number(),
  /** Null when the document is missing in the store. */
  versionInStore: z.number().nullable(),
  bytes: z.number().nullable(),
  publishedAt: UnixMs,
  isCurrent: z.boolean(),
})

export const SnapshotViewSchema = z.object({
  documents: z.array(DocumentViewSchema).readonly(),
  /** The number of documents of accounts. The list above names only those that are behind. */
  accounts: z.number(),
  bytes: z.number(),
  isWhole: z.boolean(),
})
export type SnapshotView = z.infer<typeof SnapshotViewSchema>

/** Lists every document with version, size and age. Documents of accounts are only counted. */
export const readSnapshot = defineOperation({
  name: 'snapshot.read',
  summary: 'List the documents of the snapshot',
  access: 'operator',
  input: z.strictObject({}),
  limit: 'read',
  idempotency: 'none',
  output: SnapshotViewSchema,
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

/** Publishes documents again: the named ones in any case, or all that differ from the tables. */
export const republishSnapshot = defineOperation({
  name: 'snapshot.republish',
  summary: 'Publish documents of the snapshot again',
  about: 'Publishes the documents that you name, or all that differ from the tables.',
  access: 'operator',
  input: z.strictObject({ names: z.array(oneLine(200)).min(1).max(MAX_NAMED).optional() }),
  limit: 'none',
  idempotency: 'none',
  output: z.object({
    published: z.array(z.string()).readonly(),
  }),
  run: async (ctx, _actor, { names }): Promise<{ readonly published: readonly string[] }> => {
    if (names !== undefined) await requireKnown(ctx, names)
    const change = { subject: 'snapshot', before: null, after: { named: names ?? null } }
    const publish = () => (names === undefined ? ctx.publication.reconcile() : publishAgain(ctx, names))
    return { published: await ctx.act(change, publish) }
  },
})

async function requireKnown(ctx: Pick<Ctx, 'db'>, names: readonly string[]): Promise<void> {
  const publishedNames = new Set((await listPublishedTimes(ctx.db)).map(({ name }) => name))
  const unknown = names.find((name) => !publishedNames.has(name))
  if (unknown !== undefined) throw new AppError('not_found', { message: `No document is called ${unknown}.` })
}

async function publishAgain(
  ctx: Pick<Ctx, 'db' | 'clock' | 'publication'>,
  names: readonly string[],
): Promise<string[]> {
  await transact(ctx.db, async (trx) => {
    for (const name of [...names].sort(byText)) await markUnpublished(trx, name, ctx.clock.now())
  })
  return ctx.publication.publishChanged(names)
}
