import { listModelBodies, listPricesAt } from '#control-plane/db/catalog.ts'
import { listActiveOffers, listOfferedModels } from '#control-plane/db/listed-offers.ts'
import type { ControlPlane } from '#control-plane/plane.ts'
import type { Endpoint } from '#shared/catalog/model.ts'
import { clipOf, ModelSchema } from '#shared/catalog/model.ts'
import type { Clip } from '#shared/clips.ts'
import { likelyImageTokens } from '#shared/images.ts'
import type { UnitPrices } from '#shared/pricing.ts'
import { UnitPricesSchema } from '#shared/pricing.ts'

/** The endpoints of the past calls. The first one of a model counts. */
const SOLD: readonly Endpoint[] = ['chat', 'image', 'speech', 'transcription', 'video', 'music']

/** A model on sale with its sellers, lowest price first. Past buyers allow trusted providers only, as by default. */
export type Goods = {
  readonly model: string
  /** The endpoint of its calls. */
  readonly endpoint: Endpoint
  /** The tokens of one of its images, where they are sold by tokens. */
  readonly imageTokens: number
  /** The lengths and resolutions of its videos and music. */
  readonly clip: Clip
  readonly priceVersion: string
  readonly unitPrices: UnitPrices
  readonly offers: readonly {
    readonly id: string
    readonly sellerAccount: string
    readonly provider: string
    readonly keptBps: number
  }[]
  /** The offers at providers that are not trusted. */
  readonly untrustedOffers: readonly string[]
}

/** Models on sale for words, images, sound, videos or music, with their present offers and price. */
export async function readGoods({ db, clock }: Pick<ControlPlane, 'db' | 'clock'>): Promise<Goods[]> {
  const models = (await listModelBodies(db)).map((body) => ModelSchema.parse(body))
  const knownModels = new Map(models.filter(({ isSandbox }) => !isSandbox).map((model) => [model.id, model]))
  const prices = new Map((await listPricesAt(db, clock.now())).map((price) => [price.model, price]))
  const goods: Goods[] = []
  for (const model of await listOfferedModels(db)) {
    const [price, body] = [prices.get(model), knownModels.get(model)]
    const endpoint = SOLD.find((name) => body?.endpoints.includes(name))
    if (endpoint === undefined || body === undefined || price === undefined) continue
    const unitPrices = UnitPricesSchema.parse(price.unitPrices)
    if (endpoint === 'chat' && (!unitPrices.input || !unitPrices.output)) continue
    const { offers } = await listActiveOffers(db, model, Date.now())
    const trusted = offers.filter(({ isTrusted }) => isTrusted)
    if (trusted.length === 0) continue
    goods.push({
      model,
      endpoint,
      imageTokens: likelyImageTokens(body.imageOutput, { size: undefined, resolution: undefined, quality: undefined }),
      clip: clipOf(body),
      priceVersion: price.version,
      unitPrices,
      offers: trusted.toSorted((left, right) => left.keptBps - right.keptBps),
      untrustedOffers: offers.flatMap(({ id, isTrusted }) => (isTrusted ? [] : [id])),
    })
  }
  return goods
}
