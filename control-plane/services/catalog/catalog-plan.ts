import { z } from 'zod'
import { listBodiesOf, listManualAliases, listModelsByName, listPricesAt } from '#control-plane/db/catalog.ts'
import type { Database, Trx } from '#control-plane/db/database.ts'
import type { Model } from '#shared/catalog/model.ts'
import { ModelSchema } from '#shared/catalog/model.ts'
import type { PriceLines } from '#shared/price-list.ts'
import { MinimumsSchema, PriceOverridesSchema } from '#shared/price-list.ts'
import { UnitPricesSchema } from '#shared/pricing.ts'
import { oneLine } from '#shared/texts.ts'
import type { ModelChange } from './catalog-diff.ts'
import { changeOf, NO_LINES } from './catalog-diff.ts'
import { modelOf, priceLinesOf } from './catalog-items.ts'
import { CatalogRow, canonicalOf, checkSides, completeRow } from './catalog-rows.ts'

/** A rejected row, by its index in the list from 0. */
export const RejectedRowSchema = z.object({
  index: z.number(),
  id: z.string().nullable(),
  field: z.string().nullable(),
  message: z.string(),
})
export type RejectedRow = z.infer<typeof RejectedRowSchema>

/** A model after the import. */
export type PlannedModel = {
  readonly model: Model
  readonly prices: PriceLines
  /** Undefined when the import does not change the model. */
  readonly change: ModelChange | undefined
}

export type CatalogPlan = { readonly models: readonly PlannedModel[]; readonly rejected: readonly RejectedRow[] }

type NamedRow = { readonly index: number; readonly row: CatalogRow; readonly name: string }

/**
 * Plans the changes of an import. It compares prices with those in effect at `at` (Unix milliseconds). Writes nothing.
 */
export async function planImport(db: Database | Trx, rows: readonly unknown[], at: number): Promise<CatalogPlan> {
  const rejected: RejectedRow[] = []
  const namedRows = await nameRows(db, readRows(rows, rejected), rejected)
  const ids = namedRows.map(({ name }) => name)
  const [bodies, prices, manual] = await Promise.all([
    listBodiesOf(db, ids),
    listPricesAt(db, at, ids),
    listManualAliases(db, ids),
  ])
  const models = new Map(bodies.map((body) => ModelSchema.parse(body)).map((model) => [model.id, model]))
  const pricesOf = new Map(prices.map((price) => [price.model, readPriceLines(price)]))
  const plannedModels: PlannedModel[] = []
  for (const entry of namedRows) {
    try {
      const knownModel = models.get(entry.name)
      const aliases = manual.filter(({ model }) => model === entry.name).map(({ alias }) => alias)
      plannedModels.push(planModel(entry, { knownModel, current: pricesOf.get(entry.name) ?? NO_LINES, aliases }))
    } catch (error) {
      rejected.push({ index: entry.index, id: entry.row.id, ...problemOf(error) })
    }
  }
  return { models: plannedModels, rejected: rejected.sort((left, right) => left.index - right.index) }
}

/** Reads a stored version of prices. */
export function readPriceLines(storedLines: StoredLines): PriceLines {
  const overrides = PriceOverridesSchema.parse(storedLines.overrides)
  const minimums = MinimumsSchema.parse(storedLines.minimums)
  return {
    unitPrices: UnitPricesSchema.parse(storedLines.unitPrices),
    ...(overrides.length > 0 && { overrides }),
    ...(Object.keys(minimums).length > 0 && { minimums }),
  }
}

type StoredLines = { readonly unitPrices: unknown; readonly overrides: unknown; readonly minimums: unknown }

/** A row that is no model of a catalogue, with an id by which the report can name it. */
const NamedRow = z.object({ id: oneLine(200) })

function readRows(rows: readonly unknown[], rejected: RejectedRow[]): { index: number; row: CatalogRow }[] {
  return rows.flatMap((raw, index) => {
    const parsed = CatalogRow.safeParse(raw)
    if (parsed.success) return [{ index, row: parsed.data }]
    const id = NamedRow.safeParse(raw)
    rejected.push({ index, id: id.success ? id.data.id : null, ...problemOf(parsed.error) })
    return []
  })
}

/** Resolves the model of each row. When two rows name one model, the first counts. */
async function nameRows(
  db: Database | Trx,
  rows: readonly { index: number; row: CatalogRow }[],
  rejected: RejectedRow[],
): Promise<NamedRow[]> {
  const names = rows.flatMap(({ row }) => [row.id, canonicalOf(row) ?? row.id])
  const modelOfAlias = new Map((await listModelsByName(db, names)).map(({ alias, model }) => [alias, model]))
  const seenIds = new Set<string>()
  const namedRows: NamedRow[] = []
  for (const { index, row } of rows) {
    const own = canonicalOf(row)
    const byId = modelOfAlias.get(row.id.toLowerCase())
    const name = row.canonical ?? byId ?? own
    const refuse = (message: string) => rejected.push({ index, id: row.id, field: 'id', message })
    if (name === undefined) refuse('a variant of a model is no model of its own')
    else if (row.canonical === undefined && byId === undefined && modelOfAlias.has(name.toLowerCase())) {
      refuse(`another model has the name ${name}: add the canonical id of this model`)
    } else if (seenIds.has(name)) refuse(`the list has the model ${name} twice`)
    else {
      seenIds.add(name)
      namedRows.push({ index, row, name })
    }
  }
  return namedRows
}

type Standing = {
  readonly knownModel: Model | undefined
  readonly current: PriceLines
  /** Manual names. */
  readonly aliases: readonly string[]
}

/** Usage classes that an import without media prices leaves unchanged. */
const MEDIA_CLASSES = [
  'images',
  'images2k',
  'images4k',
  'pixels',
  'characters',
  'milliseconds',
  'milliseconds1080p',
  'milliseconds4k',
] as const

function planModel({ row, name }: NamedRow, { knownModel, current, aliases }: Standing): PlannedModel {
  const item = completeRow(row, name, knownModel)
  checkSides(item)
  const described = modelOf(item)
  const names = [...new Set([...described.aliases, ...aliases])]
  const keepsMedia = row.unit_pricing === undefined && knownModel !== undefined
  const model = ModelSchema.parse({
    ...described,
    // The lab is part of a model's name, so an import that names another lab does not change it.
    lab: row.canonical === undefined ? (knownModel?.lab ?? described.lab) : described.lab,
    aliases: names,
    mediaUnit: keepsMedia ? knownModel.mediaUnit : described.mediaUnit,
  })
  const kept = MEDIA_CLASSES.flatMap((media) => {
    const price = current.unitPrices[media]
    return price === undefined ? [] : [[media, price]]
  })
  const priceLines = priceLinesOf(item)
  // An import without `overrides` leaves the stored ones. An empty list removes them.
  const overrides = row.pricing.overrides === undefined ? current.overrides : priceLines.overrides
  const unitPrices = keepsMedia ? { ...priceLines.unitPrices, ...Object.fromEntries(kept) } : priceLines.unitPrices
  const prices = { unitPrices, overrides, minimums: keepsMedia ? current.minimums : priceLines.minimums }
  const before = knownModel === undefined ? undefined : { model: knownModel, prices: current }
  return { model, prices, change: changeOf(before, { model, prices }) }
}

function problemOf(error: unknown): { field: string | null; message: string } {
  if (error instanceof z.ZodError) {
    const issue = error.issues[0]
    return { field: issue?.path.map(String).join('.') || null, message: issue?.message ?? 'not valid' }
  }
  if (error instanceof RangeError) return { field: 'pricing', message: error.message }
  throw error
}
