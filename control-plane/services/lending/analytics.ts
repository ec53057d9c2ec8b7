import { z } from 'zod'
import { listLivingKeys } from '#control-plane/db/keys.ts'
import { listLentOffers } from '#control-plane/db/lent-offers.ts'
import type { SoldBy } from '#control-plane/db/sold-resources.ts'
import { sumSold, sumSoldByDay } from '#control-plane/db/sold-resources.ts'
import type { BuyerActor } from '#control-plane/operation/actor.ts'
import { keyOwnerOf } from '#control-plane/operation/actor.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { termsOf } from '#control-plane/services/keys/key-terms.ts'
import { readCredit } from '#control-plane/services/ledger/credit.ts'
import { Count, UnixMs, WholeMicro } from '#control-plane/services/view-fields.ts'
import { lastUtcDays } from '#shared/clock.ts'
import { LENT_RULES } from '#shared/contract/lent-offers.ts'

/** Days of each range, with today. Counts of refused demand are kept for longer than the longest range. */
const RANGES = { '1d': 1, '7d': 7, '30d': 30 } as const
const RANGE_NAMES = ['1d', '7d', '30d'] as const
const Range = z.enum(RANGE_NAMES).default('7d')
/** Most lines of goods, and most lent keys whose refused demand is read. */
const MAX_LINES = 500
const MAX_OFFERS = 200

const DaySchema = z.object({ day: z.string(), calls: Count, chargeMicro: WholeMicro, listMicro: WholeMicro })

export const SellerAnalyticsSchema = z.object({
  range: z.enum(RANGE_NAMES),
  /** Unix milliseconds. */
  since: UnixMs,
  earnedMicro: WholeMicro,
  calls: Count,
  daily: z.array(DaySchema.extend({ earnedMicro: WholeMicro })).readonly(),
  byOffer: z
    .array(
      z.object({
        offerId: z.string().nullable(),
        resource: z.string(),
        good: z.string().nullable(),
        calls: Count,
        earnedMicro: WholeMicro,
      }),
    )
    .readonly(),
  /** Calls that only a rule of the seller refused, with the cost that they would have had. */
  refusedDemand: z
    .array(z.object({ offerId: z.string(), rule: z.enum(LENT_RULES), calls: Count, quotedMicro: WholeMicro }))
    .readonly(),
})
export type SellerAnalytics = z.infer<typeof SellerAnalyticsSchema>

/** Earnings of the caller's lent keys, and the demand that the caller's own rules refused. */
export const getLentAnalytics = defineOperation({
  name: 'lent-offer.analytics',
  summary: 'Get the earnings of lent keys',
  about: 'Includes the demand that your own rules refused.',
  example: { range: '7d' },
  access: 'seller',
  input: z.strictObject({ range: Range }),
  limit: 'read',
  idempotency: 'none',
  output: SellerAnalyticsSchema,
  run: async (ctx, actor, { range }): Promise<SellerAnalytics> => {
    const by = { seller: actor.account }
    const { since, days } = lastUtcDays(ctx.clock.now(), RANGES[range])
    const filter = { status: undefined, resource: undefined, before: undefined }
    const [{ lines, daily }, offers] = await Promise.all([
      readSold(ctx, by, since),
      listLentOffers(ctx.db, actor.account, filter, MAX_OFFERS),
    ])
    const refusedDemands = await ctx.liveOffers.refusals(
      offers.map(({ id }) => id),
      days,
    )
    return {
      range,
      since,
      earnedMicro: totalOf(daily, ({ sellerNet }) => sellerNet),
      calls: totalOf(daily, ({ calls }) => calls),
      daily: daily.map((row) => ({ ...viewDay(row), earnedMicro: Number(row.sellerNet) })),
      byOffer: lines.map(({ offer, name, good, calls, sellerNet }) => ({
        offerId: offer,
        resource: nameOf(name),
        good,
        calls: Number(calls),
        earnedMicro: Number(sellerNet),
      })),
      refusedDemand: refusedDemands.map(({ offer, rule, calls, quotedMicro }) => ({
        offerId: offer,
        rule,
        calls: Number(calls),
        quotedMicro: Number(quotedMicro),
      })),
    }
  },
})

export const ResourceBuyerAnalyticsSchema = z.object({
  range: z.enum(RANGE_NAMES),
  since: UnixMs,
  calls: Count,
  spentMicro: WholeMicro,
  listMicro: WholeMicro,
  savedMicro: WholeMicro,
  daily: z.array(DaySchema).readonly(),
  byResource: z
    .array(
      z.object({
        resource: z.string(),
        good: z.string().nullable(),
        calls: Count,
        spentMicro: WholeMicro,
        savedMicro: WholeMicro,
      }),
    )
    .readonly(),
})
export type ResourceBuyerAnalytics = z.infer<typeof ResourceBuyerAnalyticsSchema>

/** The caller's spending and savings on lent keys. */
export const getResourceAnalytics = defineOperation({
  name: 'resource.buyer-analytics',
  summary: 'Get spend and savings on lent keys',
  about: 'Sums of the account’s calls in the range.',
  example: { range: '7d' },
  access: 'buyer',
  input: z.strictObject({ range: Range }),
  limit: 'read',
  idempotency: 'none',
  output: ResourceBuyerAnalyticsSchema,
  run: async (ctx, actor, { range }): Promise<ResourceBuyerAnalytics> => {
    const { since } = lastUtcDays(ctx.clock.now(), RANGES[range])
    const { lines, daily } = await readSold(ctx, { buyer: actor.account }, since)
    const goods = new Map<string, { name: string; good: string | null; calls: bigint; spent: bigint; saved: bigint }>()
    for (const { name, good, calls, charge, listCost } of lines) {
      const key = JSON.stringify([name, good])
      const sum = goods.get(key) ?? { name, good, calls: 0n, spent: 0n, saved: 0n }
      const saved = listCost > charge ? listCost - charge : 0n
      goods.set(key, { name, good, calls: sum.calls + calls, spent: sum.spent + charge, saved: sum.saved + saved })
    }
    return {
      range,
      since,
      calls: totalOf(daily, ({ calls }) => calls),
      spentMicro: totalOf(daily, ({ charge }) => charge),
      listMicro: totalOf(daily, ({ listCost }) => listCost),
      savedMicro: totalOf(daily, ({ charge, listCost }) => (listCost > charge ? listCost - charge : 0n)),
      daily: daily.map(viewDay),
      byResource: [...goods.values()].map(({ name, good, calls, spent, saved }) => ({
        resource: nameOf(name),
        good,
        calls: Number(calls),
        spentMicro: Number(spent),
        savedMicro: Number(saved),
      })),
    }
  },
})

/** Reasons why an account may not buy on lent keys now. */
const ACCESS_REASONS = ['insufficient_credit', 'model_not_allowed', 'paid_calls_off', 'read_only'] as const

export const ResourceAccessSchema = z.object({
  canBuy: z.boolean(),
  reasons: z.array(z.enum(ACCESS_REASONS)).readonly(),
  /** The whole spendable balance. Lent keys are paid from it alone. */
  balanceMicro: WholeMicro,
})
export type ResourceAccess = z.infer<typeof ResourceAccessSchema>

/** Tells whether the caller may buy on lent keys now, and if not, why. Throws `service_unavailable`. */
export const getResourceAccess = defineOperation({
  name: 'resource.access',
  summary: 'Check whether the account may buy on lent keys',
  about: 'The answer has the reason if the account may not.',
  access: 'buyer',
  input: z.strictObject({}),
  limit: 'read',
  idempotency: 'none',
  output: ResourceAccessSchema,
  run: async (ctx, actor): Promise<ResourceAccess> => {
    const [credit, isOn, namesModels] = await Promise.all([
      readCredit(ctx, actor.account),
      ctx.controls.isOn('paid_calls'),
      hasModelList(ctx, actor),
    ])
    const balance = BigInt(credit.creditBalanceUsdc)
    const reasons: (typeof ACCESS_REASONS)[number][] = []
    if (balance <= 0n) reasons.push('insufficient_credit')
    // A key that is limited to some models buys nothing else.
    if (namesModels) reasons.push('model_not_allowed')
    if (!isOn) reasons.push('paid_calls_off')
    if (actor.workspace?.isReadOnly) reasons.push('read_only')
    return { canBuy: reasons.length === 0, reasons, balanceMicro: Number(balance) }
  },
})

async function hasModelList(ctx: Pick<Ctx, 'db' | 'clock'>, actor: BuyerActor): Promise<boolean> {
  if (actor.keyId === null || actor.isBounded !== true) return false
  const keys = await listLivingKeys(ctx.db, keyOwnerOf(actor), ctx.clock.now())
  const key = keys.find(({ id }) => id === actor.keyId)
  return key !== undefined && termsOf(key).modelsAllowed !== null
}

async function readSold(ctx: Pick<Ctx, 'db'>, by: SoldBy, since: number) {
  const [lines, daily] = await Promise.all([sumSold(ctx.db, by, since, MAX_LINES), sumSoldByDay(ctx.db, by, since)])
  return { lines, daily }
}

type Day = { readonly day: string; readonly calls: bigint; readonly charge: bigint; readonly listCost: bigint }

/** The sum of a figure over all days. The lines of goods would give a lower one past {@link MAX_LINES}. */
function totalOf<Line>(daily: readonly Line[], figure: (line: Line) => bigint): number {
  return Number(daily.reduce((sum, line) => sum + figure(line), 0n))
}

function viewDay({ day, calls, charge, listCost }: Day) {
  return { day, calls: Number(calls), chargeMicro: Number(charge), listMicro: Number(listCost) }
}

/** The id in the name of a sold good. */
function nameOf(name: string): string {
  return name.slice(name.indexOf('/') + 1)
}
