import type { Offer } from '#data-plane/call.ts'
import { cacheKeys } from '#shared/contract/redis-keys.ts'
import type { DocumentName } from '#shared/contract/snapshot.ts'
import { DOCUMENT_SCHEMAS, DocumentEnvelopeSchema, OffersDocumentSchema } from '#shared/contract/snapshot.ts'
import type { MarketParts } from './market.ts'
import { EMPTY_PARTS, rankOffers } from './market.ts'

const OFFERS = 'offers:'

/** The documents that make the market, as they were last accepted. */
export type MarketDocuments = {
  parts(): MarketParts
  /** Texts by name, for the copy on disk. */
  texts(): ReadonlyMap<string, string>
  /** Takes one document; throws when the text is not a valid document of that name, and changes nothing then. */
  take(name: string, text: string): void
  /** Remembers that this version was no good: it is not wanted again. */
  refuse(name: string, version: number): void
  /** Names in the index whose version is neither held nor refused. */
  wanted(index: Readonly<Record<string, string>>): string[]
  /** Drops the offers of models that the index has no more; answers how many. */
  dropMissing(index: Readonly<Record<string, string>>): number
}

export function createMarketDocuments(): MarketDocuments {
  let parts: MarketParts = EMPTY_PARTS
  const versions = new Map<string, number>()
  const refused = new Map<string, number>()
  const texts = new Map<string, string>()
  return {
    parts: () => parts,
    texts: () => texts,
    take(name, text) {
      const envelope = DocumentEnvelopeSchema.parse(JSON.parse(text))
      if (envelope.name !== name) throw new Error('the document has another name')
      parts = withDocument(parts, name, envelope.body)
      versions.set(name, envelope.version)
      texts.set(name, text)
      refused.delete(name)
    },
    refuse: (name, version) => void refused.set(name, version),
    wanted: (index) =>
      Object.keys(index).filter((name) => {
        const version = Number(index[name])
        return isMarketName(name) && versions.get(name) !== version && refused.get(name) !== version
      }),
    dropMissing(index) {
      const gone = [...versions.keys()].filter((name) => name.startsWith(OFFERS) && index[name] === undefined)
      for (const name of gone) {
        parts = withoutOffers(parts, name)
        versions.delete(name)
        texts.delete(name)
      }
      return gone.length
    },
  }
}

/** Where a document stands in Redis. */
export function documentKey(name: string): string {
  return isDocumentName(name) ? cacheKeys.document(name) : cacheKeys.document(`offers:${name.slice(OFFERS.length)}`)
}

/** The parts with one document replaced. Throws a ZodError for a body that is not what its name says. */
function withDocument(parts: MarketParts, name: string, body: unknown): MarketParts {
  if (name.startsWith(OFFERS)) {
    const document = OffersDocumentSchema.parse(body)
    const offers = new Map<string, readonly Offer[]>(parts.offers)
    offers.set(document.model, rankOffers(document.offers))
    return { ...parts, offers }
  }
  if (!isDocumentName(name)) return parts
  switch (name) {
    case 'models':
      return { ...parts, models: DOCUMENT_SCHEMAS.models.parse(body).models }
    case 'providers':
      return { ...parts, providers: DOCUMENT_SCHEMAS.providers.parse(body).providers }
    case 'prices':
      return { ...parts, prices: new Map(Object.entries(DOCUMENT_SCHEMAS.prices.parse(body).prices)) }
    case 'markets':
      return { ...parts, rows: DOCUMENT_SCHEMAS.markets.parse(body).rows }
    case 'trades': {
      const offers = Object.entries(DOCUMENT_SCHEMAS.trades.parse(body).offers)
      return { ...parts, trades: new Map(offers.map(([id, [count, volumeMicro]]) => [id, { count, volumeMicro }])) }
    }
    case 'resources':
      return { ...parts, resources: DOCUMENT_SCHEMAS.resources.parse(body).resources }
    case 'limits':
      return { ...parts, limits: DOCUMENT_SCHEMAS.limits.parse(body) }
  }
}

function withoutOffers(parts: MarketParts, name: string): MarketParts {
  const offers = new Map(parts.offers)
  offers.delete(name.slice(OFFERS.length))
  return { ...parts, offers }
}

function isMarketName(name: string): boolean {
  return name.startsWith(OFFERS) || isDocumentName(name)
}

function isDocumentName(name: string): name is DocumentName {
  return Object.hasOwn(DOCUMENT_SCHEMAS, name)
}
