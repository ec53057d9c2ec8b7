import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { SANDBOX_BEHAVIOUR_ENTRIES, SANDBOX_LAB } from '#dev/provider/behaviours.ts'
import type { Model } from '#shared/catalog/model.ts'
import { DEFAULT_IMAGE_TOKENS, ENDPOINTS } from '#shared/catalog/model.ts'
import type { PicoUsd } from '#shared/money.ts'
import { parseUnitPrice, picoUsd } from '#shared/money.ts'
import type { UnitPrices } from '#shared/pricing.ts'

const Decimal = z.string().regex(/^\d+(\.\d{1,12})?$/)

/** One model as OpenRouter's `/models` gives it, with our canonical id, aliases and per-unit prices beside it. */
const EntrySchema = z.strictObject({
  id: z.string().regex(/^[a-z0-9-]+\/[\w.:-]+$/),
  canonical: z.string(),
  aliases: z.array(z.string()),
  name: z.string(),
  created: z.number().int(),
  description: z.string(),
  context_length: z.number().int(),
  architecture: z.strictObject({ input_modalities: z.array(z.string()), output_modalities: z.array(z.string()) }),
  /** US dollars of one token. */
  pricing: z.strictObject({
    prompt: Decimal,
    completion: Decimal,
    input_cache_read: Decimal.optional(),
    input_cache_write: Decimal.optional(),
    internal_reasoning: Decimal.optional(),
    audio: Decimal.optional(),
  }),
  /** US dollars of one image, one million pixels, one character, one second. */
  unit_pricing: z
    .strictObject({
      images: Decimal.optional(),
      pixels_per_million: Decimal.optional(),
      characters: Decimal.optional(),
      seconds: Decimal.optional(),
    })
    .optional(),
  top_provider: z.strictObject({ context_length: z.number().int(), max_completion_tokens: z.number().int() }),
  supported_parameters: z.array(z.string()),
  supported_features: z.array(z.string()),
  endpoints: z.array(z.enum(ENDPOINTS)).min(1),
})
type Entry = z.infer<typeof EntrySchema>

const CatalogSchema = z.object({ models: z.array(EntrySchema).min(1) })

/** A model with its reference prices. */
export type SeedModel = { readonly model: Model; readonly unitPrices: UnitPrices }

const MEDIA_UNITS = {
  images: 'per image',
  pixels_per_million: 'per megapixel',
  characters: 'per character',
  seconds: 'per second',
} as const

/** The seeded catalogue: real models first, the sandbox models last. Throws a ZodError when the file is malformed. */
export function readCatalog(): readonly SeedModel[] {
  const text = readFileSync(new URL('./catalog.json', import.meta.url), 'utf8')
  const { models } = CatalogSchema.parse(JSON.parse(text))
  return [...models.map(toSeedModel), ...sandboxModels()]
}

/** The free test models, one for each behaviour of the sample provider. */
export function sandboxModels(): readonly SeedModel[] {
  return SANDBOX_BEHAVIOUR_ENTRIES.map(({ id, title, description }) => ({
    model: {
      id,
      lab: SANDBOX_LAB,
      name: title,
      description,
      created: SANDBOX_CREATED,
      aliases: [],
      contextLength: 131_072,
      maxCompletionTokens: 16_384,
      inputModalities: ['text', 'image'],
      outputModalities: ['text'],
      features: ['vision', 'reasoning', 'tools', 'streaming'],
      parameters: SANDBOX_PARAMETERS,
      endpoints: ['chat'],
      imageTokens: DEFAULT_IMAGE_TOKENS,
      isSandbox: true,
      mediaUnit: null,
    },
    unitPrices: { input: picoUsd(0n), output: picoUsd(0n) },
  }))
}

/** Unix seconds; older than every real model, so that no listing by date begins with a sandbox. */
const SANDBOX_CREATED = 1_577_836_800

const SANDBOX_PARAMETERS = [
  'temperature',
  'top_p',
  'max_tokens',
  'max_completion_tokens',
  'stop',
  'stream',
  'seed',
  'tools',
  'tool_choice',
  'response_format',
  'reasoning_effort',
]

function toSeedModel(entry: Entry): SeedModel {
  const [lab = ''] = entry.id.split('/', 1)
  return {
    model: {
      id: entry.canonical,
      lab,
      name: entry.name,
      description: entry.description,
      created: entry.created,
      aliases: entry.aliases,
      contextLength: entry.top_provider.context_length,
      maxCompletionTokens: entry.top_provider.max_completion_tokens,
      inputModalities: entry.architecture.input_modalities,
      outputModalities: entry.architecture.output_modalities,
      features: entry.supported_features,
      parameters: entry.supported_parameters,
      endpoints: entry.endpoints,
      imageTokens: DEFAULT_IMAGE_TOKENS,
      isSandbox: false,
      mediaUnit: mediaUnitOf(entry),
    },
    unitPrices: unitPricesOf(entry),
  }
}

function mediaUnitOf(entry: Entry): string | null {
  const { images, pixels_per_million: pixels, characters, seconds } = entry.unit_pricing ?? {}
  if (images !== undefined) return MEDIA_UNITS.images
  if (pixels !== undefined) return MEDIA_UNITS.pixels_per_million
  if (characters !== undefined) return MEDIA_UNITS.characters
  return seconds === undefined ? null : MEDIA_UNITS.seconds
}

function unitPricesOf({ pricing, unit_pricing: unit = {} }: Entry): UnitPrices {
  const prices = {
    input: price(pricing.prompt),
    output: price(pricing.completion),
    cacheRead: price(pricing.input_cache_read),
    cacheWrite: price(pricing.input_cache_write),
    reasoning: price(pricing.internal_reasoning),
    audioInput: price(pricing.audio),
    images: price(unit.images),
    pixels: price(unit.pixels_per_million, 1_000_000n),
    characters: price(unit.characters),
    milliseconds: price(unit.seconds, 1_000n),
  }
  return Object.fromEntries(Object.entries(prices).filter(([, value]) => value !== undefined))
}

/** The price of one of our units, of which the listed unit has `units`. */
function price(dollars: string | undefined, units = 1n): PicoUsd | undefined {
  if (dollars === undefined) return undefined
  const whole = parseUnitPrice(dollars)
  if (whole % units !== 0n) throw new RangeError(`a price of ${dollars} is finer than a unit price can be`)
  return picoUsd(whole / units)
}
