import type { Demand, MarketOffer, Target } from '#data-plane/call.ts'
import type { AccountId, KeyId } from '#shared/ids.ts'
import { keptBps, microUsd, picoUsd } from '#shared/money.ts'
import { buildDemand, buildModel, buildOffer } from '#test/support/build-market.ts'
import type { Random } from './random.ts'

/** Who buys, with which caps. */
export type Buyer = {
  readonly account: AccountId
  readonly keyId: KeyId
  readonly dailyMicro: ReturnType<typeof microUsd> | null
}

/** What is on sale in a world. Prices change while calls run; each call keeps those that it began with. */
export type Market = {
  readonly buyers: readonly [Buyer, ...Buyer[]]
  readonly offers: readonly [MarketOffer, ...MarketOffer[]]
  target(): Target
  demand(inputTokens: number, maxOutputTokens: number | undefined): Demand
  changePrice(percent: number): void
}

export const FEE_BPS = keptBps(731)
const MODEL = buildModel({ maxCompletionTokens: 400 })
const OPENING_MICRO = [300_000n, 90_000n, 40_000n, 12_000n, 4_000n]

/** The opening balance of a buyer, in micro-USD. */
export function openingOf(index: number): bigint {
  return OPENING_MICRO[index % OPENING_MICRO.length] ?? 0n
}

export function createMarket(random: Random): Market {
  const buyer = (index: number): Buyer => ({
    account: `acc_buyer${index}`,
    keyId: `key_buyer${index}`,
    dailyMicro: index === 1 ? microUsd(30_000) : null,
  })
  const offer = (index: number): MarketOffer => ({
    ...buildOffer({
      sellerAccount: `acc_seller${index}`,
      provider: `p${index}`,
      keptBps: keptBps(4_000 + index * 1_500),
      capDailyMicro: index === 0 ? microUsd(25_000) : null,
      createdAt: index,
    }),
    servedBy: 'marketplace',
    id: `ofr_${index}`,
  })
  let version = 1
  let outputPico = 7_000_003n
  const scale = BigInt(random.between(1, 4))
  return {
    buyers: [buyer(0), buyer(1), buyer(2), buyer(3), buyer(4)],
    offers: [offer(0), offer(1), offer(2)],
    target: () => ({
      model: MODEL,
      price: {
        version: `v${version}`,
        unitPrices: { input: picoUsd(1_300_001n * scale), output: picoUsd(outputPico * scale) },
      },
      endpoint: 'chat',
      requestedModel: MODEL.id,
    }),
    demand: (inputTokens, maxOutputTokens) =>
      buildDemand({
        isStreamed: true,
        bounds: { inputTokens, inputImages: 0, inputBytes: inputTokens, maxOutputTokens, choices: 1 },
      }),
    changePrice(percent) {
      version += 1
      outputPico = (outputPico * BigInt(percent)) / 100n + 1n
    },
  }
}
