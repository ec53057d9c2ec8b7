import { z } from 'zod'
import type { BilledCall } from '#control-plane/db/settlements.ts'
import { findBilledCall } from '#control-plane/db/settlements.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { Count, WholeMicro } from '#control-plane/services/view-fields.ts'
import type { LookupRecord } from '#shared/contract/lookup.ts'
import { isSoldName } from '#shared/contract/usage-event.ts'
import { keptToPercent } from '#shared/discount.ts'
import { AppError } from '#shared/errors.ts'
import { parseAnswerId } from '#shared/ids.ts'
import { formatUnitPrice, keptBps, PICO_PER_MICRO, picoUsd } from '#shared/money.ts'
import { PriceOverridesSchema, unitPricesUnder } from '#shared/price-list.ts'
import { UnitPricesSchema, unitPrice } from '#shared/pricing.ts'
import { oneLine } from '#shared/texts.ts'
import type { UsageClass } from '#shared/usage.ts'
import { findLookup } from './lookup.ts'

/** The lines of a bill: a class of usage, its unit, and how many of the billed parts make one unit. */
const ITEMS = [
  ['input', 'input', 'token', 1],
  ['cache_read', 'cacheRead', 'token', 1],
  ['cache_write', 'cacheWrite', 'token', 1],
  ['cache_write_1h', 'cacheWriteLong', 'token', 1],
  ['audio_input', 'audioInput', 'token', 1],
  ['image_input', 'imageInput', 'token', 1],
  ['output', 'output', 'token', 1],
  ['reasoning', 'reasoning', 'token', 1],
  ['audio_output', 'audioOutput', 'token', 1],
  ['image_output', 'imageOutput', 'token', 1],
  ['image', 'images', 'image', 1],
  ['image_2k', 'images2k', 'image', 1],
  ['image_4k', 'images4k', 'image', 1],
  ['area', 'pixels', 'megapixel', 1_000_000],
  ['time', 'milliseconds', 'second', 1_000],
  ['time_1080p', 'milliseconds1080p', 'second', 1_000],
  ['time_4k', 'milliseconds4k', 'second', 1_000],
  ['text', 'characters', 'character', 1],
  ['search', 'searches', 'search', 1],
  ['request', 'calls', 'request', 1],
] as const satisfies readonly (readonly [item: string, of: UsageClass, unit: string, size: number])[]

const TOKENS_OF_A_PRICE = 1_000_000

const BillLineSchema = z
  .object({
    item: z.enum(ITEMS.map(([item]) => item)).describe('The class of usage.'),
    quantity: z.number().describe('Units used.'),
    unit: z.enum(['token', 'image', 'megapixel', 'second', 'character', 'search', 'request']),
    priceUsd: z.string().describe('The list price of `priceUnits` units, in US dollars.'),
    priceUnits: Count.describe('1,000,000 for tokens, 1 for other units.'),
    amountMicro: WholeMicro,
  })
  .meta({ id: 'BillLine', description: 'A class of usage in a call, with its quantity, its price and its amount.' })

/**
 * The bill of a call. The lines, the rounding and the rest add up to `listCostMicro`, and less the discount to
 * `buyerCostMicro`.
 */
export const CallBillSchema = z
  .object({
    requestId: z.string(),
    keyId: z.string().nullable(),
    endpoint: z.string().nullable().describe('Null until the call is booked.'),
    lines: z.array(BillLineSchema).readonly().describe('Empty until the call is booked.'),
    roundingMicro: WholeMicro.describe('Parts of a micro-USD that the lines leave out. A call is rounded up once.'),
    otherMicro: WholeMicro.describe('Cost that the lines cannot show, such as prompts that were priced one by one.'),
    listCostMicro: WholeMicro,
    discountPct: z.number().nullable().describe('The discount of the offer. Null until the call is booked.'),
    discountMicro: WholeMicro,
    buyerCostMicro: WholeMicro,
  })
  .meta({ id: 'CallBill', description: 'The charge of a call line by line.' })
export type CallBill = z.infer<typeof CallBillSchema>

/** Makes the bill of a settled call. Each amount is rounded down, so the rounding is never negative. */
export function billOfCall(call: BilledCall): CallBill {
  const used = usedUnits(call)
  const prices = pricesOf(call)
  let bill = 0n
  let shown = 0n
  const lines: CallBill['lines'][number][] = []
  for (const [item, usageClass, unit, size] of ITEMS) {
    const units = used[usageClass] ?? 0n
    if (units <= 0n) continue
    const price = unitPrice(prices, usageClass) ?? picoUsd(0n)
    // A request has a price of its own for a few models only.
    if (item === 'request' && price === 0n) continue
    const amount = (units * price) / PICO_PER_MICRO
    const priceUnits = unit === 'token' ? TOKENS_OF_A_PRICE : 1
    bill += units * price
    shown += amount
    lines.push({
      item,
      quantity: Number(units) / size,
      unit,
      priceUsd: formatUnitPrice(price, BigInt(priceUnits * size)),
      priceUnits,
      amountMicro: Number(amount),
    })
  }
  const isWhole = (bill + PICO_PER_MICRO - 1n) / PICO_PER_MICRO === call.list_cost
  const rest = Number(call.list_cost - shown)
  return {
    requestId: call.rid,
    keyId: call.key_id,
    endpoint: call.endpoint,
    lines,
    roundingMicro: isWhole ? rest : 0,
    otherMicro: isWhole ? 0 : rest,
    listCostMicro: Number(call.list_cost),
    discountPct: keptToPercent(keptBps(call.kept_bps)),
    discountMicro: Number(call.list_cost - call.charge),
    buyerCostMicro: Number(call.charge),
  }
}

/** The prices of the call. A call on a lent key has a quote of its own, so its price is that of the request. */
function pricesOf({ model, list_cost, unit_prices, overrides, price_conditions }: BilledCall) {
  if (isSoldName(model)) return { calls: picoUsd(list_cost * PICO_PER_MICRO) }
  const unitPrices = UnitPricesSchema.safeParse(unit_prices).data ?? {}
  return unitPricesUnder({ unitPrices, overrides: PriceOverridesSchema.safeParse(overrides).data }, price_conditions)
}

/** The units of each class. Columns of a kind include its larger tiers, and those of tokens include images. */
function usedUnits(call: BilledCall): { readonly [Class in UsageClass]?: bigint } {
  if (isSoldName(call.model)) return { calls: 1n }
  return {
    input: call.input_tokens - call.image_input_tokens,
    cacheRead: call.cache_read_tokens,
    cacheWrite: call.cache_write_tokens - call.cache_write_long_tokens,
    cacheWriteLong: call.cache_write_long_tokens,
    audioInput: call.audio_input_tokens,
    imageInput: call.image_input_tokens,
    output: call.output_tokens - call.image_output_tokens,
    reasoning: call.reasoning_tokens,
    audioOutput: call.audio_output_tokens,
    imageOutput: call.image_output_tokens,
    images: call.images - call.images_2k - call.images_4k,
    images2k: call.images_2k,
    images4k: call.images_4k,
    pixels: call.pixels,
    milliseconds: call.milliseconds - call.milliseconds_1080p - call.milliseconds_4k,
    milliseconds1080p: call.milliseconds_1080p,
    milliseconds4k: call.milliseconds_4k,
    characters: call.characters,
    searches: call.searches,
    calls: call.calls,
  }
}

/** The bill of a call that is not booked yet: its cost as far as it is known, without lines. */
function openBillOf({ request_id, list_cost_micro, buyer_cost_micro }: LookupRecord): CallBill {
  return {
    requestId: request_id,
    keyId: null,
    endpoint: null,
    lines: [],
    roundingMicro: 0,
    otherMicro: list_cost_micro,
    listCostMicro: list_cost_micro,
    discountPct: null,
    discountMicro: list_cost_micro - buyer_cost_micro,
    buyerCostMicro: buyer_cost_micro,
  }
}

/** Reads the bill of a call of the buyer, with its key and its endpoint. Throws `not_found`. */
export const getCallBill = defineOperation({
  name: 'request.bill',
  summary: 'Get the bill of a call',
  about:
    'Each class of usage with its quantity, unit price and amount. The lines, the rounding and the rest, less the discount, add up to the charge.',
  access: 'buyer',
  input: z.strictObject({ id: oneLine(64) }),
  limit: 'read',
  idempotency: 'none',
  output: CallBillSchema,
  run: async (ctx, actor, input): Promise<CallBill> => {
    const rid = parseAnswerId(input.id)
    if (rid === undefined) throw new AppError('not_found')
    // The open call is read first, so a call that is booked between the two reads is in one of them.
    const open = await findLookup(ctx.db, actor.account, rid)
    const call = await findBilledCall(ctx.db, actor.account, rid)
    if (call !== undefined) return billOfCall(call)
    if (open === undefined) throw new AppError('not_found')
    return openBillOf(open)
  },
})
