import { z } from 'zod'
import { listStatementLines } from '#control-plane/db/statements.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { PageSize, UlidToken } from '#control-plane/services/fields.ts'
import type { Page } from '#control-plane/services/page.ts'
import { pageOf } from '#control-plane/services/page.ts'
import { readWindow, WindowFields } from '#control-plane/services/usage-window.ts'

/** One ledger line: whole micro-USD, what came in above zero, what went out below it, and the balance after it. */
export type StatementLine = {
  readonly id: string
  readonly kind: string
  readonly createdAt: number
  readonly amountMicro: number
  readonly balanceMicro: number
  readonly note: string | null
  /** Of the call that was paid; null on other lines. */
  readonly model: string | null
  readonly provider: string | null
  readonly keyId: string | null
  readonly txHash: string | null
}
export type StatementPage = Page<StatementLine>

/** The caller's ledger lines with the running balance, newest first. Calls in flight are not on it yet. */
export const listStatements = defineOperation({
  name: 'statement.list',
  access: 'buyer',
  input: z.strictObject({ ...WindowFields, maxItems: PageSize, nextToken: UlidToken.optional() }),
  limit: 'read',
  idempotency: 'none',
  run: async (ctx, actor, { maxItems, nextToken, ...input }): Promise<StatementPage> => {
    const window = readWindow(input, ctx.clock.now(), 'lifetime')
    const query = { account: actor.account, ...window, before: nextToken, limit: maxItems + 1 }
    const found = await listStatementLines(ctx.db, query)
    return pageOf(found, maxItems, ({ at, amount, balance, ...line }) => ({
      ...line,
      createdAt: at.getTime(),
      amountMicro: Number(amount),
      balanceMicro: Number(balance),
      txHash: null,
    }))
  },
})
