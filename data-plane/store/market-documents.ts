import { z } from 'zod'
import type { MarketOffer } from '#data-plane/call.ts'
import { LentDocumentSchema } from '#shared/contract/lent-offers.ts'
import type { DocumentName, OfferRow } from '#shared/contract/snapshot.ts'
import {
  DOCUMENT_SCHEMAS,
  DocumentEnvelopeSchema,
  modelOfDocument,
  OfferRowSchema,
  OffersDocumentSchema,
  resourceOfDocument,
} from '#shared/contract/snapshot.ts'
import type { KeptBps, MicroUsd } from '#shared/money.ts'
import { compileResource } from '#shared/resources/compile-resource.ts'
import type { OfferBook } from '#shared/routing/offer-book.ts'
import { createOfferBook } from '#shared/routing/offer-book.ts'
import type { MarketBodies } from './market.ts'
import { EMPTY_BODIES, rankOffers } from './market.ts'

/** Offers checked between two pauses. They take some milliseconds of work, and calls are served in between. */
const OFFERS_AT_ONCE = 250

/**
 * Counts of accepted and refused documents, and versions by name. `offers` is the newest version among all models'
 * offers.
 */
export type DocumentFigures = {
  readonly held: number
  readonly refused: number
  readonly versions: ReadonlyMap<string, number>
}

/** The documents of the market, as they were last accepted. */
export type MarketDocuments = {
  parts(): MarketBodies
  /** Takes the changes since the last call for the copy on disk: texts by name, null for a removed document. */
  takeChanged(): ReadonlyMap<string, string | null>
  /** The size of those changes in characters. */
  changedChars(): number
  /** Puts back changes that could not be saved. */
  returnChanged(documents: ReadonlyMap<string, string | null>): void
  /**
   * Accepts one document. Throws for a text that is not a valid document of that name, and changes nothing then. Only
   * one may be in work at a time.
   */
  take(name: string, text: string): Promise<void>
  /** Remembers that this version was invalid, so that it is not fetched again. */
  refuse(name: string, version: number): void
  /** Names in the index whose version is neither accepted nor refused. */
  wantedNames(index: Readonly<Record<string, string>>): string[]
  /** Drops the offers of models and resources that are no longer in the index. Returns the number of documents. */
  dropMissing(index: Readonly<Record<string, string>>): number
  figures(): DocumentFigures
}

/** `rest` lets other work run for a moment. */
export function createMarketDocuments(rest: () => Promise<void>): MarketDocuments {
  const reading = { rest, shareValues: createSharing() }
  let parts: MarketBodies = EMPTY_BODIES
  const versions = new Map<string, number>()
  const refusedVersions = new Map<string, number>()
  let changedDocuments = new Map<string, string | null>()
  return {
    changedChars: () => {
      let chars = 0
      for (const text of changedDocuments.values()) chars += text?.length ?? 0
      return chars
    },
    parts: () => parts,
    takeChanged() {
      const takenDocuments = changedDocuments
      changedDocuments = new Map()
      return takenDocuments
    },
    returnChanged(takenDocuments) {
      changedDocuments = new Map([...takenDocuments, ...changedDocuments])
    },
    async take(name, text) {
      const envelope = DocumentEnvelopeSchema.parse(JSON.parse(text))
      if (envelope.name !== name) throw new Error('the document has another name')
      if (isOffersName(name)) parts = withOffers(parts, await readOffers(envelope.body, reading))
      else if (isLentName(name)) parts = withLent(parts, LentDocumentSchema.parse(envelope.body))
      else parts = withDocument(parts, name, envelope.body)
      versions.set(name, envelope.version)
      changedDocuments.set(name, text)
      refusedVersions.delete(name)
    },
    refuse: (name, version) => void refusedVersions.set(name, version),
    wantedNames: (index) =>
      Object.keys(index).filter((name) => {
        const version = Number(index[name])
        return isMarketName(name) && versions.get(name) !== version && refusedVersions.get(name) !== version
      }),
    dropMissing(index) {
      const goneNames = [...versions.keys()].filter((name) => hasOffers(name) && index[name] === undefined)
      for (const name of goneNames) {
        parts = isLentName(name) ? withoutLent(parts, name) : withoutOffers(parts, name)
        versions.delete(name)
        changedDocuments.set(name, null)
      }
      return goneNames.length
    },
    figures() {
      const newest = new Map<string, number>()
      for (const [name, version] of versions) {
        const kind = isOffersName(name) ? 'offers' : isLentName(name) ? 'lent' : name
        newest.set(kind, Math.max(newest.get(kind) ?? 0, version))
      }
      return { held: versions.size, refused: refusedVersions.size, versions: newest }
    },
  }
}

type Reading = { readonly rest: () => Promise<void>; readonly shareValues: ShareValues }
type ModelOffers = { readonly model: string; readonly book: OfferBook<MarketOffer> }

/** The same document with unparsed rows. */
const OffersBody = OffersDocumentSchema.extend({ offers: z.array(z.unknown()) })

/** Parses the offers of a model in the order of the routing. Throws a ZodError when any of them is invalid. */
async function readOffers(body: unknown, { rest, shareValues }: Reading): Promise<ModelOffers> {
  const { model, offers } = OffersBody.parse(body)
  const rows: OfferRow[] = []
  for (const [at, offer] of offers.entries()) {
    if (at % OFFERS_AT_ONCE === 0) await rest()
    rows.push(shareValues(OfferRowSchema.parse(offer)))
  }
  return { model, book: createOfferBook(rankOffers(rows)) }
}

function withOffers(parts: MarketBodies, { model, book }: ModelOffers): MarketBodies {
  return { ...parts, offers: new Map([...parts.offers, [model, book]]) }
}

/** Replaces one document of a fixed name. Throws a ZodError for a body that does not fit the name. */
function withDocument(parts: MarketBodies, name: string, body: unknown): MarketBodies {
  if (!isDocumentName(name)) return parts
  switch (name) {
    case 'models':
      return { ...parts, models: DOCUMENT_SCHEMAS.models.parse(body).models }
    case 'providers':
      return { ...parts, providers: DOCUMENT_SCHEMAS.providers.parse(body).providers }
    case 'resources': {
      const { resources } = DOCUMENT_SCHEMAS.resources.parse(body)
      const read = resources.map(({ record, version }) => [record.id, compileResource(record, version)] as const)
      return { ...parts, resources: new Map(read) }
    }
    case 'prices':
      return { ...parts, prices: new Map(Object.entries(DOCUMENT_SCHEMAS.prices.parse(body).prices)) }
    case 'markets':
      return { ...parts, rows: DOCUMENT_SCHEMAS.markets.parse(body).rows }
    case 'trades': {
      const { models } = DOCUMENT_SCHEMAS.trades.parse(body)
      return { ...parts, trades: models && new Map(Object.entries(models)) }
    }
    case 'sold':
      return { ...parts, sold: DOCUMENT_SCHEMAS.sold.parse(body).rows }
    case 'limits':
      return { ...parts, limits: DOCUMENT_SCHEMAS.limits.parse(body) }
  }
}

const MAX_SHARED = 100_000

/**
 * Returns one shared copy of equal values. A hundred thousand offers name few hosts, sellers, models, shares and caps.
 */
function createPool<Value>(): (value: Value) => Value {
  const values = new Map<Value, Value>()
  return (value) => {
    const knownValue = values.get(value)
    if (knownValue !== undefined) return knownValue
    if (values.size >= MAX_SHARED) values.clear()
    values.set(value, value)
    return value
  }
}

type ShareValues = (row: OfferRow) => OfferRow

function createSharing(): ShareValues {
  const text = createPool<string>()
  const share = createPool<KeptBps>()
  const cap = createPool<MicroUsd | null>()
  return (row) => {
    const { credential } = row
    return {
      ...row,
      model: text(row.model),
      sellerAccount: text(row.sellerAccount),
      sellerAlias: text(row.sellerAlias),
      provider: text(row.provider),
      baseUrl: text(row.baseUrl),
      providerModel: text(row.providerModel),
      keptBps: share(row.keptBps),
      capDailyMicro: cap(row.capDailyMicro),
      credential: {
        ...credential,
        tenant: text(credential.tenant),
        host: text(credential.host),
        ringKeyId: text(credential.ringKeyId),
      },
    }
  }
}

function withoutOffers(parts: MarketBodies, name: string): MarketBodies {
  const offers = new Map(parts.offers)
  offers.delete(modelOfDocument(name) ?? '')
  return { ...parts, offers }
}

function withLent(
  parts: MarketBodies,
  { resource, offers, retired }: z.infer<typeof LentDocumentSchema>,
): MarketBodies {
  return {
    ...parts,
    lent: new Map([...parts.lent, [resource, offers]]),
    retired: new Map([...parts.retired, [resource, retired]]),
  }
}

function withoutLent(parts: MarketBodies, name: string): MarketBodies {
  const [lent, retired] = [new Map(parts.lent), new Map(parts.retired)]
  lent.delete(resourceOfDocument(name) ?? '')
  retired.delete(resourceOfDocument(name) ?? '')
  return { ...parts, lent, retired }
}

function isOffersName(name: string): boolean {
  return modelOfDocument(name) !== undefined
}

function isLentName(name: string): boolean {
  return resourceOfDocument(name) !== undefined
}

/** True for a document that exists only while it has offers. */
function hasOffers(name: string): boolean {
  return isOffersName(name) || isLentName(name)
}

function isMarketName(name: string): boolean {
  return hasOffers(name) || isDocumentName(name)
}

function isDocumentName(name: string): name is DocumentName {
  return Object.hasOwn(DOCUMENT_SCHEMAS, name)
}
