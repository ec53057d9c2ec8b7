import { z } from 'zod'
import { findLine } from '#control-plane/db/allowances.ts'
import type { UsageSums } from '#control-plane/db/buyer-usage.ts'
import { sumUsage } from '#control-plane/db/buyer-usage.ts'
import { readAtOnce } from '#control-plane/db/database.ts'
import { listEntries } from '#control-plane/db/entries.ts'
import { listSettledCalls } from '#control-plane/db/settlements.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { isOffered } from '#control-plane/services/allowances/allowance-ctx.ts'
import { walletOf } from '#control-plane/services/allowances/allowance-views.ts'
import { PageSize } from '#control-plane/services/input-fields.ts'
import type { CreditBalance } from '#control-plane/services/ledger/credit.ts'
import { CreditBalanceSchema, readCredit } from '#control-plane/services/ledger/credit.ts'
import { mediaUnitsOfRow } from '#control-plane/services/media-units.ts'
import { PageToken, pagesById, signedPageSchema } from '#control-plane/services/page.ts'
import { Count, MicroDigits, UnixMs, WholeMicro } from '#control-plane/services/view-fields.ts'
import { LookupRecordSchema } from '#shared/contract/lookup.ts'
import { tokensOf } from './buyer-usage.ts'
import { lookupsOf } from './lookup.ts'
import { readWindow } from './usage-window.ts'

const RECENT_CALLS = 20
const BREAKDOWN_MODELS = 50

/** Reads the caller's spendable balance. */
export const getBalance = defineOperation({
  name: 'credit.balance',
  summary: 'Get the balance',
  about: 'The credit that the account can spend.',
  access: 'buyer',
  input: z.strictObject({}),
  limit: 'read',
  idempotency: 'none',
  output: CreditBalanceSchema,
  run: (ctx, actor): Promise<CreditBalance> => readCredit(ctx, actor.account),
})

/** Totals of calls. Spending is whole micro-USD. */
export const UsageStatsSchema = z.object({
  totalSpent: WholeMicro,
  totalInputTokens: Count,
  totalOutputTokens: Count,
  totalRequests: Count,
  totalImages: Count,
  totalMegapixels: z.number(),
  totalSeconds: z.number(),
  totalCharacters: Count,
})
export type UsageStats = z.infer<typeof UsageStatsSchema>

export const BuyerMeSchema = CreditBalanceSchema.extend({
  wallet: z.string().nullable().describe('Null until a wallet is linked.'),
  balanceUsdc: MicroDigits.nullable().describe(
    'The balance of the wallet on the chain. Null unless the account pays from the wallet.',
  ),
  allowanceUsdc: MicroDigits.nullable().describe('The allowance of this market.'),
  settlementContract: z
    .string()
    .nullable()
    .describe('The address that a wallet allows, so that its account pays from it.'),
  stats: UsageStatsSchema,
  modelBreakdown: z
    .array(
      UsageStatsSchema.extend({
        model: z.string(),
        totalListCost: WholeMicro,
      }),
    )
    .readonly(),
  /** In the spelling of `GET /v1/requests/{id}`. */
  recentUsage: z.array(LookupRecordSchema).readonly(),
}).meta({ id: 'Buyer', description: 'The account of a buyer: balances, spending by model and recent calls.' })
export type BuyerMe = z.infer<typeof BuyerMeSchema>

/** Reads a summary of the caller's account. It also serves as a free check of a key. */
export const getMe = defineOperation({
  name: 'buyer.me',
  summary: 'Get the balance, totals and recent calls',
  about: 'The state of the account in one answer.',
  access: 'buyer',
  input: z.strictObject({}),
  limit: 'read',
  idempotency: 'none',
  output: BuyerMeSchema,
  run: async (ctx, actor): Promise<BuyerMe> => {
    const { account, wallet } = actor
    const lifetime = { account, ...readWindow({}, ctx.clock.now(), 'lifetime') }
    const [credit, { used, recent }, line] = await Promise.all([
      readCredit(ctx, account),
      readAtOnce(ctx.db, async (trx) => ({
        used: await sumUsage(trx, lifetime, BREAKDOWN_MODELS),
        recent: await listSettledCalls(trx, account, { before: undefined, limit: RECENT_CALLS }),
      })),
      findLine(ctx.db, account),
    ])
    const { total, byModel } = used
    return {
      wallet,
      ...credit,
      ...walletOf(line),
      settlementContract: isOffered(ctx.settings.allowances) ? (ctx.moves?.treasury ?? null) : null,
      stats: total === undefined ? NOTHING_USED : statsOf(total),
      modelBreakdown: byModel.map((row) => ({
        model: row.model,
        ...statsOf(row),
        totalListCost: Number(row.listCost),
      })),
      recentUsage: await lookupsOf(ctx.db, recent),
    }
  },
})

const NOTHING_USED: UsageStats = {
  totalSpent: 0,
  totalInputTokens: 0,
  totalOutputTokens: 0,
  totalRequests: 0,
  totalImages: 0,
  totalMegapixels: 0,
  totalSeconds: 0,
  totalCharacters: 0,
}

function statsOf(sums: UsageSums): UsageStats {
  const { inputTokens, outputTokens } = tokensOf(sums)
  const { images, megapixels, seconds, characters } = mediaUnitsOfRow(sums)
  return {
    totalSpent: Number(sums.charge),
    totalInputTokens: inputTokens,
    totalOutputTokens: outputTokens,
    totalRequests: Number(sums.requests),
    totalImages: images,
    totalMegapixels: megapixels,
    totalSeconds: seconds,
    totalCharacters: characters,
  }
}

/** A ledger line of the caller, in signed micro-USD as plain digits. */
export const CreditEntrySchema = z.object({
  id: z.string(),
  kind: z.string(),
  amountMicro: MicroDigits,
  note: z.string().nullable(),
  createdAt: UnixMs,
})
export const CreditEntryPageSchema = signedPageSchema(CreditEntrySchema)
export type CreditEntryPage = z.infer<typeof CreditEntryPageSchema>

/** The caller's ledger lines, newest first. */
export const listCreditEntries = defineOperation({
  name: 'credit.entries',
  summary: 'List ledger lines, newest first',
  access: 'buyer',
  input: z.strictObject({
    maxItems: PageSize,
    nextToken: PageToken.optional(),
  }),
  limit: 'read',
  idempotency: 'none',
  output: CreditEntryPageSchema,
  run: async (ctx, actor, input): Promise<CreditEntryPage> => {
    const pages = pagesById(ctx, { list: 'credit.entries', tenant: actor.account })
    const query = { before: pages.idIn(input.nextToken), limit: input.maxItems + 1 }
    const entries = await listEntries(ctx.db, actor.account, query)
    return pages.pageOf(entries, input.maxItems, (entry) => ({
      id: entry.id,
      kind: entry.kind,
      amountMicro: entry.amount.toString(),
      note: entry.note,
      createdAt: entry.at.getTime(),
    }))
  },
})
