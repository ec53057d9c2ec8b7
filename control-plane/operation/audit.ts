import { insertAuditEntries } from '#control-plane/db/audit.ts'
import type { Trx } from '#control-plane/db/database.ts'
import { transact } from '#control-plane/db/database.ts'
import type { AuditNote } from '#control-plane/db/tables/operations.ts'
import { toAppError } from '#shared/errors.ts'
import type { KeyId, OrganizationId, UserId } from '#shared/ids.ts'
import type { Actor } from './actor.ts'
import { tenantOf } from './actor.ts'
import type { Ctx } from './ctx.ts'

/** A change for the audit: its subject, and the state before and after. Plain JSON without secrets. */
export type Change = {
  readonly subject: string
  readonly before: object | null
  readonly after: object | null
  /** The user or key behind the change, when only the operation can find it; a key when it belongs to no user. */
  readonly by?: UserId | KeyId
  /** The key behind the change, when it was in the input and not in the call's header. */
  readonly keyId?: KeyId
  /** The organisation whose log holds the change, if other than that of the actor's workspace. */
  readonly organization?: OrganizationId
}

/** Ways to change something together with its audit row. */
export type AuditedChanges = {
  /** Writes the audit row of a change in the transaction that makes the change. */
  record(trx: Trx, change: Change): Promise<void>
  /**
   * Runs a change in one transaction and writes the row that `changeOf` makes of its result: both happen or neither
   * does. `changeOf` returns undefined for a run that changed nothing, which gets no row.
   */
  change<Result>(
    run: (trx: Trx) => Promise<Result>,
    changeOf: (result: Result, trx: Trx) => Change | undefined | Promise<Change>,
  ): Promise<Result>
  /** Returns the row of a change that another transaction makes later. `recordNote` writes it there. */
  note(change: Change): AuditNote
  /**
   * Runs a change outside of the tables, which no transaction covers. Its row is committed first, so a process that
   * dies at any point leaves no change without its row. When the run fails, a second row says that the first is
   * unconfirmed.
   */
  act<Result>(change: Change, run: () => Promise<Result>): Promise<Result>
}

type AuditCtx = Pick<Ctx, 'db' | 'clock' | 'ids' | 'log'>

/** The changes of one run of an operation, and its row when it changed nothing. */
export type Audit = AuditedChanges & {
  /** Writes one row when no other was written. It never throws, because nothing depends on it. */
  close(): Promise<void>
}

/** Writes a row in the transaction that makes its change. */
export async function recordNote(ctx: Pick<Ctx, 'clock' | 'ids'>, trx: Trx, note: AuditNote): Promise<void> {
  await insertAuditEntries(trx, [stamp(ctx, note)])
}

function stamp({ clock, ids }: Pick<Ctx, 'clock' | 'ids'>, note: AuditNote) {
  return { id: ids.make('aud'), at: clock.now(), ...note }
}

/** Opens the audit of one run. */
export function openAudit(ctx: AuditCtx, actor: Actor, operation: string): Audit {
  const home = 'workspace' in actor ? actor.workspace?.organization : undefined
  const noteOf = ({ by, organization = home, ...change }: Omit<Change, 'subject'> & { subject: string | null }) => ({
    actorKind: actor.kind,
    actor: by ?? tenantOf(actor),
    keyId: 'keyId' in actor ? actor.keyId : null,
    operation,
    organization: organization ?? null,
    ...change,
  })
  let isWritten = false
  const record = async (trx: Trx, change: Change) => {
    await recordNote(ctx, trx, noteOf(change))
    isWritten = true
  }
  /** Writes a row on which nothing depends. */
  const tryRecord = async (note: AuditNote) => {
    const row = stamp(ctx, note)
    await insertAuditEntries(ctx.db, [row]).catch((error: unknown) =>
      ctx.log.error({ err: error, row }, 'an audit row was not stored'),
    )
  }
  return {
    record,
    note: noteOf,
    change: (run, changeOf) =>
      transact(ctx.db, async (trx) => {
        const result = await run(trx)
        const change = await changeOf(result, trx)
        if (change !== undefined) await record(trx, change)
        return result
      }),
    act: async (change, run) => {
      await transact(ctx.db, (trx) => record(trx, change))
      try {
        return await run()
      } catch (error) {
        await tryRecord(noteOf({ ...change, before: null, after: { unconfirmed: toAppError(error).code } }))
        throw error
      }
    },
    close: async () => {
      if (!isWritten) await tryRecord(noteOf({ subject: null, before: null, after: null }))
    },
  }
}
