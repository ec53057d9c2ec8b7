import { z } from 'zod'
import type { AuditFilter } from '#control-plane/db/audit.ts'
import { listAuditEntries } from '#control-plane/db/audit.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import type { ExportFile } from '#control-plane/ports/exports/exporter.ts'
import { csvLine } from '#control-plane/services/exports/csv.ts'
import type { ExportLink } from '#control-plane/services/exports/export-link.ts'
import { ExportLinkSchema, makeExportLink } from '#control-plane/services/exports/export-link.ts'
import { RecordId } from '#control-plane/services/organizations/organizations.ts'
import { AppError } from '#shared/errors.ts'
import type { AuditLine } from './audit.ts'
import { AuditFilterFields, entryOf, filterOf, organizationLog } from './audit.ts'

/** The kind of export in the link to a file of the audit. */
export const AUDIT_EXPORT = 'audit'

/** Entries in one read. A download holds the text of one read in memory. */
const BATCH = 1_000
/** Limits a download to a thousand million entries. */
const MAX_BATCHES = 1_000_000

const FormatField = z.enum(['csv', 'ndjson']).default('csv')

function linkTo(ctx: Pick<Ctx, 'settings' | 'clock'>, filter: AuditFilter, format: 'csv' | 'ndjson'): ExportLink {
  return makeExportLink(ctx, { kind: AUDIT_EXPORT, query: { ...filter, format } })
}

/** Makes a link to an organisation's log, oldest entry first. */
export const exportOrganizationAudit = defineOperation({
  name: 'audit.export',
  summary: 'Download the changes of an organization',
  about: 'A signed link to a file of the entries. The link works without a key for five minutes.',
  example: { format: 'csv' },
  access: 'org',
  input: z.strictObject({ organization: RecordId, format: FormatField, ...AuditFilterFields }),
  limit: 'read',
  idempotency: 'none',
  output: ExportLinkSchema,
  run: async (ctx, actor, { organization, format, ...input }): Promise<ExportLink> =>
    linkTo(ctx, filterOf(await organizationLog(ctx, actor, organization), input), format),
})

/** Makes a link to the caller's own log, oldest entry first. */
export const exportOwnAudit = defineOperation({
  name: 'audit.export-own',
  summary: "Download the caller's own changes",
  about: 'A signed link to a file of the entries. The link works without a key for five minutes.',
  example: { format: 'ndjson' },
  access: 'session',
  input: z.strictObject({ format: FormatField, ...AuditFilterFields }),
  limit: 'read',
  idempotency: 'none',
  output: ExportLinkSchema,
  run: async (ctx, { user }, { format, ...input }): Promise<ExportLink> =>
    linkTo(ctx, filterOf({ user }, input), format),
})

const Query = z.object({
  owner: z.union([z.strictObject({ organization: z.string() }), z.strictObject({ user: z.string() })]),
  operation: z.string().optional(),
  subject: z.string().optional(),
  actor: z.string().optional(),
  since: z.number().optional(),
  until: z.number().optional(),
  format: z.enum(['csv', 'ndjson']),
})

/** Writes the file of an audit export link. */
export function writeAudit(ctx: Pick<Ctx, 'db'>, query: unknown): ExportFile {
  const parsed = Query.safeParse(query).data
  if (parsed === undefined) throw new AppError('not_found')
  const { format, ...filter } = parsed
  return format === 'csv'
    ? { fileName: 'audit.csv', contentType: 'text/csv; charset=utf-8', chunks: csvOf(entriesOf(ctx, filter)) }
    : { fileName: 'audit.ndjson', contentType: 'application/x-ndjson', chunks: ndjsonOf(entriesOf(ctx, filter)) }
}

async function* entriesOf(ctx: Pick<Ctx, 'db'>, filter: AuditFilter): AsyncGenerator<AuditLine[]> {
  let beyond: string | undefined
  for (let batch = 0; batch < MAX_BATCHES; batch++) {
    const rows = await listAuditEntries(ctx.db, filter, { beyond, order: 'oldest', limit: BATCH })
    if (rows.length > 0) yield rows.map(entryOf)
    if (rows.length < BATCH) return
    beyond = rows.at(-1)?.id
  }
}

const COLUMNS = 'id,at,operation,actor_kind,actor,wallet,key_id,subject,before,after'.split(',')

async function* csvOf(batches: AsyncIterable<AuditLine[]>): AsyncGenerator<string> {
  yield csvLine(COLUMNS)
  for await (const batch of batches) {
    const lines = batch.map((entry) =>
      csvLine([
        entry.id,
        new Date(entry.at).toISOString(),
        entry.operation,
        entry.actorKind,
        entry.actor,
        entry.wallet,
        entry.keyId,
        entry.subject,
        entry.before === null ? null : JSON.stringify(entry.before),
        entry.after === null ? null : JSON.stringify(entry.after),
      ]),
    )
    yield lines.join('')
  }
}

async function* ndjsonOf(batches: AsyncIterable<AuditLine[]>): AsyncGenerator<string> {
  for await (const batch of batches) {
    const lines = batch.map(({ at, actorKind, keyId, ...entry }) =>
      JSON.stringify({ ...entry, at: new Date(at).toISOString(), actor_kind: actorKind, key_id: keyId }),
    )
    yield `${lines.join('\n')}\n`
  }
}
