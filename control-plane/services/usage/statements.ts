import { z } from 'zod'
import { readAtOnce } from '#control-plane/db/database.ts'
import { listStatementLines, sumStatementSpans } from '#control-plane/db/statements.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { PageSize } from '#control-plane/services/input-fields.ts'
import { PageToken, pagesById, signedPageSchema } from '#control-plane/services/page.ts'
import { UnixMs, WholeMicro } from '#control-plane/services/view-fields.ts'
import { DAY } from '#shared/clock.ts'
import { ulidTime } from '#shared/ids.ts'
import { readWindow, WindowFields } from './usage-window.ts'

/** A ledger line in whole micro-USD: positive for money in, negative for money out, with the balance after it. */
export const StatementLineSchema = z
  .object({
    id: z.string(),
    kind: z.string(),
    createdAt: UnixMs.describe('Unix milliseconds: the admission of a call, or the creation of any other line.'),
    amountMicro: WholeMicro,
    balanceMicro: WholeMicro.describe('The balance after this line, in micro-USD.'),
    daySumMicro: WholeMicro.describe('The sum of all lines of the same UTC day and the selected kind, in micro-USD.'),
    note: z.string().nullable(),
    /** Set on the line of a call; null on other lines. */
    model: z.string().nullable(),
    provider: z.string().nullable(),
    keyId: z.string().nullable(),
    txHash: z.string().nullable(),
  })
  .meta({ id: 'StatementLine', description: 'A line of an account’s statement, with the balance after it.' })
export const StatementPageSchema = signedPageSchema(StatementLineSchema)
export type StatementPage = z.infer<typeof StatementPageSchema>

const Kind = z
  .string()
  .regex(/^[a-z][a-z_]{1,31}$/, 'a kind must have lowercase letters and underscores only')
  .optional()
  .describe('Only lines of this kind, such as deposit. The balances stay those of all lines.')

/** Lists the caller's ledger lines with the running balance, newest first. Calls in flight are not included yet. */
export const listStatements = defineOperation({
  name: 'statement.list',
  summary: 'List ledger lines with the running balance',
  about: 'Every change of the balance, with the balance after it and the sum of its day.',
  example: { maxItems: 10 },
  access: 'buyer',
  input: z.strictObject({ ...WindowFields, kind: Kind, maxItems: PageSize, nextToken: PageToken.optional() }),
  limit: 'read',
  idempotency: 'none',
  output: StatementPageSchema,
  run: async (ctx, actor, { maxItems, nextToken, ...input }): Promise<StatementPage> => {
    const window = readWindow(input, ctx.clock.now(), 'lifetime')
    const pages = pagesById(ctx, { list: 'statement.list', tenant: actor.account, filters: [input] })
    const { account } = actor
    const { kind } = input
    const query = { account, kind, ...window, before: pages.idIn(nextToken), limit: maxItems + 1 }
    const { statementLines, sums } = await readAtOnce(ctx.db, async (trx) => {
      const read = await listStatementLines(trx, query)
      const days = new Set(read.map(({ id }) => dayOf(ulidTime(id))))
      const spans = [...days].map((from) => ({ from, to: from + DAY }))
      return { statementLines: read, sums: await sumStatementSpans(trx, { account, kind }, spans) }
    })
    return pages.pageOf(statementLines, maxItems, ({ amount, balance, transaction, ...line }) => ({
      ...line,
      // Lines are selected and sorted by this instant, too, whenever they were booked.
      createdAt: ulidTime(line.id),
      daySumMicro: Number(sums.get(dayOf(ulidTime(line.id))) ?? 0n),
      amountMicro: Number(amount),
      balanceMicro: Number(balance),
      // The note of a transfer holds its transaction.
      txHash: line.kind === 'payment' ? line.note : transaction,
    }))
  },
})

/** The beginning of a UTC day in Unix milliseconds. */
function dayOf(at: number): number {
  return at - (at % DAY)
}
