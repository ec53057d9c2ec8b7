import type { Offer } from '#data-plane/call.ts'
import { cacheKeys } from '#shared/contract/redis-keys.ts'
import type { DocumentName, OfferRow } from '#shared/contract/snapshot.ts'
import { DOCUMENT_SCHEMAS, DocumentEnvelopeSchema, OffersDocumentSchema } from '#shared/contract/snapshot.ts'
import type { MarketParts } from './market.ts'
import { EMPTY_PARTS, rankOffers } from './market.ts'

const OFFERS = 'offers:'

/** How many documents are held and refused, and their versions by name; `offers` is the newest of all models' offers. */
export type DocumentFigures = {
  readonly held: number
  readonly refused: number
  readonly versions: ReadonlyMap<string, number>
}

/** The documents that make the market, as they were last accepted. */
export type MarketDocuments = {
  parts(): MarketParts
  /** What came since the last time, for the copy on disk: texts by name, null for a document that is gone. */
  takeChanged(): ReadonlyMap<string, string | null>
  /** Puts back what could not be kept. */
  returnChanged(taken: ReadonlyMap<string, string | null>): void
  /** Takes one document; throws when the text is not a valid document of that name, and changes nothing then. */
  take(name: string, text: string): void
  /** Remembers that this version was no good: it is not wanted again. */
  refuse(name: string, version: number): void
  /** Names in the index whose version is neither held nor refused. */
  wanted(index: Readonly<Record<string, string>>): string[]
  /** Drops the offers of models that the index has no more; answers how many. */
  dropMissing(index: Readonly<Record<string, string>>): number
  figures(): DocumentFigures
}

export function createMarketDocuments(): MarketDocuments {
  let parts: MarketParts = EMPTY_PARTS
  const versions = new Map<string, number>()
  const refused = new Map<string, number>()
  let changed = new Map<string, string | null>()
  return {
    parts: () => parts,
    takeChanged() {
      const taken = changed
      changed = new Map()
      return taken
    },
    returnChanged(taken) {
      changed = new Map([...taken, ...changed])
    },
    take(name, text) {
      const envelope = DocumentEnvelopeSchema.parse(JSON.parse(text))
      if (envelope.name !== name) throw new Error('the document has another name')
      parts = withDocument(parts, name, envelope.body)
      versions.set(name, envelope.version)
      changed.set(name, text)
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
        changed.set(name, null)
      }
      return gone.length
    },
    figures() {
      const newest = new Map<string, number>()
      for (const [name, version] of versions) {
        const kind = name.startsWith(OFFERS) ? 'offers' : name
        newest.set(kind, Math.max(newest.get(kind) ?? 0, version))
      }
      return { held: versions.size, refused: refused.size, versions: newest }
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
    offers.set(document.model, rankOffers(document.offers.map(shareTexts)))
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

const MAX_SHARED_TEXTS = 100_000
const sharedTexts = new Map<string, string>()

/** The one copy of a text that many offers have: a hundred thousand of them name a few hosts, sellers and models. */
function shared(text: string): string {
  const known = sharedTexts.get(text)
  if (known !== undefined) return known
  if (sharedTexts.size >= MAX_SHARED_TEXTS) sharedTexts.clear()
  sharedTexts.set(text, text)
  return text
}

function shareTexts(row: OfferRow): OfferRow {
  const { credential } = row
  return {
    ...row,
    model: shared(row.model),
    sellerAccount: shared(row.sellerAccount),
    sellerAlias: shared(row.sellerAlias),
    provider: shared(row.provider),
    baseUrl: shared(row.baseUrl),
    providerModel: shared(row.providerModel),
    credential: {
      ...credential,
      tenant: shared(credential.tenant),
      host: shared(credential.host),
      ringKeyId: shared(credential.ringKeyId),
    },
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
