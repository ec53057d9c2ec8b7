import { insertAuditEntries } from '#control-plane/db/audit.ts'
import type { OrganizationId, UserId } from '#shared/ids.ts'
import type { Actor } from './actor.ts'
import { tenantOf } from './actor.ts'
import type { Ctx } from './ctx.ts'

/** One change for the audit: what was touched, and how it looked before and after. Plain JSON without secrets. */
export type Change = {
  readonly subject: string
  readonly before: object | null
  readonly after: object | null
  /** Who did it, where the operation itself finds that out. */
  readonly by?: UserId
  /** The organisation whose log it stands in, where that is not that of the actor's workspace. */
  readonly organization?: OrganizationId
}

type AuditCtx = Pick<Ctx, 'db' | 'clock' | 'ids' | 'log'>

/** Writes what an operation changed, or that it ran when it changed nothing. Never throws. */
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
  // What was done stands, so its caller is told so; the log then holds what the table does not.
  await insertAuditEntries(ctx.db, rows).catch((error: unknown) =>
    ctx.log.error({ err: error, rows }, 'audit rows were not stored'),
  )
}
