import { z } from 'zod'
import { ENDPOINTS, ModelSchema } from '#shared/catalog/model.ts'
import { ProviderSchema } from '#shared/catalog/providers.ts'
import { ResourceSchema } from '#shared/catalog/resources.ts'
import { MinimumsSchema, PriceOverridesSchema } from '#shared/price-list.ts'
import { UnitPricesSchema } from '#shared/pricing.ts'
import { ProtocolNameSchema } from '#shared/protocols/index.ts'
import { KeptBpsNumber, MicroUsdText } from './micro-usd-text.ts'
import { SealedCredentialSchema } from './sealed-credential.ts'
import { TradesText } from './trades.ts'

/**
 * The documents for the data plane. Each has a name and a version that only rises. The index holds every name with its
 * version, and a publication announces the changed names on a channel. The names are `models`, `prices`, `providers`,
 * `resources`, `markets`, `trades`, `sold`, `limits`, `offers:{model}` for each model with offers, and
 * `lent:{resource}` for each resource or family with lent keys.
 */
const SNAPSHOT_SCHEMA_VERSION = 1

/** An offer with all facts for a filter, the ranking and an attempt. */
export const OfferRowSchema = z.object({
  id: z.string().startsWith('ofr_'),
  model: z.string(),
  /** Account the sale is credited to; never shown to a buyer. */
  sellerAccount: z.string().startsWith('acc_'),
  /** The seller's name in a public order book. It is stable and reveals nothing. */
  sellerAlias: z.string(),
  provider: z.string(),
  isTrusted: z.boolean(),
  baseUrl: z.string(),
  apiFormat: ProtocolNameSchema,
  /** The model's name at that provider. */
  providerModel: z.string(),
  keptBps: KeptBpsNumber,
  capDailyMicro: MicroUsdText.nullable(),
  /** The names of the members that its seller allows. Absent without any. */
  passes: z.array(z.string().max(40)).max(40).optional(),
  /** Endpoints of the model on which the offer is not sold. Absent without any. */
  without: z.array(z.enum(ENDPOINTS)).max(ENDPOINTS.length).optional(),
  credential: SealedCredentialSchema,
  /** Class of the measured time to the first token. It breaks ties in price. Null while unknown. */
  ttftMs: z.number().nullable(),
  createdAt: z.number().int(),
})
export type OfferRow = z.infer<typeof OfferRowSchema>

export const OffersDocumentSchema = z.object({ model: z.string(), offers: z.array(OfferRowSchema) })
const ModelsDocumentSchema = z.object({ models: z.array(ModelSchema) })
const ProvidersDocumentSchema = z.object({ providers: z.array(ProviderSchema) })

/** The records of resources and forwarded families. Calls carry the version of the record that priced them. */
export const ResourcesDocumentSchema = z.object({
  resources: z.array(z.object({ version: z.number().int().positive(), record: ResourceSchema })),
})

/** Reference prices by canonical model id, each version with its date and source. */
export const PricesDocumentSchema = z.object({
  prices: z.record(
    z.string(),
    z.object({
      version: z.string(),
      effectiveAt: z.number().int(),
      source: z.string(),
      unitPrices: UnitPricesSchema,
      /** Conditional prices; absent without any. */
      overrides: PriceOverridesSchema.optional(),
      /** The least billed amounts of a request; absent without any. */
      minimums: MinimumsSchema.optional(),
    }),
  ),
})

const Speed = {
  ttftP50Ms: z.number().nullable(),
  ttftSamples: z.number().int(),
  tpsP50: z.number().nullable(),
  tpsSamples: z.number().int(),
}

/**
 * Figures of the last 24 hours of one model. Null means too little data, or calls that are not summed yet, never zero.
 */
export const MarketRowSchema = z.object({
  model: z.string(),
  ...Speed,
  uptimePct: z.number().nullable(),
  cacheHitRatePct: z.number().nullable(),
  requests24h: z.number().int().nullable(),
  volume24hMicro: MicroUsdText.nullable(),
  discountTrend: z
    .object({
      direction: z.enum(['up', 'down', 'flat']),
      currentDiscountPct: z.number(),
      previousDiscountPct: z.number(),
      buckets: z.array(z.object({ bucket: z.number().int(), discountPct: z.number().nullable() })),
    })
    .nullable(),
  providers: z.array(z.object({ provider: z.string(), ...Speed, uptimePct: z.number().nullable() })),
})
export type MarketRow = z.infer<typeof MarketRowSchema>
export const MarketsDocumentSchema = z.object({ rows: z.array(MarketRowSchema) })

/**
 * Sales of each offer over the same hours, one text a model; null until the calls of these hours are summed. An offer
 * without an entry sold nothing.
 */
export const TradesDocumentSchema = z.object({ models: z.record(z.string(), TradesText).nullable() })

export const SoldRowSchema = z.object({
  name: z.string(),
  calls24h: z.number().int(),
  volume24hMicro: MicroUsdText,
  list24hMicro: MicroUsdText,
  calls7d: z.number().int(),
  volume7dMicro: MicroUsdText,
  list7dMicro: MicroUsdText,
})
export type SoldRow = z.infer<typeof SoldRowSchema>

/**
 * Sales of each resource and family, by its name in the ledger, over the last day and the last seven; null until the
 * calls of these days are summed.
 */
export const SoldDocumentSchema = z.object({ rows: z.array(SoldRowSchema).nullable() })

/** Numbers that operators change without a restart. */
export const LimitsDocumentSchema = z.object({
  /** Calls a minute of a key whose record sets none. */
  keyRatePerMinute: z.number().int().positive(),
  /** Calls of one key that may run at once. */
  keyInFlight: z.number().int().positive(),
  /** The platform's share of a charge, taken from the seller's side. */
  platformFeeBps: KeptBpsNumber,
  /** Names of features that are off. A process ignores unknown names. */
  switchedOff: z.array(z.string().max(100)).max(100).default([]),
})
export type Limits = z.infer<typeof LimitsDocumentSchema>

/** Documents with a fixed name, each with its schema. */
export const DOCUMENT_SCHEMAS = {
  models: ModelsDocumentSchema,
  prices: PricesDocumentSchema,
  providers: ProvidersDocumentSchema,
  resources: ResourcesDocumentSchema,
  markets: MarketsDocumentSchema,
  trades: TradesDocumentSchema,
  sold: SoldDocumentSchema,
  limits: LimitsDocumentSchema,
} as const
export type DocumentName = keyof typeof DOCUMENT_SCHEMAS

/** The envelope around every document in Redis and on disk. */
export const DocumentEnvelopeSchema = z.object({
  schema: z.literal(SNAPSHOT_SCHEMA_VERSION),
  name: z.string(),
  version: z.number().int().positive(),
  body: z.unknown(),
})

/** Writes a document around a body that is already JSON. {@link DocumentEnvelopeSchema} parses the text. */
export function writeDocument(name: string, version: number, body: string): string {
  return `{"schema":${SNAPSHOT_SCHEMA_VERSION},"name":${JSON.stringify(name)},"version":${version},"body":${body}}`
}

const ACCOUNT = 'account:'

/**
 * The name of the document of one account's preferences. Such documents have an index of their own and are read with
 * the account's first key.
 */
export function accountDocumentName(account: string): `account:${string}` {
  return `${ACCOUNT}${account}`
}

/** The account of a document's name. Undefined for any other document. */
export function accountOfDocument(name: string): string | undefined {
  return name.startsWith(ACCOUNT) ? name.slice(ACCOUNT.length) : undefined
}

const OFFERS = 'offers:'

export function offersDocumentName(model: string): `offers:${string}` {
  return `${OFFERS}${model}`
}

/** The model in an offers document's name. Undefined for any other document. */
export function modelOfDocument(name: string): string | undefined {
  return name.startsWith(OFFERS) ? name.slice(OFFERS.length) : undefined
}

const LENT = 'lent:'

/** The name of the document of a resource's or a family's lent keys. */
export function lentDocumentName(resource: string): `lent:${string}` {
  return `${LENT}${resource}`
}

/** The resource in a lent document's name. Undefined for any other document. */
export function resourceOfDocument(name: string): string | undefined {
  return name.startsWith(LENT) ? name.slice(LENT.length) : undefined
}
