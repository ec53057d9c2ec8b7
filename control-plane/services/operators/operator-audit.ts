import { z } from 'zod'
import { listAuditEntries } from '#control-plane/db/audit.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import type { AuditPage } from '#control-plane/services/audit.ts'
import { AuditPageSchema, entryOf } from '#control-plane/services/audit.ts'
import { Instant, idToken, PageSize } from '#control-plane/services/fields.ts'
import { pageOf } from '#control-plane/services/page.ts'
import { oneLine } from '#shared/texts.ts'

const Text = oneLine(200).min(1).optional()

/** Searches the audit of all actors, newest first. Only operators may read it whole. */
export const searchAudit = defineOperation({
  name: 'audit.search',
  access: 'operator',
  input: z.strictObject({
    operation: Text,
    subject: Text,
    actor: Text,
    since: Instant.optional(),
    until: Instant.optional(),
    limit: PageSize,
    /** The `nextToken` of the preceding page. */
    nextToken: idToken('aud').optional(),
  }),
  limit: 'read',
  idempotency: 'none',
  output: AuditPageSchema,
  run: async (ctx, _actor, { limit, nextToken, ...wanted }): Promise<AuditPage> => {
    const filter = { owner: { everybody: true }, ...wanted } as const
    const rows = await listAuditEntries(ctx.db, filter, { beyond: nextToken, order: 'newest', limit: limit + 1 })
    return pageOf(rows, limit, entryOf)
  },
})
