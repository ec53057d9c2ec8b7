import { z } from 'zod'
import { findModelByName, insertPrices, listPricesAt, listPriceVersions } from '#control-plane/db/catalog.ts'
import { lockCatalog } from '#control-plane/db/catalog-history.ts'
import type { Trx } from '#control-plane/db/database.ts'
import { tenantOf } from '#control-plane/operation/actor.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { Instant, ModelName } from '#control-plane/services/input-fields.ts'
import { UnixMs } from '#control-plane/services/view-fields.ts'
import { MINUTE } from '#shared/clock.ts'
import { AppError } from '#shared/errors.ts'
import type { PriceLines } from '#shared/price-list.ts'
import { MinimumsSchema, PriceConditionsSchema } from '#shared/price-list.ts'
import { writeUnitPrices } from '#shared/pricing.ts'
import { oneLine } from '#shared/texts.ts'
import { requireModel } from './aliases.ts'
import { changedPrices, NO_LINES } from './catalog-diff.ts'
import { recordChanges } from './catalog-history.ts'
import { CatalogItem, priceLinesOf, storedLines } from './catalog-items.ts'
import { readPriceLines } from './catalog-plan.ts'
import { checkSides } from './catalog-rows.ts'

const MAX_VERSIONS = 200

/** Prices under conditions: pico-USD of one unit by usage class. */
export const ShownOverrideSchema = z.object({
  /** The conditions in words, as look-ups name them. */
  conditions: z.string(),
  when: PriceConditionsSchema,
  unitPrices: z.record(z.string(), z.string()),
})

/** A version of a model's reference prices: pico-USD of one unit by usage class. Times are Unix milliseconds. */
export const PriceVersionSchema = z.object({
  version: z.string(),
  effectiveAt: UnixMs,
  source: z.string(),
  unitPrices: z.record(z.string(), z.string()),
  /** Prices that apply while their conditions hold, by usage class. The last matching entry applies. */
  overrides: z.array(ShownOverrideSchema).readonly(),
  /** The least billed units of a class, for a request that uses any. */
  minimums: MinimumsSchema,
  /** `current` is in effect, `scheduled` will be, `past` was. */
  state: z.enum(['scheduled', 'current', 'past']),
})
export type PriceVersion = z.infer<typeof PriceVersionSchema>

/** Lists the versions of one model's prices, newest first, scheduled ones included. */
export const listPrices = defineOperation({
  name: 'price.list',
  summary: 'List the versions of the prices of a model, newest first',
  access: 'operator',
  input: z.strictObject({ model: ModelName }),
  limit: 'read',
  idempotency: 'none',
  output: z.object({
    model: z.string(),
    versions: z.array(PriceVersionSchema).readonly(),
  }),
  run: async (ctx, _actor, input): Promise<{ readonly model: string; readonly versions: readonly PriceVersion[] }> => {
    const model = await findModelByName(ctx.db, input.model)
    if (model === undefined) throw new AppError('not_found')
    const rows = await listPriceVersions(ctx.db, model, MAX_VERSIONS)
    const now = ctx.clock.now()
    const current = rows.find((row) => row.effectiveAt.getTime() <= now)?.version
    const versions = rows.map((row): PriceVersion => {
      const waits = row.effectiveAt.getTime() > now
      return {
        version: row.version,
        effectiveAt: row.effectiveAt.getTime(),
        source: row.source,
        ...shownLines(readPriceLines(row)),
        state: waits ? 'scheduled' : row.version === current ? 'current' : 'past',
      }
    })
    return { model, versions }
  },
})

const PutPricesInput = z.strictObject({
  model: ModelName,
  /**
   * US dollars of one unit as decimal strings, named as in a catalogue. The two lists are complete: a class outside
   * them has no price in this version.
   */
  pricing: CatalogItem.shape.pricing,
  unitPricing: CatalogItem.shape.unit_pricing,
  /** True keeps the conditional prices of the version before. Then `pricing` names none. */
  keepOverrides: z.boolean().default(false),
  source: oneLine(500).trim().min(1),
  /** The instant from which they apply; now when absent. */
  effectiveAt: Instant.optional(),
})

/**
 * Adds a version of a model's prices, from now or from a later instant. Prices equal to the version before add none.
 */
export const putPrices = defineOperation({
  name: 'price.put',
  summary: 'Create a version of a model’s reference prices',
  about: 'The version applies from now or from a later instant. Equal prices create no version.',
  access: 'operator',
  input: PutPricesInput,
  limit: 'none',
  idempotency: 'none',
  output: z.object({
    model: z.string(),
    version: z.string().nullable(),
  }),
  run: async (ctx, actor, input): Promise<{ readonly model: string; readonly version: string | null }> => {
    const now = ctx.clock.now()
    const at = input.effectiveAt ?? now
    if (at < now - MINUTE) {
      throw new AppError('invalid_request', { message: 'effectiveAt must not be in the past.', param: 'effectiveAt' })
    }
    const priceLines = charged(() => priceLinesOf({ pricing: input.pricing, unit_pricing: input.unitPricing }))
    if (input.keepOverrides && priceLines.overrides !== undefined) {
      throw new AppError('invalid_request', {
        message: 'Keep the overrides or send new ones, not both.',
        param: 'keepOverrides',
      })
    }
    const change = async (trx: Trx) => {
      await lockCatalog(trx)
      const { id, endpoints } = await requireModel(trx, input.model)
      charged(() => checkSides({ pricing: input.pricing, unit_pricing: input.unitPricing, endpoints }))
      const [current] = await listPricesAt(trx, at, [id])
      const lastLines = current === undefined ? NO_LINES : readPriceLines(current)
      const lines = input.keepOverrides ? { ...priceLines, overrides: lastLines.overrides } : priceLines
      const before = storedLines(lastLines)
      const fields = changedPrices(lastLines, lines)
      if (fields.length === 0) return { model: id, version: null, before, after: before }
      const version = ctx.ids.ulid()
      const row = { version, model: id, effectiveAt: new Date(at), source: input.source, ...storedLines(lines) }
      await insertPrices(trx, [row])
      const by = { sourceOf: () => input.source, actor: tenantOf(actor), at }
      await recordChanges(ctx, trx, [{ model: id, kind: 'changed', fields }], by)
      return { model: id, version, before, after: storedLines(lines) }
    }
    const { model, version } = await ctx.change(change, (stored) => ({
      subject: stored.model,
      before: stored.before,
      after: { ...stored.after, effectiveAt: at, source: input.source },
    }))
    await ctx.publication.publishSoon(['prices'])
    return { model, version }
  },
})

/** Runs a reader of prices. Throws `invalid_request` for prices that cannot be charged. */
function charged<Read>(read: () => Read): Read {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    throw new AppError('invalid_request', { message: error.message, param: 'unitPricing', cause: error })
  }
}

function shownLines({ unitPrices, overrides = [], minimums = {} }: PriceLines): ShownLines {
  return {
    minimums,
    unitPrices: writeUnitPrices(unitPrices),
    overrides: overrides.map(({ name, when, unitPrices: own }) => ({
      conditions: name,
      when,
      unitPrices: writeUnitPrices(own),
    })),
  }
}

type ShownLines = Pick<PriceVersion, 'unitPrices' | 'overrides' | 'minimums'>
