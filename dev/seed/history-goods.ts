import { listModelBodies, listPricesAt } from '#control-plane/db/catalog.ts'
import { listActiveOffers, listOfferedModels } from '#control-plane/db/listed-offers.ts'
import type { ControlPlane } from '#control-plane/plane.ts'
import { ModelSchema } from '#shared/catalog/model.ts'
import type { UnitPrices } from '#shared/pricing.ts'
import { UnitPricesSchema } from '#shared/pricing.ts'

/** A model on sale with its sellers, cheapest first. */
export type Goods = {
  readonly model: string
  readonly priceVersion: string
  readonly unitPrices: UnitPrices
  readonly offers: readonly {
    readonly id: string
    readonly sellerAccount: string
    readonly provider: string
    readonly keptBps: number
  }[]
}

/** All models that answer in text and are on sale, with their present offers and price. */
export async function readGoods({ db, clock }: Pick<ControlPlane, 'db' | 'clock'>): Promise<Goods[]> {
  const models = (await listModelBodies(db)).map((body) => ModelSchema.parse(body))
  const answering = new Set(
    models.filter((model) => !model.isSandbox && model.endpoints.includes('chat')).map((model) => model.id),
  )
  const prices = new Map((await listPricesAt(db, clock.now())).map((price) => [price.model, price]))
  const goods: Goods[] = []
  for (const model of await listOfferedModels(db)) {
    const price = prices.get(model)
    if (!answering.has(model) || price === undefined) continue
    const unitPrices = UnitPricesSchema.parse(price.unitPrices)
    if (!unitPrices.input || !unitPrices.output) continue
    const { offers } = await listActiveOffers(db, model)
    goods.push({
      model,
      priceVersion: price.version,
      unitPrices,
      offers: [...offers].sort((left, right) => left.keptBps - right.keptBps),
    })
  }
  return goods
}
