import { z } from 'zod'
import type { FoundTransaction, LedgerPlace } from '#control-plane/db/ledger-search.ts'
import { searchTransactions } from '#control-plane/db/ledger-search.ts'
import { findRecordNames } from '#control-plane/db/record-names.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { readCursor, signCursor } from '#control-plane/services/cursor.ts'
import { Instant, PageSize } from '#control-plane/services/input-fields.ts'
import { PageToken, signedPageOf, signedPageSchema } from '#control-plane/services/page.ts'
import { MicroDigits, UnixMs } from '#control-plane/services/view-fields.ts'
import { parseAnswerId } from '#shared/ids.ts'
import { oneLine } from '#shared/texts.ts'

const FoundLineSchema = z
  .object({
    account: z.string(),
    accountKind: z.string(),
    holder: z.string().nullable().describe('The wallet or the organization of the account; null for the market.'),
    amountMicro: MicroDigits.describe('Signed micro-USD as decimal digits. A positive amount flows into the account.'),
  })
  .meta({ id: 'FoundLedgerLine', description: 'An entry of a transaction.' })

/** A transaction of the ledger with all its entries, which sum to zero. */
export const FoundTransactionSchema = z
  .object({
    id: z.string(),
    kind: z.string(),
    key: z.string().nullable().describe('The ledger key; null for a call, whose request id is the id.'),
    note: z.string().nullable(),
    about: z.string().nullable().describe('The model and the provider of a call; null for other transactions.'),
    at: UnixMs,
    movedMicro: MicroDigits.describe('The sum of the entries that flow in.'),
    sumMicro: MicroDigits.describe('The sum of all entries. It is 0 for a balanced transaction.'),
    lines: z.array(FoundLineSchema).readonly(),
  })
  .meta({ id: 'FoundTransaction', description: 'A transaction of the ledger with its entries.' })
export type FoundTransactionView = z.infer<typeof FoundTransactionSchema>

const LedgerPageSchema = signedPageSchema(FoundTransactionSchema)
type LedgerPage = z.infer<typeof LedgerPageSchema>

/** Searches the transactions of the ledger in the order of their booking, newest first. */
export const searchLedger = defineOperation({
  name: 'ledger.search',
  summary: 'Search the transactions of the ledger, newest first',
  about: 'By account, kind, reference and time. A reference is a ledger key, a transaction or a request id.',
  access: 'operator',
  input: z.strictObject({
    account: oneLine(100).startsWith('acc_').optional(),
    kind: oneLine(32)
      .regex(/^[a-z][a-z_]+$/, 'a kind must be lowercase letters, such as grant')
      .optional(),
    reference: oneLine(200).trim().min(1).optional(),
    from: Instant.optional(),
    to: Instant.optional(),
    limit: PageSize,
    nextToken: PageToken.optional(),
  }),
  limit: 'read',
  idempotency: 'none',
  output: LedgerPageSchema,
  run: async (ctx, _actor, { limit, nextToken, ...conditions }): Promise<LedgerPage> => {
    const scope = { list: 'ledger.search', tenant: 'operator', filters: [conditions] }
    const before = nextToken === undefined ? undefined : placeIn(readCursor(ctx, scope, nextToken))
    const reference = conditions.reference && (parseAnswerId(conditions.reference) ?? conditions.reference)
    const rows = await searchTransactions(ctx.db, { ...conditions, reference }, { before, limit: limit + 1 })
    const microsById = new Map<string, string>(rows.map(({ id, micros }) => [id, micros]))
    const names = await findRecordNames(
      ctx.db,
      rows.flatMap(({ id, lines }) => [id, ...lines.map(({ account }) => account)]),
    )
    return signedPageOf(
      rows,
      limit,
      (row) => viewOf(row, names),
      ({ id }) => signCursor(ctx, scope, `${microsById.get(id)}:${id}`),
    )
  },
})

/** Reads a place from a signed token, which the market wrote. */
function placeIn(position: string): LedgerPlace {
  const [micros = '0', id = ''] = position.split(':')
  return { micros, id }
}

function viewOf(
  { at, lines, micros: _micros, ...transaction }: FoundTransaction,
  names: ReadonlyMap<string, string>,
): FoundTransactionView {
  const amounts = lines.map(({ amount }) => BigInt(amount))
  return {
    ...transaction,
    about: names.get(transaction.id) ?? null,
    at: at.getTime(),
    movedMicro: amounts.reduce((sum, amount) => (amount > 0n ? sum + amount : sum), 0n).toString(),
    sumMicro: amounts.reduce((sum, amount) => sum + amount, 0n).toString(),
    lines: lines.map(({ account, kind, amount }) => ({
      account,
      accountKind: kind,
      holder: names.get(account) ?? null,
      amountMicro: amount,
    })),
  }
}
