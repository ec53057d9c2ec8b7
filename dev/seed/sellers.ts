import { readFileSync } from 'node:fs'
import { z } from 'zod'
import type { Model } from '#shared/catalog/model.ts'
import type { ProtocolName } from '#shared/protocols/index.ts'
import { canServe, DEFAULT_PROTOCOL, needOfEndpoint, ProtocolNameSchema } from '#shared/protocols/index.ts'

const BookSchema = z.strictObject({
  provider: z.string(),
  /** Percent off the reference price for models without an entry in `discounts`. */
  discount_pct: z.number(),
  discounts: z.record(z.string(), z.number()),
  /** The protocol of the provider's side. */
  api_format: ProtocolNameSchema.default(DEFAULT_PROTOCOL),
  /**
   * The offered models that the protocol serves. `sandbox/*` means all free ones. When absent: all models except
   * `except_models`, and the sandbox models.
   */
  models: z.array(z.string()).optional(),
  /** Models with prices from the package, also for a book without `models`. */
  packaged_models: z.array(z.string()).default([]),
  except_models: z.array(z.string()).optional(),
  /** The provider's own names of models, where they differ from the market's. */
  provider_models: z.record(z.string(), z.string()).default({}),
})
type Book = z.infer<typeof BookSchema>

const SeedLentKeySchema = z.strictObject({
  resource: z.string(),
  discount_pct: z.number().int(),
  traits: z.array(z.string()).default([]),
})

const SellersSchema = z.object({
  providers: z.array(
    z.strictObject({
      id: z.string(),
      name: z.string(),
      host: z.ipv4(),
      trusted: z.boolean(),
      queue: z.boolean().default(false),
    }),
  ),
  sellers: z.array(
    z.strictObject({
      id: z.string(),
      name: z.string(),
      lends: z.array(SeedLentKeySchema).default([]),
      books: z.array(BookSchema),
    }),
  ),
})

/** A sample provider of the development network. It has an address of its own, so that one can be killed. */
export type SandboxProvider = {
  readonly id: string
  readonly name: string
  readonly host: string
  readonly isTrusted: boolean
  /** True for the host of provider-h's queue. */
  readonly isQueue: boolean
}

/** The offers of one seller at one provider. */
export type SeedBook = {
  readonly provider: string
  readonly apiFormat: ProtocolName
  readonly offers: readonly {
    readonly model: string
    readonly providerModel: string
    readonly discountPercent: number
  }[]
}

/** A provider key that a seller lends. */
export type SeedLentKey = {
  readonly resource: string
  readonly discountPercent: number
  /** Traits that the seller declares. */
  readonly traits: readonly string[]
}

export type SeedSeller = {
  readonly id: string
  readonly name: string
  readonly lentKeys: readonly SeedLentKey[]
  readonly books: readonly SeedBook[]
}

/** Reads the sample providers, which the launcher starts. */
export function readSandboxProviders(): readonly SandboxProvider[] {
  return SellersSchema.parse(readJson('./sellers.json')).providers.map(({ trusted, queue, ...provider }) => ({
    ...provider,
    isTrusted: trusted,
    isQueue: queue,
  }))
}

/**
 * Reads the seeded sellers, with every offer in full. `packaged` are the ids of models that only some sellers offer, so
 * that a market starts as fast as before.
 */
export function readSellers(models: readonly Model[], packaged: ReadonlySet<string>): readonly SeedSeller[] {
  return SellersSchema.parse(readJson('./sellers.json')).sellers.map(({ lends, ...seller }) => ({
    ...seller,
    lentKeys: lends.map(({ resource, discount_pct, traits }) => ({ resource, discountPercent: discount_pct, traits })),
    books: seller.books.map((book) => ({
      provider: book.provider,
      apiFormat: book.api_format,
      offers: offersOf(book, models, packaged),
    })),
  }))
}

function offersOf(book: Book, models: readonly Model[], packaged: ReadonlySet<string>): SeedBook['offers'] {
  const isListed = (model: Model) =>
    book.models === undefined
      ? !book.except_models?.includes(model.id) && (!packaged.has(model.id) || book.packaged_models.includes(model.id))
      : book.models.includes(model.id) || (model.isSandbox && book.models.includes('sandbox/*'))
  // Lists show the newest offers first, and no list should begin with the fault models of the sandbox.
  const inOrder = models.toSorted((left, right) => Number(right.isSandbox) - Number(left.isSandbox))
  const isSpoken = ({ endpoints }: Model) =>
    endpoints.some((endpoint) => canServe({ apiFormat: book.api_format }, needOfEndpoint(endpoint)))
  return inOrder
    .filter((model) => isListed(model) && isSpoken(model))
    .map((model) => ({
      model: model.id,
      providerModel: book.provider_models[model.id] ?? model.id,
      discountPercent: model.isSandbox ? 0 : (book.discounts[model.id] ?? book.discount_pct),
    }))
}

function readJson(name: string): unknown {
  return JSON.parse(readFileSync(new URL(name, import.meta.url), 'utf8'))
}
