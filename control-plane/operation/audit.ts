import { insertAuditEntries } from '#control-plane/db/audit.ts'
import type { OrganizationId, UserId } from '#shared/ids.ts'
import type { Actor } from './actor.ts'
import { tenantOf } from './actor.ts'
import type { Ctx } from './ctx.ts'

/** One change for the audit: its subject, and the state before and after. Plain JSON without secrets. */
export type Change = {
  readonly subject: string
  readonly before: object | null
  readonly after: object | null
  /** The user behind the change, where only the operation can find that out. */
  readonly by?: UserId
  /** The organisation whose log holds the change, when it is not that of the actor's workspace. */
  readonly organization?: OrganizationId
}

type AuditCtx = Pick<Ctx, 'db' | 'clock' | 'ids' | 'log'>

/** Writes one audit row for each change, or a single row when the operation changed nothing. Never throws. */
export async function audit(ctx: AuditCtx, actor: Actor, operation: string, changes: readonly Change[]): Promise<void> {
  const at = ctx.clock.now()
  const nothing = { subject: null, before: null, after: null, by: undefined, organization: undefined }
  const home = 'workspace' in actor ? actor.workspace?.organization : undefined
  const entries = changes.length === 0 ? [nothing] : changes
  const rows = entries.map(({ by, organization = home, ...change }) => ({
    id: ctx.ids.make('aud'),
    at,
    actorKind: actor.kind,
    actor: by ?? tenantOf(actor),
    keyId: 'keyId' in actor ? actor.keyId : null,
    operation,
    organization: organization ?? null,
    ...change,
  }))
  // The change is committed, so its caller gets a success. The error log then holds the rows that the table lacks.
  await insertAuditEntries(ctx.db, rows).catch((error: unknown) =>
    ctx.log.error({ err: error, rows }, 'audit rows were not stored'),
  )
}
