import { z } from 'zod'
import { listStatementLines } from '#control-plane/db/statements.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { PageSize } from '#control-plane/services/input-fields.ts'
import { PageToken, pagesById, signedPageSchema } from '#control-plane/services/page.ts'
import { UnixMs, WholeMicro } from '#control-plane/services/view-fields.ts'
import { ulidTime } from '#shared/ids.ts'
import { readWindow, WindowFields } from './usage-window.ts'

/** A ledger line in whole micro-USD: positive for money in, negative for money out, with the balance after it. */
export const StatementLineSchema = z
  .object({
    id: z.string(),
    kind: z.string(),
    createdAt: UnixMs.describe('Unix milliseconds: when the call was admitted, and when any other line was made.'),
    amountMicro: WholeMicro,
    balanceMicro: WholeMicro.describe('The balance after this line, in micro-USD.'),
    note: z.string().nullable(),
    /** Set on the line of a call; null on other lines. */
    model: z.string().nullable(),
    provider: z.string().nullable(),
    keyId: z.string().nullable(),
    txHash: z.string().nullable(),
  })
  .meta({ id: 'StatementLine', description: 'A line of an account’s statement, with the balance behind it.' })
export const StatementPageSchema = signedPageSchema(StatementLineSchema)
export type StatementPage = z.infer<typeof StatementPageSchema>

/** Lists the caller's ledger lines with the running balance, newest first. Calls in flight are not included yet. */
export const listStatements = defineOperation({
  name: 'statement.list',
  summary: 'List ledger lines with the running balance',
  about: 'Every change of the balance, with the balance after each.',
  example: { maxItems: 10 },
  access: 'buyer',
  input: z.strictObject({ ...WindowFields, maxItems: PageSize, nextToken: PageToken.optional() }),
  limit: 'read',
  idempotency: 'none',
  output: StatementPageSchema,
  run: async (ctx, actor, { maxItems, nextToken, ...input }): Promise<StatementPage> => {
    const window = readWindow(input, ctx.clock.now(), 'lifetime')
    const pages = pagesById(ctx, { list: 'statement.list', tenant: actor.account, filters: [input] })
    const query = { account: actor.account, ...window, before: pages.idIn(nextToken), limit: maxItems + 1 }
    const statementLines = await listStatementLines(ctx.db, query)
    return pages.pageOf(statementLines, maxItems, ({ amount, balance, transaction, ...line }) => ({
      ...line,
      // Lines are selected and sorted by this instant, too, whenever they were booked.
      createdAt: ulidTime(line.id),
      amountMicro: Number(amount),
      balanceMicro: Number(balance),
      // The note of a transfer holds its transaction.
      txHash: line.kind === 'payment' ? line.note : transaction,
    }))
  },
})
