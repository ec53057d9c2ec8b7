import { z } from 'zod'
import { findProvider } from '#control-plane/db/catalog.ts'
import type { BilledLine } from '#control-plane/db/provider-bills.ts'
import { deleteBills, replaceBill } from '#control-plane/db/provider-bills.ts'
import type { RunCtx } from '#control-plane/operation/operation.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { Day } from '#control-plane/services/input-fields.ts'
import { ProviderKey } from '#control-plane/services/providers/provider-key.ts'
import { Count } from '#control-plane/services/view-fields.ts'
import type { Provider } from '#shared/catalog/providers.ts'
import { DAY, utcDay } from '#shared/clock.ts'
import { AppError } from '#shared/errors.ts'
import type { AccountId } from '#shared/ids.ts'
import { formatUnitPrice, picoUsd } from '#shared/money.ts'
import { byText } from '#shared/text-order.ts'
import { manyLines, oneLine, wholeNumber } from '#shared/texts.ts'
import { classOfLine } from './billed-class.ts'
import { fetchReport } from './fetch-report.ts'
import { MAX_BILL_AGE_DAYS, readBillFile } from './read-bill.ts'

/** The longest file, in characters, and the most lines of a seller at a time. */
const MAX_FILE_CHARS = 500_000
const MAX_STORED_LINES = 100_000
/** Days of a report by key. OpenRouter answers with the last 30. */
const MAX_FETCHED_DAYS = 90

const ProviderId = oneLine(64).min(1).describe('The id of a provider of the allow-list.')

/** A bill as it was stored. */
export const BillImportSchema = z
  .object({
    provider: z.string(),
    lines: Count.describe('Lines of the bill, one for each day, model and class.'),
    firstDay: z.string().describe('UTC: YYYY-MM-DD.'),
    lastDay: z.string().describe('UTC: YYYY-MM-DD.'),
    billedUsd: z.string().describe('The sum of the lines in US dollars, as a decimal number.'),
  })
  .meta({ id: 'BillImport', description: 'A provider’s bill as it was stored.' })
export type BillImport = z.infer<typeof BillImportSchema>

/**
 * Stores a provider's bill from a file. A line replaces an earlier line of the same day, model and class. Throws
 * `invalid_request` that names the line, and then stores nothing.
 */
export const importBill = defineOperation({
  name: 'bill.import',
  summary: 'Import a provider’s bill from a file',
  about:
    'CSV or JSON with date, model, class, units and cost in US dollars, or a cost report of OpenAI, Anthropic or OpenRouter. A line replaces an earlier one of the same day, model and class.',
  example: { provider: 'openai', file: 'date,model,cost_usd\n2026-11-21,gpt-5-nano,0.25' },
  access: 'seller',
  input: z.strictObject({ provider: ProviderId, file: manyLines(MAX_FILE_CHARS).min(1) }),
  limit: 'write',
  idempotency: 'none',
  output: BillImportSchema,
  run: async (ctx, actor, { provider: id, file }): Promise<BillImport> => {
    const provider = await requireProvider(ctx, id)
    return storeBill(ctx, actor.account, provider, { lines: readBillFile(file, ctx.clock.now()), source: 'file' })
  },
})

/**
 * Fetches a provider's bill with an admin key, which is sent to the provider alone and never stored. Throws
 * `provider_probe_failed`, and then stores nothing.
 */
export const fetchBill = defineOperation({
  name: 'bill.fetch',
  summary: 'Fetch a provider’s bill with an admin key',
  about:
    'Reads the cost report of OpenAI, Anthropic or OpenRouter for finished days. We use the key once and do not store it.',
  example: { provider: 'openai', adminKey: 'sk-admin-example-key', days: 30 },
  access: 'seller',
  input: z.strictObject({
    provider: ProviderId,
    adminKey: ProviderKey.describe('An admin key of the provider. It is used once and stored nowhere.'),
    days: wholeNumber(1, MAX_FETCHED_DAYS).prefault(30),
  }),
  limit: 'probe',
  idempotency: 'none',
  output: BillImportSchema,
  run: async (ctx, actor, { provider: id, adminKey, days }): Promise<BillImport> => {
    const provider = await requireProvider(ctx, id)
    const now = ctx.clock.now()
    const to = Math.floor(now / DAY) * DAY
    const lines = await fetchReport(ctx, provider, adminKey, { from: to - days * DAY, to })
    return storeBill(ctx, actor.account, provider, { lines, source: 'key' })
  },
})

/** The number of removed lines. */
export const BillRemovalSchema = z
  .object({ provider: z.string(), lines: Count.describe('Lines that were removed.') })
  .meta({ id: 'BillRemoval', description: 'The lines of a provider’s bills that a seller has removed.' })
export type BillRemoval = z.infer<typeof BillRemovalSchema>

/** Removes stored bills of a provider, of all days or of some. A repeat removes nothing more. */
export const removeBill = defineOperation({
  name: 'bill.remove',
  summary: 'Delete the bills of a provider',
  about:
    'Deletes all days, or the days from one date to another, both included. The comparison then leaves those days out.',
  example: { from: '2026-11-01', to: '2026-11-30' },
  access: 'seller',
  input: z.strictObject({ provider: ProviderId, from: Day.optional(), to: Day.optional() }),
  limit: 'write',
  idempotency: 'none',
  output: BillRemovalSchema,
  run: async (ctx, actor, { provider, from, to }): Promise<BillRemoval> => {
    if (from !== undefined && to !== undefined && from > to) {
      throw new AppError('invalid_request', { message: 'from must not be after to.', param: 'from' })
    }
    const lines = await ctx.change(
      (trx) => deleteBills(trx, actor.account, { provider, from, to }),
      (removed) => ({ subject: `bill ${provider}`, before: { from, to, lines: removed }, after: null }),
    )
    return { provider, lines }
  },
})

async function requireProvider(ctx: Pick<RunCtx, 'db'>, id: string): Promise<Provider> {
  const provider = await findProvider(ctx.db, id)
  if (provider !== undefined) return provider
  throw new AppError('invalid_request', {
    message: 'No provider of the market has this id. GET /v1/providers lists them.',
    param: 'provider',
  })
}

/** The class of a line of a bill. A line without a known class is a part of its own. */
function classOf(line: string): string | undefined {
  const usageClass = classOfLine(line)
  return usageClass === 'other' ? undefined : usageClass
}

type Bill = { readonly lines: readonly BilledLine[]; readonly source: 'file' | 'key' }

async function storeBill(
  ctx: Pick<RunCtx, 'clock' | 'change'>,
  seller: AccountId,
  { id: provider }: Provider,
  { lines, source }: Bill,
): Promise<BillImport> {
  const at = ctx.clock.now()
  const days = lines.map(({ day }) => day).sort(byText)
  const billed = lines.reduce((sum, { billedPico }) => sum + billedPico, 0n)
  const stored = {
    provider,
    lines: lines.length,
    firstDay: days[0] ?? '',
    lastDay: days.at(-1) ?? '',
    billedUsd: formatUnitPrice(picoUsd(billed)),
  }
  const keptSince = utcDay(at - MAX_BILL_AGE_DAYS * DAY)
  await ctx.change(
    async (trx) => {
      const count = await replaceBill(trx, { seller, provider, lines, source, at, keptSince, classOf })
      if (count <= MAX_STORED_LINES) return
      const message = `A seller has at most ${MAX_STORED_LINES} lines of bills. Import fewer days, or models without classes.`
      throw new AppError('invalid_request', { message, param: 'file' })
    },
    () => ({ subject: `bill ${provider}`, before: null, after: { ...stored, source } }),
  )
  return stored
}
