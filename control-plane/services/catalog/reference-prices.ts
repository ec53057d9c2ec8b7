import { z } from 'zod'
import { findModelByName, insertPrices, listPricesAt, listPriceVersions } from '#control-plane/db/catalog.ts'
import { lockCatalog } from '#control-plane/db/catalog-history.ts'
import type { Database, Trx } from '#control-plane/db/database.ts'
import { tenantOf } from '#control-plane/operation/actor.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
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
import { ImpactSchema, readImpact } from './catalog-impact.ts'
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
  summary: 'Create a version of a model’s list prices',
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
    const at = timeOf(ctx, input.effectiveAt)
    const change = async (trx: Trx) => {
      await lockCatalog(trx)
      const { id, lines, lastLines, fields } = await planPrices(trx, input, at)
      const before = storedLines(lastLines)
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

/** A change of prices before it is applied. */
export const PricePreviewSchema = z
  .object({
    model: z.string(),
    effectiveAt: UnixMs,
    fields: z
      .array(
        z.object({
          field: z.string().describe('A usage class with its conditions.'),
          before: z.string().nullable().describe('Pico-USD of one unit. Null where it has no price.'),
          after: z.string().nullable(),
          changePct: z.number().nullable().describe('The change in %. Null where a price begins or ends.'),
        }),
      )
      .readonly(),
    impact: ImpactSchema,
  })
  .meta({
    id: 'PricePreview',
    description: 'The changes that new prices would make, and the offers, sellers and buyers that they affect.',
  })
export type PricePreview = z.infer<typeof PricePreviewSchema>

/** Shows what `price.put` would change, and which offers, sellers and buyers it affects. Changes nothing. */
export const previewPrices = defineOperation({
  name: 'price.preview',
  summary: 'Show what new prices of a model would change and affect',
  about: 'It takes the prices of price.put and changes nothing.',
  access: 'operator',
  input: PutPricesInput.omit({ source: true }),
  limit: 'read',
  idempotency: 'none',
  output: PricePreviewSchema,
  run: async (ctx, _actor, input): Promise<PricePreview> => {
    const at = timeOf(ctx, input.effectiveAt)
    const { id, fields } = await planPrices(ctx.db, input, at)
    const [impact = { model: id, offers: 0, sellers: 0, buyers: 0 }] = await readImpact(ctx, [id])
    return {
      model: id,
      effectiveAt: at,
      fields: fields.map(({ field, before, after }) => ({
        field: field.replace(/^price\./, ''),
        before: textOf(before),
        after: textOf(after),
        changePct: changeOf(textOf(before), textOf(after)),
      })),
      impact,
    }
  },
})

const textOf = (value: unknown) => (value === null ? null : String(value))

/** The change of a price in %, to a hundredth. */
function changeOf(before: string | null, after: string | null): number | null {
  const [old, next] = [Number(before ?? Number.NaN), Number(after ?? Number.NaN)]
  return Number.isFinite(old) && Number.isFinite(next) && old > 0
    ? Math.round(((next - old) / old) * 10_000) / 100
    : null
}

function timeOf({ clock }: Pick<Ctx, 'clock'>, effectiveAt: number | undefined): number {
  const now = clock.now()
  if (effectiveAt !== undefined && effectiveAt < now - MINUTE) {
    throw new AppError('invalid_request', { message: 'effectiveAt must not be in the past.', param: 'effectiveAt' })
  }
  return effectiveAt ?? now
}

type NewPrices = Pick<z.output<typeof PutPricesInput>, 'model' | 'pricing' | 'unitPricing' | 'keepOverrides'>

/** The new lines of a model beside those in effect at an instant. Throws `invalid_request` and `not_found`. */
async function planPrices(db: Database | Trx, input: NewPrices, at: number) {
  const priceLines = charged(() => priceLinesOf({ pricing: input.pricing, unit_pricing: input.unitPricing }))
  if (input.keepOverrides && priceLines.overrides !== undefined) {
    throw new AppError('invalid_request', {
      message: 'Keep the overrides or send new ones, not both.',
      param: 'keepOverrides',
    })
  }
  const { id, endpoints } = await requireModel(db, input.model)
  charged(() => checkSides({ pricing: input.pricing, unit_pricing: input.unitPricing, endpoints }))
  const [current] = await listPricesAt(db, at, [id])
  const lastLines = current === undefined ? NO_LINES : readPriceLines(current)
  const lines = input.keepOverrides ? { ...priceLines, overrides: lastLines.overrides } : priceLines
  return { id, lines, lastLines, fields: changedPrices(lastLines, lines) }
}

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
