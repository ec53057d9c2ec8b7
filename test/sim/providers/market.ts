import type { MarketOffer } from '#data-plane/call.ts'
import type { Market as Published } from '#data-plane/store/market.ts'
import { buildMarket, EMPTY_BODIES, rankOffers } from '#data-plane/store/market.ts'
import type { KeyBudget } from '#shared/contract/key-record.ts'
import type { AccountId, KeyId } from '#shared/ids.ts'
import { keptBps, microUsd, picoUsd } from '#shared/money.ts'
import type { ReferencePrice } from '#shared/price-list.ts'
import type { UnitPrices } from '#shared/pricing.ts'
import { createOfferBook } from '#shared/routing/offer-book.ts'
import type { Random } from '#test/sim/time/random.ts'
import { buildModel, buildOffer, buildProvider } from '#test/support/bytes/build-market.ts'
import { lentBodies, RELAY_RESOURCE } from './lent-keys.ts'

/** A buyer and the buyer's caps. */
export type Buyer = {
  readonly account: AccountId
  readonly keyId: KeyId
  readonly dailyMicro: ReturnType<typeof microUsd> | null
  /** Absent without one. */
  readonly budgets?: readonly KeyBudget[]
}

/** The limits of the budgets of a world, in micro-USD. */
export type BudgetLimits = { readonly member: number; readonly workspace: number }

/** The buyers whose calls count for each budget. A member calls from two accounts, of which one has a budget, too. */
const BUDGETED = { member: [0, 1], workspace: [0] } as const

/** The offers of a world. Prices change while calls run, and each call keeps its prices from its start. */
export type Market = {
  readonly buyers: readonly [Buyer, ...Buyer[]]
  /** The offers of chat, from the routing document. */
  readonly offers: readonly [MarketOffer, ...MarketOffer[]]
  /** The market as data planes read it now. */
  published(): Published
  /** The offers of long jobs, at the same providers and at one more. There are more than a submit may try. */
  readonly jobOffers: readonly [MarketOffer, ...MarketOffer[]]
  /** The lent keys. */
  readonly lentOffers: readonly MarketOffer[]
  pricesOf(model: string): UnitPrices
  changePrice(percent: number): void
}

export const FEE_BPS = keptBps(731)
const MODEL = buildModel({ maxCompletionTokens: 400 })
export const CHAT_MODEL = MODEL.id
const VIDEO = buildModel({ id: 'video-model', name: 'Video', endpoints: ['video'], mediaUnit: 'per second' })
export const VIDEO_MODEL = VIDEO.id
/** The path of the model at its providers, which have a queue. */
export const JOB_PATH = '/sim/video'
/** The price of a millisecond of video, in pico-USD. */
const VIDEO_PICO = 1_300_007n
/** This world has no rate limits for buyers. Only money limits them. */
const LIMITS = { ...EMPTY_BODIES.limits, keyRatePerMinute: 1_000_000, keyInFlight: 10_000, platformFeeBps: FEE_BPS }
const OPENING_MICRO = [300_000n, 90_000n, 40_000n, 12_000n, 4_000n]

const FIRST_OUTPUT_PICO = 7_000_003n

/** The daily caps of the offers of long jobs, lowest price first. The first suffices for a few jobs only. */
const JOB_CAPS_MICRO = [microUsd(9_000), microUsd(25_000)]

/** The opening balance of a buyer, in micro-USD. */
export function openingOf(index: number): bigint {
  return OPENING_MICRO[index % OPENING_MICRO.length] ?? 0n
}

function budgetsOf(index: number, limits: BudgetLimits | undefined): Pick<Buyer, 'budgets'> {
  if (limits === undefined) return {}
  const budgets = (['member', 'workspace'] as const).flatMap((kind) =>
    BUDGETED[kind].some((buyer) => buyer === index)
      ? { id: `bdg_${kind}`, of: kind === 'member' ? 'usr_1' : 'wsp_1', limitMicro: microUsd(limits[kind]) }
      : [],
  )
  return budgets.length === 0 ? {} : { budgets }
}

export function createMarket(random: Random, limits?: BudgetLimits): Market {
  const buyer = (index: number): Buyer => ({
    account: `acc_buyer${index}`,
    keyId: `key_buyer${index}`,
    dailyMicro: index === 1 ? microUsd(30_000) : null,
    ...budgetsOf(index, limits),
  })
  const row = (index: number) => ({
    ...buildOffer({
      sellerAccount: `acc_seller${index}`,
      provider: `p${index}`,
      keptBps: keptBps(4_000 + index * 1_500),
      capDailyMicro: index === 0 ? microUsd(25_000) : null,
      createdAt: index,
    }),
    id: `ofr_${index}`,
  })
  const jobRow = (index: number) => ({
    ...row(index),
    id: `ofr_job${index}`,
    model: VIDEO.id,
    capDailyMicro: JOB_CAPS_MICRO[index] ?? null,
    apiFormat: 'falqueue' as const,
    providerModel: JOB_PATH.slice(1),
  })
  const offers = rankedOf([row(0), row(1), row(2)])
  const jobOffers = rankedOf([jobRow(0), jobRow(1), jobRow(2), jobRow(3)])
  const scale = BigInt(random.between(1, 4))
  let version = 1
  let outputPico = FIRST_OUTPUT_PICO
  let prices = priceList()
  let published = publish(undefined)

  function priceList(): ReadonlyMap<string, ReferencePrice> {
    const unitPrices = { input: picoUsd(1_300_001n * scale), output: picoUsd(outputPico * scale) }
    const video = { milliseconds: picoUsd((VIDEO_PICO * outputPico) / FIRST_OUTPUT_PICO) }
    const rest = { version: `v${version}`, effectiveAt: 0, source: 'sim' }
    return new Map([
      [MODEL.id, { ...rest, unitPrices }],
      [VIDEO.id, { ...rest, unitPrices: video }],
    ])
  }

  function publish(previous: Published | undefined): Published {
    return buildMarket(
      {
        ...EMPTY_BODIES,
        models: [MODEL, VIDEO],
        providers: jobOffers.map(({ provider }) => buildProvider(provider)),
        prices,
        limits: LIMITS,
        offers: new Map([
          [MODEL.id, createOfferBook(offers)],
          [VIDEO.id, createOfferBook(jobOffers)],
        ]),
        ...lentBodies(version, { of: outputPico, per: FIRST_OUTPUT_PICO }),
      },
      previous,
    )
  }

  return {
    buyers: [buyer(0), buyer(1), buyer(2), buyer(3), buyer(4)],
    offers,
    jobOffers,
    lentOffers: published.lentBooks.get(RELAY_RESOURCE)?.ranked ?? [],
    published: () => published,
    pricesOf: (model) => prices.get(model)?.unitPrices ?? {},
    changePrice(percent) {
      version += 1
      outputPico = (outputPico * BigInt(percent)) / 100n + 1n
      prices = priceList()
      published = publish(published)
    },
  }
}

function rankedOf(rows: Parameters<typeof rankOffers>[0]): Market['offers'] {
  const [first, ...others] = rankOffers(rows)
  if (first === undefined) throw new Error('nothing is on sale')
  return [first, ...others]
}
