import type { BenchMarket } from './market.ts'
import { createOffer, reprice } from './market.ts'

const CHANGES = 20
const GIVE_UP_MS = 5_000

/**
 * Measures the time from a seller's change of price until the data plane routes by it: median and worst of some
 * changes.
 */
export async function measureRouted(market: BenchMarket): Promise<{ figure: string; beside: string }> {
  const model = 'gpt-4.1-nano'
  const offer = await createOffer(market.network, {
    model,
    api_key: 'sk-bench-routed',
    seller_base_url: `${market.upstreamUrl}/v1`,
    discount: 97,
  })
  const times: number[] = []
  for (let change = 0; change < CHANGES; change++) {
    const discount = 97 + (change % 2)
    const start = performance.now()
    await reprice(market.network, offer.id, discount)
    while ((await bestDiscount(market, model)) !== discount) {
      if (performance.now() - start > GIVE_UP_MS) throw new Error('the change was never routed')
    }
    times.push(performance.now() - start)
  }
  const sorted = times.sort((left, right) => left - right)
  const at = (share: number) => `${(sorted[Math.floor((sorted.length - 1) * share)] ?? 0).toFixed(0)} ms`
  return { figure: `p50 ${at(0.5)}, max ${at(1)}`, beside: 'from the PATCH being sent to the new rank being read' }
}

/** The discount of the best offer in the data plane's present order. */
async function bestDiscount(market: BenchMarket, model: string): Promise<number | undefined> {
  const answer = await fetch(`${market.network.sandbox.api_base_url}/api/markets/${model}`)
  const body: unknown = await answer.json()
  if (typeof body !== 'object' || body === null || !('offers' in body) || !Array.isArray(body.offers)) return undefined
  return body.offers[0]?.discount_pct
}
