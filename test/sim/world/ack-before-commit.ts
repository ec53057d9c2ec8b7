import type { PostedChange } from '#control-plane/ports/gate/gate.ts'
import type { IngestCtx } from '#control-plane/services/booking/ingest.ts'
import { parseRequestId } from '#shared/ids.ts'
import { microUsd } from '#shared/money.ts'

/** Tells the gate about a booking before the database has confirmed it. */
export function ackBeforeCommit(ctx: IngestCtx): IngestCtx {
  const { ledger, gate } = ctx
  return {
    ...ctx,
    ledger: {
      ...ledger,
      transact: (run) =>
        ledger.transact(async (trx) => {
          let settled: readonly { readonly rid: string; readonly account: unknown }[] = []
          const result = await run({
            ...trx,
            async insertSettlements(rows) {
              const fresh = await trx.insertSettlements(rows)
              settled = rows.flatMap((row) => (fresh.has(row.rid) ? [{ rid: row.rid, account: row.account }] : []))
              return fresh
            },
            async moveBalances(movements) {
              const balances = await trx.moveBalances(movements)
              const changes: PostedChange[] = []
              for (const { rid, account } of settled) {
                const row = balances.find((balance) => balance.account === account)
                const id = parseRequestId(rid)
                if (row === undefined || id === undefined) continue
                changes.push({
                  account: row.account,
                  balanceMicro: microUsd(row.balance),
                  version: row.version,
                  rid: id,
                })
              }
              await gate.ack(changes)
              return balances
            },
          })
          return result
        }),
    },
  }
}
