import { z } from 'zod'
import { listAuditEntries } from '#control-plane/db/audit.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { Instant, PageSize } from '#control-plane/services/input-fields.ts'
import { PageToken, pagesById } from '#control-plane/services/page.ts'
import { oneLine } from '#shared/texts.ts'
import type { AuditPage } from './audit.ts'
import { AuditPageSchema, entryOf } from './audit.ts'

const Text = oneLine(200).min(1).optional()

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
  output: AuditPageSchema,
  run: async (ctx, _actor, { limit, nextToken, ...wanted }): Promise<AuditPage> => {
    const filter = { owner: { everybody: true }, ...wanted } as const
    const pages = pagesById(ctx, { list: 'audit.search', tenant: 'operator', filters: [wanted] })
    const page = { beyond: pages.idIn(nextToken), order: 'newest', limit: limit + 1 } as const
    return pages.pageOf(await listAuditEntries(ctx.db, filter, page), limit, entryOf)
  },
})
