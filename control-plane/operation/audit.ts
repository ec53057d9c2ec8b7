import { insertAuditEntries } from '#control-plane/db/audit.ts'
import type { Trx } from '#control-plane/db/database.ts'
import { transact } from '#control-plane/db/database.ts'
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

/** Ways to change something, each together with its audit row: both happen or neither does. */
export type AuditedChanges = {
  /** Writes the audit row of a change in the transaction that makes the change. */
  record(trx: Trx, change: Change): Promise<void>
  /**
   * Runs a change in one transaction and writes the row that `told` makes of its result. Undefined stands for a run
   * that changed nothing.
   */
  change<Result>(
    run: (trx: Trx) => Promise<Result>,
    told: (result: Result, trx: Trx) => Change | undefined | Promise<Change>,
  ): Promise<Result>
  /**
   * Does the same for a change outside of the tables that takes a few seconds at most. Its row is written first and
   * committed last, so a refused row stops the change and a failed change takes its row back. So does a result of which
   * `hasChanged` returns false.
   */
  act<Result>(change: Change, run: () => Promise<Result>, hasChanged?: (result: Result) => boolean): Promise<Result>
}

type AuditCtx = Pick<Ctx, 'db' | 'acts' | 'clock' | 'ids' | 'log'>

/** The changes of one run of an operation, and its row when it changed nothing. */
export type Audit = AuditedChanges & {
  /** Writes one row when no other was written. It never throws, because nothing depends on it. */
  close(): Promise<void>
}

/** Opens the audit of one run. */
export function openAudit(ctx: AuditCtx, actor: Actor, operation: string): Audit {
  const home = 'workspace' in actor ? actor.workspace?.organization : undefined
  const rowOf = ({ by, organization = home, ...change }: Omit<Change, 'subject'> & { subject: string | null }) => ({
    id: ctx.ids.make('aud'),
    at: ctx.clock.now(),
    actorKind: actor.kind,
    actor: by ?? tenantOf(actor),
    keyId: 'keyId' in actor ? actor.keyId : null,
    operation,
    organization: organization ?? null,
    ...change,
  })
  let isWritten = false
  const record = async (trx: Trx, change: Change) => {
    await insertAuditEntries(trx, [rowOf(change)])
    isWritten = true
  }
  return {
    record,
    change: (run, told) =>
      transact(ctx.db, async (trx) => {
        const result = await run(trx)
        const change = await told(result, trx)
        if (change !== undefined) await record(trx, change)
        return result
      }),
    act: async <Result>(change: Change, run: () => Promise<Result>, hasChanged = (_result: Result) => true) => {
      const acted: { readonly result: Result }[] = []
      const takeBack = new Error('nothing was changed')
      const write = () =>
        transact(ctx.db, async (trx) => {
          await insertAuditEntries(trx, [rowOf(change)])
          const result = await run()
          acted.push({ result })
          if (!hasChanged(result)) throw takeBack
        })
      // Each holds a connection and its change takes another. Without a line they could take all and wait for ever.
      await ctx.acts.run(write).then(
        () => {
          isWritten = true
        },
        (error: unknown) => {
          if (error !== takeBack) throw error
        },
      )
      const [done] = acted
      if (done === undefined) throw takeBack
      return done.result
    },
    close: async () => {
      if (isWritten) return
      const row = rowOf({ subject: null, before: null, after: null })
      await insertAuditEntries(ctx.db, [row]).catch((error: unknown) =>
        ctx.log.error({ err: error, row }, 'an audit row was not stored'),
      )
    },
  }
}
