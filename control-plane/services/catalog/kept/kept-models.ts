import { z } from 'zod'
import type { CatalogItem } from '#control-plane/services/catalog/catalog-items.ts'
import { CatalogItem as Item } from '#control-plane/services/catalog/catalog-items.ts'
import { formatUnitPrice, parseUnitPrice, picoUsd } from '#shared/money.ts'
import { Region, SERVICE_TIERS } from '#shared/price-list.ts'
import { byText } from '#shared/text-order.ts'
import FAMILIES from './families.json' with { type: 'json' }
import MODELS from './models.json' with { type: 'json' }
import type { DatedPricing, Pricing } from './package-prices.ts'
import { readPackagePrices } from './package-prices.ts'

const Source = z.strictObject({ url: z.url(), date: z.iso.date() })
const { pricing, architecture, aliases, supported_parameters, endpoints } = Item.shape

/** A model whose prices and facts are written by hand. Media prices name their source. */
const HandModel = Item.extend({ price_source: Source.optional() }).refine(
  ({ unit_pricing: units, price_source: source }) => units === undefined || source !== undefined,
  'a price of media has its source and date',
)

const FamilyModel = z.strictObject({
  /** The id of the model in the package. */
  id: z.string(),
  canonical: z.string().optional(),
  aliases: aliases.default([]),
  name: z.string().optional(),
  context: z.int().positive().optional(),
  /** The day of its release, or the earliest day of its known use. Floating names follow it. */
  created: z.iso.date().optional(),
  /** Prices of a model that the package does not have, with their source. */
  pricing: pricing.optional(),
  source: Source.optional(),
  /** Prices that replace the package's, and the reason. */
  set: pricing.partial().optional(),
  why: z.string().optional(),
})

/** A factor as a fraction. */
const Factor = z.tuple([z.int().positive(), z.int().positive()])

/** The factor for every token price in a service tier. `isLongToo` is false for a tier without long contexts. */
const Tier = z.strictObject({
  times: Factor,
  isLongToo: z.boolean().default(true),
})

/** Models that one provider of the package prices by the same rules. Their other facts are written by hand. */
const Priced = z.strictObject({
  provider: z.string(),
  tiers: z.partialRecord(z.enum(SERVICE_TIERS), Tier).default({}),
  tier_source: Source.optional(),
  /** Regions that a call may ask for, and the factor for every token price there. */
  regions: z.strictObject({ names: z.array(Region).min(1), times: Factor }).optional(),
  region_source: Source.optional(),
  /** The days on which prices of a time window apply. The package has the windows only. */
  calendar: z
    .strictObject({
      utc_days: z.array(z.string()),
      except_dates: z.array(z.iso.date()),
      why: z.string(),
      source: Source,
    })
    .optional(),
  models: z.array(FamilyModel).min(1),
})
type Priced = z.infer<typeof Priced>

/** Models of one lab that share further facts. */
const Family = Priced.extend({
  lab: z.string(),
  parameters: z.string(),
  input: architecture.shape.input_modalities,
  output: architecture.shape.output_modalities.default(['text']),
  output_limit: z.int().positive(),
  endpoints: endpoints.default(['chat']),
})
type Family = z.infer<typeof Family>
type FamilyModel = z.infer<typeof FamilyModel>
type Override = NonNullable<Pricing['overrides']>[number]

const Families = z.strictObject({
  /** The version of the package that the records were compared with, and the day of its newest price. */
  package: z.strictObject({ version: z.string(), date: z.iso.date() }),
  parameters: z.record(z.string(), supported_parameters),
  families: z.array(z.union([Family, Priced])),
})

const Hand = z.strictObject({ source: z.string(), models: z.array(HandModel) })

/** A model of the kept data. `prices` has all prices over time, the earliest first; `item` has today's. */
export type KeptModel = {
  readonly item: CatalogItem
  readonly prices: readonly DatedPricing[]
  /** The source of its prices and the day on which they were read. */
  readonly source: string
  /** The place of the model in the package. Undefined for a model that is written by hand. */
  readonly packaged?: { readonly provider: string; readonly model: string }
  /** The reason why its prices differ from the package's. */
  readonly doubt?: string
}

/** A model of the records that the catalogue cannot take, with the faulty line. */
export type UnreadModel = { readonly model: string; readonly message: string }

/** The prefix of kept sources, which distinguishes them from an operator's prices. */
export const KEPT = 'release data: '

/**
 * The models that this release knows, with their prices over time: first the models that are written by hand, then
 * those of the price package. `at` is in Unix milliseconds. The function uses no network.
 */
export async function readKeptModels(
  at: number,
): Promise<{ readonly models: readonly KeptModel[]; readonly unread: readonly UnreadModel[] }> {
  // The package holds half a megabyte of data, so a process loads it on first use.
  const { findProvider } = await import('@pydantic/genai-prices')
  const hand = Hand.parse(MODELS)
  const { families, parameters, package: version } = Families.parse(FAMILIES)
  const models = new Map<string, KeptModel>()
  for (const { price_source: source, ...item } of hand.models) {
    const sourceText = source === undefined ? hand.source : `${source.url}, ${source.date}`
    models.set(item.canonical, { item, prices: [{ from: null, pricing: item.pricing }], source: KEPT + sourceText })
  }
  const unread: UnreadModel[] = []
  const takenNames = new Set([...models.values()].flatMap(({ item }) => namesOf(item)))
  for (const family of families) {
    const packageModels = new Map(
      findProvider({ providerId: family.provider })?.models.map((model) => [model.id, model]),
    )
    for (const record of family.models) {
      try {
        const packaged = packageModels.get(record.id)
        if (packaged === undefined && record.pricing === undefined)
          throw new RangeError('the price package has no such model')
        const canonical = canonicalOf(record)
        const described =
          models.get(canonical)?.item ?? describe({ family, record, packaged, parameters, taken: takenNames })
        const prices = pricesOf({ family, record, packaged, described })
        const present = pricingNow(prices, at)
        const features = [...described.supported_features, ...(present?.input_cache_read ? ['prompt_caching'] : [])]
        const item = Item.parse({ ...described, supported_features: [...new Set(features)], pricing: present })
        for (const name of namesOf(item)) takenNames.add(name)
        models.set(canonical, { item, prices, ...originOf(family, record, version) })
      } catch (error) {
        unread.push({ model: `${family.provider}/${record.id}`, message: messageOf(error) })
      }
    }
  }
  return { models: [...models.values()], unread }
}

/** The models that are written by hand, and the names of the others, without loading the price package. */
export function readKeptNames(): { readonly written: readonly CatalogItem[]; readonly named: readonly string[] } {
  const { families } = Families.parse(FAMILIES)
  const items = Hand.parse(MODELS).models.map(({ price_source: _source, ...item }) => item)
  const isWritten = new Set(items.map(({ canonical }) => canonical))
  const others = families.flatMap(({ models }) => models).filter((record) => !isWritten.has(canonicalOf(record)))
  const namesOfRecord = (record: FamilyModel) => [
    canonicalOf(record),
    record.id.slice(record.id.indexOf('/') + 1),
    ...record.aliases,
  ]
  return { written: items, named: others.flatMap(namesOfRecord) }
}

/** The prices in force at an instant. */
function pricingNow(prices: readonly DatedPricing[], at: number): Pricing | undefined {
  return prices.findLast(({ from }) => from === null || from <= at)?.pricing
}

function canonicalOf({ id, canonical }: FamilyModel): string {
  return canonical ?? id.slice(id.indexOf('/') + 1)
}

type Packaged = Parameters<typeof readPackagePrices>[0] & {
  readonly name?: string
  readonly description?: string
  readonly context_window?: number
}

type ToPrice = {
  readonly family: Priced
  readonly record: FamilyModel
  readonly packaged: Packaged | undefined
  readonly described: Pick<CatalogItem, 'endpoints'>
}

function pricesOf({ family, record, packaged, described }: ToPrice): readonly DatedPricing[] {
  const hasNoOutput = described.endpoints.every((endpoint) => endpoint === 'embeddings')
  const packagePrices =
    record.pricing === undefined && packaged !== undefined
      ? readPackagePrices(packaged, { hasNoOutput })
      : [{ from: null, pricing: pricing.parse(record.pricing) }]
  return packagePrices.map(({ from, pricing: own }) => ({
    from,
    pricing: withRegions(withTiers(onDays(pricing.parse({ ...own, ...record.set }), family), family), family),
  }))
}

/** Prices of a time window apply on the days of the family's calendar only. */
function onDays(prices: Pricing, { calendar }: Priced): Pricing {
  if (calendar === undefined || prices.overrides === undefined) return prices
  const { utc_days, except_dates } = calendar
  const overrides = prices.overrides.map((override) =>
    override.utc_start === undefined ? override : { ...override, utc_days, except_dates },
  )
  return { ...prices, overrides }
}

/** Lines whose price is per token. A service tier multiplies them, and leaves fees of searches and requests. */
const TOKEN_LINES = [
  'prompt',
  'completion',
  'input_cache_read',
  'input_cache_write',
  'input_cache_write_1h',
  'input_audio_cache',
  'internal_reasoning',
  'audio',
  'audio_output',
  'image_token',
  'image_output',
] as const

function withTiers(prices: Pricing, { tiers }: Priced): Pricing {
  const { overrides = [] } = prices
  const tiered = Object.entries(tiers).flatMap(([service_tier, { times, isLongToo }]) => {
    const lists = [prices, ...(isLongToo ? overrides : [])]
    const tier = SERVICE_TIERS.find((serviceTier) => serviceTier === service_tier)
    return lists.flatMap((list) => timesList(list, times).map((line) => ({ ...line, service_tier: tier })))
  })
  return tiered.length === 0 ? prices : { ...prices, overrides: [...overrides, ...tiered] }
}

/** Adds every line of a list for each region of its family. */
function withRegions(prices: Pricing, { regions }: Priced): Pricing {
  if (regions === undefined) return prices
  const { overrides = [] } = prices
  const regional = [prices, ...overrides].flatMap((list) =>
    timesList(list, regions.times).map((line) => ({ ...line, regions: regions.names })),
  )
  return { ...prices, overrides: [...overrides, ...regional] }
}

/** The token prices of a list times a factor, under its conditions. Empty for a list of fees alone. */
function timesList(list: Pricing | Override, times: z.infer<typeof Factor>): Override[] {
  const { web_search: _search, request: _request, ...conditions } = list
  const lines = timesLines(list, times)
  const { overrides: _overrides, ...rest } = { overrides: undefined, ...conditions }
  return Object.keys(lines).length === 0 ? [] : [{ ...rest, ...lines }]
}

type TokenLines = { readonly [Line in (typeof TOKEN_LINES)[number]]?: string | undefined }

function timesLines(list: TokenLines, [times, by]: readonly [number, number]): TokenLines {
  const lines = TOKEN_LINES.flatMap((line) => {
    const price = list[line]
    if (price === undefined) return []
    const product = parseUnitPrice(price) * BigInt(times)
    if (product % BigInt(by) !== 0n) throw new RangeError(`${line}: a tier's price is finer than 1e-12 US dollars`)
    return [[line, formatUnitPrice(picoUsd(product / BigInt(by)))]]
  })
  return Object.fromEntries(lines)
}

type Described = {
  readonly family: Family | Priced
  readonly record: FamilyModel
  readonly packaged: Packaged | undefined
  readonly parameters: Readonly<Record<string, readonly string[]>>
  /** Names of other models. */
  readonly taken: ReadonlySet<string>
}

/** The package's names for a model share one price, and may belong to several models. */
function describe({ family, record, packaged, parameters, taken }: Described) {
  const canonical = canonicalOf(record)
  if (!('lab' in family) || record.created === undefined)
    throw new RangeError('the model has no lab or no release date')
  const context = record.context ?? packaged?.context_window
  if (context === undefined) throw new RangeError('context_length: the length of the context is missing')
  const name = record.name ?? packaged?.name ?? canonical
  // The package lists names by price, so its names for one model may also belong to other models.
  const givenNames = [...record.aliases, record.id.slice(record.id.indexOf('/') + 1)]
  const own = new Set([canonical, `${family.lab}/${canonical}`].map((text) => text.toLowerCase()))
  const isFree = (text: string) => !own.has(text.toLowerCase()) && !taken.has(text.toLowerCase())
  const listed = parameters[family.parameters]
  if (listed === undefined) throw new RangeError(`parameters: no list is called ${family.parameters}`)
  return {
    id: `${family.lab}/${canonical}`,
    canonical,
    aliases: [...new Set(givenNames.filter(isFree))].sort(byText),
    name,
    created: Date.parse(`${record.created}T00:00:00Z`) / 1_000,
    description: packaged?.description ?? '',
    context_length: context,
    architecture: { input_modalities: family.input, output_modalities: family.output },
    top_provider: { max_completion_tokens: Math.min(family.output_limit, context) },
    supported_parameters: listed,
    supported_features: featuresOf(family, listed),
    endpoints: family.endpoints,
  }
}

function featuresOf({ input, output }: Family, parameters: readonly string[]): string[] {
  const claims: readonly (readonly [string, boolean])[] = [
    ['vision', input.includes('image')],
    ['file_input', input.includes('file')],
    ['reasoning', parameters.includes('reasoning')],
    ['tools', parameters.includes('tools')],
    ['streaming', output.includes('text')],
    ['structured_outputs', parameters.includes('structured_outputs')],
  ]
  return claims.flatMap(([feature, isTrue]) => (isTrue ? [feature] : []))
}

/** The sources of a model's prices, and its place in the package. */
function originOf(
  { provider, calendar, tier_source: tierSource, region_source: regionSource }: Priced,
  { id, pricing: written, source, why }: FamilyModel,
  version: { readonly version: string; readonly date: string },
): Pick<KeptModel, 'source' | 'packaged' | 'doubt'> {
  const statements = [
    ...(written === undefined ? [`genai-prices ${version.version}, ${provider}, ${version.date}`] : []),
    ...[source, tierSource, regionSource, calendar?.source].flatMap((each) =>
      each === undefined ? [] : [`${each.url}, ${each.date}`],
    ),
  ]
  const doubt = why ?? calendar?.why
  return {
    source: KEPT + statements.join('; '),
    ...(written === undefined && { packaged: { provider, model: id } }),
    ...(doubt !== undefined && { doubt }),
  }
}

function namesOf({ id, canonical, aliases: given }: CatalogItem): string[] {
  return [id, canonical, ...given].map((name) => name.toLowerCase())
}

function messageOf(error: unknown): string {
  if (error instanceof z.ZodError) {
    const issue = error.issues[0]
    return `${issue?.path.map(String).join('.')}: ${issue?.message}`
  }
  if (error instanceof RangeError) return error.message
  throw error
}
