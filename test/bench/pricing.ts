import { priceLinesOf } from '#control-plane/services/catalog/catalog-items.ts'
import { readKeptModels } from '#control-plane/services/catalog/kept/kept-models.ts'
import type { Metered } from '#data-plane/call.ts'
import { billUsage } from '#data-plane/pipeline/meter/bill-usage.ts'
import type { ReferencePrice } from '#shared/price-list.ts'
import { dearestPrices, priceAt } from '#shared/price-list.ts'

const ROUNDS = 20_000
const BATCHES = 20
const WARM_UP = 50_000

/** Models of the development market: one price per class; a threshold and two tiers of service; peak hours. */
const FLAT = 'gpt-5-mini'
const CONDITIONAL = ['gpt-6-sol', 'deepseek-v4-pro'] as const

const CALL: Metered = {
  usage: { input: 300_000, cacheRead: 20_000, output: 1_200, reasoning: 300 },
  source: 'reported',
  finishReason: 'stop',
  anomalies: [],
}

/** Microseconds to price a call: the prices of its time, the highest of them for its hold, and its bill. */
export async function measurePricing(): Promise<{ what: string; figure: string; beside: string }[]> {
  const { models } = await readKeptModels(Date.now())
  const listOf = (id: string): ReferencePrice => {
    const found = models.find(({ item }) => item.canonical === id)
    if (found === undefined) throw new Error(`there is no model ${id}`)
    return { version: 'bench', ...priceLinesOf(found.item) }
  }
  const flat = time(listOf(FLAT))
  return CONDITIONAL.map((id) => {
    const list = listOf(id)
    const own = time(list)
    return {
      what: `pricing with ${list.overrides?.length ?? 0} conditions`,
      figure: `${own.toFixed(2)} µs`,
      beside: `${flat.toFixed(2)} µs with none`,
    }
  })
}

function time(list: ReferencePrice): number {
  const now = Date.now()
  const rounds = (count: number) => {
    let pico = 0n
    for (let round = 0; round < count; round++) {
      const price = priceAt(list, now + round)
      dearestPrices(price, { promptTokens: 400_000 })
      pico += billUsage(price, CALL).whole
    }
    return pico
  }
  rounds(WARM_UP)
  // The best of several batches counts, so that other work of the machine does not.
  let best = Number.POSITIVE_INFINITY
  for (let batch = 0; batch < BATCHES; batch++) {
    const start = performance.now()
    rounds(ROUNDS)
    best = Math.min(best, ((performance.now() - start) * 1_000) / ROUNDS)
  }
  return best
}
