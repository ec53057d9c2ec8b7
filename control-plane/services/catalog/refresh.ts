import { z } from 'zod'
import { insertPrices, listPricesAt } from '#control-plane/db/catalog.ts'
import { lockCatalog } from '#control-plane/db/catalog-history.ts'
import type { Database, Trx } from '#control-plane/db/database.ts'
import { tenantOf } from '#control-plane/operation/actor.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { UnixMs } from '#control-plane/services/view-fields.ts'
import type { PriceLines } from '#shared/price-list.ts'
import { unitPrice } from '#shared/pricing.ts'
import { USAGE_CLASSES } from '#shared/usage.ts'
import type { FieldChange } from './catalog-diff.ts'
import { changedPrices, ModelChangeSchema, NO_LINES } from './catalog-diff.ts'
import { recordChanges } from './catalog-history.ts'
import { CatalogItem, priceLinesOf, storedLines } from './catalog-items.ts'
import type { PlannedModel } from './catalog-plan.ts'
import { planImport, RejectedRowSchema, readPriceLines } from './catalog-plan.ts'
import type { KeptModel } from './kept/kept-models.ts'
import { KEPT, readKeptModels } from './kept/kept-models.ts'
import { storePlan } from './store-plan.ts'

const MAX_MODELS = 1_000
/** The latest instant, for reading all scheduled versions of prices. */
const LAST_INSTANT = Date.parse('9999-01-01T00:00:00Z')
/** A price that changes by more than this factor, up or down, needs the operator's consent. */
const LARGE_FACTOR = 2n

/** A price change, in pico-USD of one unit. A line without a price of its own has the price of its parent class. */
const PriceMoveSchema = z.object({
  model: z.string(),
  /** The usage class, with the conditions of a conditional price. */
  line: z.string(),
  before: z.string().nullable(),
  after: z.string().nullable(),
  /** Percent of the price before, with one decimal. Null when one of the two is missing or zero. */
  percent: z.number().nullable(),
  /** The instant from which it applies, in Unix milliseconds. Null means now. */
  effectiveAt: UnixMs.nullable(),
  source: z.string(),
  /** True for a change by more than a factor of two, which needs consent for its model. */
  isLarge: z.boolean(),
})
export type PriceMove = z.infer<typeof PriceMoveSchema>

/** The difference between the catalogue and the data that this release keeps. */
export const RefreshReportSchema = z.object({
  /** The number of models of the kept data, and their ids. */
  models: z.number(),
  known: z.array(z.string()).readonly(),
  added: z.array(z.object({ model: z.string(), source: z.string() })).readonly(),
  /** Models whose fields change, prices included. */
  changes: z.array(ModelChangeSchema).readonly(),
  moved: z.array(PriceMoveSchema).readonly(),
  /** Models of an earlier refresh that the kept data has no longer. They stay. */
  gone: z.array(z.object({ model: z.string(), source: z.string() })).readonly(),
  /**
   * Models that stay unchanged: those with an operator's own prices, and those with large price changes that no
   * operator has accepted.
   */
  waiting: z
    .array(z.object({ model: z.string(), why: z.enum(['own_prices', 'large_move']), source: z.string() }))
    .readonly(),
  /** Models of the kept data with a line that cannot be charged. */
  unread: z.array(z.object({ model: z.string(), message: z.string() })).readonly(),
  rejected: z.array(RejectedRowSchema).readonly(),
})
export type RefreshReport = z.infer<typeof RefreshReportSchema>

const RefreshInput = z.strictObject({
  /** True replaces prices that an operator set, too. */
  overwrite: z.boolean().default(false),
  /** Models whose prices may change by more than a factor of two: their ids, or `all`. */
  accept: z.union([z.literal('all'), z.array(CatalogItem.shape.canonical).max(MAX_MODELS)]).default([]),
})
type RefreshInput = z.output<typeof RefreshInput>

/** Shows what {@link refreshCatalog} would change. */
export const compareCatalog = defineOperation({
  name: 'catalog.compare',
  summary: 'Compare the catalogue with the data of this release',
  access: 'operator',
  input: RefreshInput,
  limit: 'read',
  idempotency: 'none',
  output: RefreshReportSchema,
  run: async (ctx, _actor, input): Promise<RefreshReport> => {
    const { report } = await planRefresh(ctx.db, ctx.clock.now(), input)
    return report
  },
})

/**
 * Brings the catalogue to the models and prices that this release knows. Prices of a later date are scheduled. An
 * operator's prices stay, and a price change by more than a factor of two waits until its model is named.
 */
export const refreshCatalog = defineOperation({
  name: 'catalog.refresh',
  summary: 'Update the catalogue to the data of this release',
  about:
    'Prices that an operator set stay. A price that changes by more than a factor of two waits until you name its model.',
  access: 'operator',
  input: RefreshInput,
  limit: 'none',
  idempotency: 'none',
  output: RefreshReportSchema,
  run: async (ctx, actor, input): Promise<RefreshReport> => {
    const now = ctx.clock.now()
    const change = async (trx: Trx) => {
      await lockCatalog(trx)
      const plan = await planRefresh(trx, now, input)
      await storeRefresh(ctx, trx, plan, { actor: tenantOf(actor), at: now })
      return plan.report
    }
    const report = await ctx.change(change, ({ models, added, changes, moved, waiting }) => ({
      subject: 'catalog',
      before: null,
      after: { models, added: added.length, changed: changes.length, moved: moved.length, waiting: waiting.length },
    }))
    await ctx.publication.publishSoon(['models', 'prices', 'markets'])
    return report
  },
})

/** A version of a model's prices that begins later. */
type LaterPrices = {
  readonly model: string
  readonly from: number
  readonly prices: PriceLines
  readonly fields: readonly FieldChange[]
}

type RefreshPlan = {
  readonly report: RefreshReport
  readonly models: readonly PlannedModel[]
  readonly later: readonly LaterPrices[]
  readonly sourceOf: (model: string) => string
}

/** Plans a refresh at an instant, in Unix milliseconds. Writes nothing. */
export async function planRefresh(db: Database | Trx, now: number, terms: RefreshInput): Promise<RefreshPlan> {
  const { models: keptModels, unread } = await readKeptModels(now)
  const [current, last] = await Promise.all([listPricesAt(db, now), listPricesAt(db, LAST_INSTANT)])
  const standing = new Map(current.map((price) => [price.model, price]))
  const newest = new Map(last.map((price) => [price.model, price]))
  const ownOf = (model: string) =>
    [standing.get(model), newest.get(model)].find((price) => price !== undefined && !price.source.startsWith(KEPT))
  const open = keptModels.filter(({ item }) => terms.overwrite || ownOf(item.canonical) === undefined)
  const waiting: RefreshReport['waiting'][number][] = keptModels.flatMap(({ item }) => {
    const own = terms.overwrite ? undefined : ownOf(item.canonical)
    return own === undefined ? [] : [{ model: item.canonical, why: 'own_prices' as const, source: own.source }]
  })
  const sources = new Map(keptModels.map(({ item, source }) => [item.canonical, source]))
  const sourceOf = (model: string) => sources.get(model) ?? KEPT
  const catalogPlan = await planImport(
    db,
    open.map(({ item }) => item),
    now,
  )
  const keptById = new Map(open.map((model) => [model.item.canonical, model]))
  const models: PlannedModel[] = []
  const later: LaterPrices[] = []
  const moved: PriceMove[] = []
  for (const plan of catalogPlan.models) {
    const { id } = plan.model
    const known = standing.get(id)
    const before = known === undefined ? NO_LINES : readPriceLines(known)
    const own = { model: id, source: sourceOf(id) }
    const scheduled = newest.get(id)
    const next = laterOf(keptById.get(id), now, {
      now: plan.prices,
      stored: scheduled !== undefined && scheduled.effectiveAt.getTime() > now ? readPriceLines(scheduled) : undefined,
    })
    const moves = [
      ...(known === undefined ? [] : movesOf(before, plan.prices, { ...own, effectiveAt: null })),
      ...next.flatMap(({ prices, from }) => movesOf(plan.prices, prices, { ...own, effectiveAt: from })),
    ]
    moved.push(...moves)
    if (moves.some(({ isLarge }) => isLarge) && terms.accept !== 'all' && !terms.accept.includes(id)) {
      waiting.push({ model: id, why: 'large_move', source: sourceOf(id) })
      continue
    }
    models.push(plan)
    later.push(...next)
  }
  const changes = models.flatMap(({ change }) => (change === undefined ? [] : [change]))
  const isKept = new Set(keptModels.map(({ item }) => item.canonical))
  const report: RefreshReport = {
    models: keptModels.length,
    known: [...isKept],
    added: changes.filter(({ kind }) => kind === 'added').map(({ model }) => ({ model, source: sourceOf(model) })),
    changes,
    moved,
    gone: current
      .filter(({ model, source }) => source.startsWith(KEPT) && !isKept.has(model))
      .map(({ model, source }) => ({ model, source })),
    waiting,
    unread,
    rejected: catalogPlan.rejected,
  }
  return { report, models, later, sourceOf }
}

/** The prices of a model that begin after an instant and are not scheduled yet. */
function laterOf(
  keptModel: KeptModel | undefined,
  now: number,
  { now: present, stored }: { readonly now: PriceLines; readonly stored: PriceLines | undefined },
): LaterPrices[] {
  if (keptModel === undefined) return []
  let before = stored ?? present
  return keptModel.prices.flatMap(({ from, pricing }) => {
    if (from === null || from <= now) return []
    const prices = priceLinesOf({ pricing, unit_pricing: keptModel.item.unit_pricing })
    const fields = changedPrices(before, prices)
    before = prices
    return fields.length === 0 ? [] : [{ model: keptModel.item.canonical, from, prices, fields }]
  })
}

type MoveFacts = Pick<PriceMove, 'model' | 'source' | 'effectiveAt'>

/** The lines of a price list that differ from another's. */
export function movesOf(before: PriceLines, after: PriceLines, facts: MoveFacts): PriceMove[] {
  return changedPrices(before, after).flatMap(({ field }) => {
    const line = field.slice('price.'.length)
    if (line === 'conditions' || line.endsWith(' at least')) return []
    const [was, becomes] = [priceOfLine(before, line), priceOfLine(after, line)]
    return [
      {
        ...facts,
        line,
        before: was?.toString() ?? null,
        after: becomes?.toString() ?? null,
        percent: percentOf(was, becomes),
        isLarge: isLargeMove(was, becomes),
      },
    ]
  })
}

/**
 * The price of `input when prompt_tokens>=272001`: the conditional price, else the list price, else that of the parent
 * class.
 */
function priceOfLine({ unitPrices, overrides = [] }: PriceLines, line: string): bigint | undefined {
  const [className = '', conditions] = line.split(' when ')
  const usageClass = USAGE_CLASSES.find((known) => known === className)
  const own = overrides.find(({ name }) => name === conditions)?.unitPrices
  return usageClass === undefined ? undefined : unitPrice({ ...unitPrices, ...own }, usageClass)
}

function percentOf(before: bigint | undefined, after: bigint | undefined): number | null {
  if (before === undefined || after === undefined || before === 0n) return null
  return Number(((after - before) * 1_000n) / before) / 10
}

function isLargeMove(before: bigint | undefined, after: bigint | undefined): boolean {
  if (before === undefined || after === undefined) return false
  return after > LARGE_FACTOR * before || before > LARGE_FACTOR * after
}

async function storeRefresh(
  ctx: Pick<Ctx, 'clock' | 'ids'>,
  trx: Trx,
  { models, later, sourceOf }: RefreshPlan,
  by: { readonly actor: string; readonly at: number },
): Promise<void> {
  await storePlan(ctx, trx, { models }, { ...by, sourceOf })
  await insertPrices(
    trx,
    later.map(({ model, from, prices }) => ({
      model,
      ...storedLines(prices),
      version: ctx.ids.ulid(),
      effectiveAt: new Date(from),
      source: sourceOf(model),
    })),
  )
  for (const { model, from, fields } of later) {
    await recordChanges(ctx, trx, [{ model, kind: 'changed', fields }], { ...by, at: from, sourceOf })
  }
}
