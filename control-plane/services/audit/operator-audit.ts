import { z } from 'zod'
import { listAuditEntries } from '#control-plane/db/audit.ts'
import { findRecordNames } from '#control-plane/db/record-names.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { Instant, PageSize } from '#control-plane/services/input-fields.ts'
import { PageToken, pagesById, signedPageSchema } from '#control-plane/services/page.ts'
import { oneLine } from '#shared/texts.ts'
import { AuditEntrySchema, entryOf } from './audit.ts'

const Text = oneLine(200).min(1).optional()

/** An entry of the audit of all actors, with the names of its actor and its subject. */
export const SearchedEntrySchema = AuditEntrySchema.extend({
  actorName: z.string().nullable().describe('The wallet of the user, or the label of the key; null without a name.'),
  subjectName: z
    .string()
    .nullable()
    .describe('Such as the model and the provider of an offer, or the label of a key; null without a name.'),
}).meta({ id: 'SearchedAuditEntry', description: 'A change of any account, with the names of its records.' })

const SearchedPageSchema = signedPageSchema(SearchedEntrySchema)

/** Searches the audit of all actors, newest first. Only operators may read it whole. */
export const searchAudit = defineOperation({
  name: 'audit.search',
  summary: 'Search the audit of all actors, newest first',
  access: 'operator',
  input: z.strictObject({
    operation: Text,
    subject: Text,
    actor: Text,
    since: Instant.optional(),
    until: Instant.optional(),
    limit: PageSize,
    /** The `nextToken` of the preceding page. */
    nextToken: PageToken.optional(),
  }),
  limit: 'read',
  idempotency: 'none',
  output: SearchedPageSchema,
  run: async (ctx, _actor, { limit, nextToken, ...conditions }): Promise<z.infer<typeof SearchedPageSchema>> => {
    const filter = { owner: { everybody: true }, ...conditions } as const
    const pages = pagesById(ctx, { list: 'audit.search', tenant: 'operator', filters: [conditions] })
    const page = { beyond: pages.idIn(nextToken), order: 'newest', limit: limit + 1 } as const
    const rows = await listAuditEntries(ctx.db, filter, page)
    const names = await findRecordNames(
      ctx.db,
      rows.flatMap(({ actor, subject }) => [actor, subject]),
    )
    return pages.pageOf(rows, limit, (row) => ({
      ...entryOf(row),
      actorName: names.get(row.actor) ?? null,
      subjectName: (row.subject === null ? undefined : names.get(row.subject)) ?? null,
    }))
  },
})
