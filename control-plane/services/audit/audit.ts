import { z } from 'zod'
import type { AuditFilter, AuditOwner, AuditRow } from '#control-plane/db/audit.ts'
import { listAuditEntries } from '#control-plane/db/audit.ts'
import type { OrgActor, SessionActor } from '#control-plane/operation/actor.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { Instant, PageSize } from '#control-plane/services/input-fields.ts'
import { requireRight } from '#control-plane/services/organizations/organization-access.ts'
import { RecordId } from '#control-plane/services/organizations/organizations.ts'
import { PageToken, pagesById, signedPageSchema } from '#control-plane/services/page.ts'
import { UnixMs } from '#control-plane/services/view-fields.ts'
import { oneLine } from '#shared/texts.ts'

/**
 * An audited change: the actor, the operation, the subject, and the subject before and after. `at` is Unix
 * milliseconds.
 */
export const AuditEntrySchema = z
  .object({
    id: z.string(),
    at: UnixMs,
    operation: z.string(),
    /** The actor's credential: a key of one side, a session, a management key, or none at a sign-in. */
    actorKind: z.string(),
    /** The user, or the id of the management key. */
    actor: z.string(),
    wallet: z.string().nullable(),
    keyId: z.string().nullable(),
    subject: z.string().nullable(),
    before: z.unknown(),
    after: z.unknown(),
  })
  .meta({ id: 'AuditEntry', description: 'A change of an account, with who made it and when.' })
export type AuditLine = z.infer<typeof AuditEntrySchema>

export function entryOf({ at, ...row }: AuditRow): AuditLine {
  return { ...row, at: at.getTime() }
}

/** The filters of a log. */
export const AuditFilterFields = {
  operation: oneLine(100).nullish(),
  subject: RecordId.nullish(),
  actor: RecordId.nullish(),
  since: Instant.nullish(),
  until: Instant.nullish(),
}
const Filter = z.object(AuditFilterFields)

export function filterOf(owner: AuditOwner, input: z.output<typeof Filter>): AuditFilter {
  return {
    owner,
    operation: input.operation ?? undefined,
    subject: input.subject ?? undefined,
    actor: input.actor ?? undefined,
    since: input.since ?? undefined,
    until: input.until ?? undefined,
  }
}

/** The log of the caller's organisation. Throws `not_found`, and `forbidden` for a caller who may not read it. */
export async function organizationLog(
  ctx: Pick<Ctx, 'db'>,
  actor: SessionActor | OrgActor,
  organization: string,
): Promise<AuditOwner> {
  return { organization: (await requireRight(ctx.db, actor, organization, 'audit.read')).organization }
}

/** A page of a log, newest first. */
const AuditPageSchema = signedPageSchema(AuditEntrySchema)
type AuditPage = z.infer<typeof AuditPageSchema>

const PageFields = { maxItems: PageSize, nextToken: PageToken.nullish() }

async function readPage(
  ctx: Pick<Ctx, 'db' | 'settings'>,
  filter: AuditFilter,
  { maxItems, nextToken }: { maxItems: number; nextToken?: string | null | undefined },
): Promise<AuditPage> {
  // The filter names the owner.
  const pages = pagesById(ctx, { list: 'audit.list', tenant: '', filters: [filter] })
  const page = { beyond: pages.idIn(nextToken), order: 'newest', limit: maxItems + 1 } as const
  const rows = await listAuditEntries(ctx.db, filter, page)
  return pages.pageOf(rows, maxItems, entryOf)
}

/** Lists changes in an organisation and its workspaces, newest first. */
export const listOrganizationAudit = defineOperation({
  name: 'audit.list',
  summary: 'List the changes of an organization',
  about: 'Who changed what, newest first.',
  example: { maxItems: 10 },
  access: 'org',
  input: z.strictObject({ organization: RecordId, ...AuditFilterFields, ...PageFields }),
  limit: 'read',
  idempotency: 'none',
  output: AuditPageSchema,
  run: async (ctx, actor, { organization, ...input }): Promise<AuditPage> =>
    readPage(ctx, filterOf(await organizationLog(ctx, actor, organization), input), input),
})

/** Lists the caller's changes outside of organisations, newest first. */
export const listOwnAudit = defineOperation({
  name: 'audit.list-own',
  summary: "List the caller's own changes",
  about: 'Changes by the caller’s accounts, newest first.',
  example: { maxItems: 10 },
  access: 'session',
  input: z.strictObject({ ...AuditFilterFields, ...PageFields }),
  limit: 'read',
  idempotency: 'none',
  output: AuditPageSchema,
  run: (ctx, { user }, input): Promise<AuditPage> => readPage(ctx, filterOf({ user }, input), input),
})
