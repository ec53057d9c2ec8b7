import type { MarketBodies } from '#data-plane/store/market.ts'
import { ResourceSchema } from '#shared/catalog/resources.ts'
import type { LentOffer } from '#shared/contract/lent-offers.ts'
import { keptBps, microUsd, picoUsd } from '#shared/money.ts'
import type { UnitPrices } from '#shared/pricing.ts'
import type { CompiledResource } from '#shared/resources/compile-resource.ts'
import { compileResource } from '#shared/resources/compile-resource.ts'

/** The provider whose keys are lent. */
export const RELAY_RESOURCE = 'sim-pictures'
const GOOD = 'picture'

const STATE = { at: 'answer.status', done: ['done'], failed: ['failed'] }
/** The resource draws pictures, whose answer is held and reports the usage, and sends films, which report no usage. */
const RECORD = ResourceSchema.parse({
  id: RELAY_RESOURCE,
  kind: 'resource',
  name: 'Pictures',
  unit: 'per picture',
  style: 'path',
  hosts: [{ role: 'api', baseUrl: 'https://pictures.test' }],
  credential: { header: 'x-key', prefix: '' },
  probe: { host: 'api', path: '/me', accepts: [200] },
  goods: [{ id: GOOD, prices: { images: '0.001' } }],
  routes: [
    {
      id: 'draw',
      title: 'Draw',
      kind: 'sale',
      methods: ['POST'],
      host: 'api',
      path: '/draw',
      good: GOOD,
      quote: { images: 'body.n' },
      reported: { images: 'count(answer.images[*])' },
      state: STATE,
    },
    {
      id: 'film',
      title: 'Film',
      kind: 'sale',
      methods: ['POST'],
      host: 'api',
      path: '/film',
      good: GOOD,
      quote: { images: 'body.n' },
      state: STATE,
    },
  ],
})
const COMPILED = compileResource(RECORD, 1)

/** The price of a picture at the beginning, in pico-USD. It is not a whole number of micro-USD. */
const FIRST_PICO = 700_000_013n
/** The daily caps of the keys, lowest price first. */
const CAPS_MICRO = [microUsd(15_000), null]

const KEYS: readonly LentOffer[] = CAPS_MICRO.map((capDailyMicro, index) => ({
  id: `ofr_lent${index}`,
  resource: RELAY_RESOURCE,
  sellerAccount: `acc_seller${index}`,
  sellerAlias: 'lender',
  keptBps: keptBps(5_000 + index * 1_700),
  capDailyMicro,
  createdAt: index,
  credential: {
    v: 1,
    id: `crd_lent${index}`,
    tenant: `acc_seller${index}`,
    host: RELAY_RESOURCE,
    purpose: 'resource',
    ringKeyId: 'k',
    wrapIv: '',
    wrappedKey: '',
    iv: '',
    ciphertext: '',
  },
  scope: { models: null, methods: null, paths: null },
  ratePerMinute: null,
  buyerSharePct: null,
  traits: [],
}))
const LENT: MarketBodies['lent'] = new Map([[RELAY_RESOURCE, KEYS]])

/** The documents of the lent keys. A `share` of 1 is the price of the beginning. */
export function lentBodies(
  version: number,
  share: { readonly of: bigint; readonly per: bigint },
): Pick<MarketBodies, 'resources' | 'lent'> {
  const images = picoUsd((FIRST_PICO * share.of) / share.per)
  const good = {
    id: GOOD,
    facts: {},
    mustQueue: false,
    price: { version: `v${version}`, effectiveAt: 0, source: 'sim', unitPrices: { images } },
  }
  const record: CompiledResource = { ...COMPILED, version, goods: new Map([[GOOD, good]]) }
  return { resources: new Map([[RELAY_RESOURCE, record]]), lent: LENT }
}

/** The prices in the presently published record. */
export function relayPrices({ resources }: Pick<MarketBodies, 'resources'>): UnitPrices {
  return resources.get(RELAY_RESOURCE)?.goods.get(GOOD)?.price.unitPrices ?? {}
}
