import { z } from 'zod'
import type { Database } from '#control-plane/db/database.ts'
import type { MonthLine } from '#control-plane/db/statements.ts'
import { listLinesAfter, sumLinesBefore } from '#control-plane/db/statements.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import type { ExportFile } from '#control-plane/ports/exports/exporter.ts'
import { csvLine } from '#control-plane/services/exports/csv.ts'
import type { ExportLink } from '#control-plane/services/exports/export-link.ts'
import { ExportLinkSchema, makeExportLink } from '#control-plane/services/exports/export-link.ts'
import { readAhead } from '#control-plane/services/exports/read-ahead.ts'
import { AppError } from '#shared/errors.ts'
import type { AccountId } from '#shared/ids.ts'
import { isId, ulidTime } from '#shared/ids.ts'
import { drawStatement } from './draw-statement.ts'

/** The kind of export in the link to a monthly statement. */
export const STATEMENT_EXPORT = 'statement'

/** Most lines of a file, and lines in one read. A download holds the text of one read in memory. */
const MAX_LINES = 2_000_000_000
const BATCH = 5_000

/** Micro-USD of a dollar. */
const MICRO = 1_000_000

const Month = z.string().regex(/^20\d\d-(?:0[1-9]|1[0-2])$/, 'a month must be written as 2026-11')

/**
 * Makes a link to the statement of a UTC month: every ledger line with the balance after it (CSV), or the sums by kind
 * and day (PDF). Throws `invalid_request` for a month that has not begun.
 */
export const exportStatement = defineOperation({
  name: 'statement.export',
  summary: 'Download the statement of a month',
  about:
    'A signed link to the file. The link works without a key for five minutes. CSV has every ledger line, PDF the sums by kind and day. Both have the opening and the closing balance.',
  example: { month: '2026-11', format: 'pdf' },
  access: 'buyer',
  input: z.strictObject({ month: Month, format: z.enum(['csv', 'pdf']).default('csv') }),
  limit: 'read',
  idempotency: 'none',
  output: ExportLinkSchema,
  run: async (ctx, actor, { month, format }): Promise<ExportLink> => {
    if (spanOf(month).from > ctx.clock.now()) {
      throw new AppError('invalid_request', { message: 'This month has not begun.', param: 'month' })
    }
    const query = { account: actor.account, wallet: actor.wallet, month, format }
    return makeExportLink(ctx, { kind: STATEMENT_EXPORT, query })
  },
})

/** The span of a UTC month in Unix milliseconds, `to` excluded. */
function spanOf(month: string): { readonly from: number; readonly to: number } {
  const [year = 0, number = 1] = month.split('-').map(Number)
  return { from: Date.UTC(year, number - 1), to: Date.UTC(year, number) }
}

const Query = z.object({
  account: z.string().refine((text): text is AccountId => isId('acc', text)),
  wallet: z.string().nullable(),
  month: Month,
  format: z.enum(['csv', 'pdf']),
})
type StatementFile = z.infer<typeof Query>

/** Writes the file of a statement link. */
export function writeStatement(ctx: Pick<Ctx, 'db' | 'clock'>, query: unknown): ExportFile {
  const file = Query.safeParse(query).data
  if (file === undefined) throw new AppError('not_found')
  const fileName = `statement-${file.month}.${file.format}`
  return file.format === 'csv'
    ? { fileName, contentType: 'text/csv; charset=utf-8', chunks: csvOf(ctx.db, file) }
    : { fileName, contentType: 'application/pdf', chunks: pdfOf(ctx, file) }
}

/** A line of the month with the balance after it. Both are signed micro-USD. */
type Balanced = { readonly line: MonthLine; readonly balance: bigint }

/** The lines of a month, oldest first. The balance runs on from the opening one, so every file adds up. */
async function* balancedLines(db: Database, file: StatementFile, opening: bigint): AsyncGenerator<readonly Balanced[]> {
  const query = { account: file.account, ...spanOf(file.month) }
  let balance = opening
  for await (const lines of readAhead((page) => listLinesAfter(db, query, page), { batch: BATCH, limit: MAX_LINES })) {
    yield lines.map((line) => {
      balance += line.amount
      return { line, balance }
    })
  }
}

const COLUMNS = [
  'time',
  'kind',
  'id',
  'model',
  'key_id',
  'note',
  'amount_usd',
  'balance_usd',
  'amount_micro',
  'balance_micro',
]

async function* csvOf(db: Database, file: StatementFile): AsyncGenerator<string> {
  const { from, to } = spanOf(file.month)
  const opening = await sumLinesBefore(db, file.account, from)
  const standing = (at: number, kind: string, balance: bigint) =>
    csvLine([new Date(at).toISOString(), kind, '', '', '', '', '', usdOf(balance), '', balance])
  yield csvLine(COLUMNS) + standing(from, 'opening_balance', opening)
  let closing = opening
  for await (const batch of balancedLines(db, file, opening)) {
    let text = ''
    for (const { line, balance } of batch) {
      const { rid, kind, model, keyId, note, amount } = line
      const time = new Date(ulidTime(rid)).toISOString()
      text += csvLine([time, kind, rid, model, keyId, note, usdOf(amount), usdOf(balance), amount, balance])
      closing = balance
    }
    yield text
  }
  yield standing(to, 'closing_balance', closing)
}

/** Signed US dollars as a number: the double nearest to the amount, which prints back its six decimals. */
function usdOf(micro: bigint): number {
  return Number(micro) / MICRO
}

async function* pdfOf({ db, clock }: Pick<Ctx, 'db' | 'clock'>, file: StatementFile): AsyncGenerator<Uint8Array> {
  const { account, wallet, month } = file
  const { from } = spanOf(month)
  const opening = await sumLinesBefore(db, account, from)
  const kinds = new Map<string, { count: number; amount: bigint }>()
  const days = new Map<string, { received: bigint; spent: bigint; balance: bigint }>()
  let closing = opening
  for await (const batch of balancedLines(db, file, opening)) {
    for (const { line, balance } of batch) {
      const kind = kinds.get(line.kind) ?? { count: 0, amount: 0n }
      kinds.set(line.kind, { count: kind.count + 1, amount: kind.amount + line.amount })
      const day = new Date(ulidTime(line.rid)).toISOString().slice(0, 10)
      const { received, spent } = days.get(day) ?? { received: 0n, spent: 0n }
      const isIn = line.amount > 0n
      days.set(day, {
        received: isIn ? received + line.amount : received,
        spent: isIn ? spent : spent - line.amount,
        balance,
      })
      closing = balance
    }
  }
  yield await drawStatement({ account, wallet, month, madeAt: clock.now(), opening, closing, kinds, days })
}
