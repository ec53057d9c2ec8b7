import { X402_VERSION } from '#shared/chain-terms.ts'
import type { PaymentTerms } from '#shared/contract/chain-payments.ts'
import { chainIdOf, LEAST_PAYMENT_MICRO, MOST_PAYMENT_MICRO } from '#shared/contract/chain-payments.ts'
import { microUsd, microUsdToDollars } from '#shared/money.ts'
import type { Read, ReadSources } from './read.ts'

/** A path that a wallet can pay for. */
export type PayablePath = {
  readonly method: 'POST'
  readonly path: string
  readonly host: 'base' | 'api' | 'both'
  readonly protocols: readonly ('x402' | 'mpp')[]
  /** Schemes of x402 that it takes. */
  readonly schemes: readonly ('upto' | 'exact')[]
}

/** A call of a family of forwarded calls, as a crawler can make it. */
export type FamilyPath = {
  readonly method: 'GET' | 'POST'
  /** The path of its row, and the path and query of the example. */
  readonly path: string
  readonly example: string
  /** The record of the purchased family. */
  readonly family: string
}

/**
 * The least that a 402 demands under the present terms, in x402's form: by all schemes, or by those that a path takes.
 */
export type LeastDemands = (
  terms: PaymentTerms,
  schemes?: PayablePath['schemes'],
) => readonly Readonly<Record<string, unknown>>[]

/** Operators open and close ways to pay within seconds. */
const MAX_AGE_SECONDS = 15
/** A placeholder for the terms while payments are closed. */
const CLOSED = {}
const PRICING = {
  mode: 'dynamic',
  currency: 'USD',
  min_usd: microUsdToDollars(microUsd(LEAST_PAYMENT_MICRO)),
  max_usd: microUsdToDollars(microUsd(MOST_PAYMENT_MICRO)),
}
const HEADERS = { demand: 'PAYMENT-REQUIRED', payment: 'PAYMENT-SIGNATURE', receipt: 'PAYMENT-RESPONSE' }
const FLOW = [
  'POST the request without a credential: the answer is 402 with its price in accepts and in PAYMENT-REQUIRED.',
  'Choose an entry of accepts, upto before exact: upto takes what the call cost, exact the quoted price.',
  'Sign it and send the same request again with PAYMENT-SIGNATURE.',
  'The answer is 200 with PAYMENT-RESPONSE; the last event of a stream has the state of the payment.',
]

/** `GET /api/x402/info`: how to pay for single calls, and the calls that can be paid in this way. */
export function x402Info(paths: readonly PayablePath[], families: readonly FamilyPath[], demands: LeastDemands): Read {
  return ({ payments, addresses, memory, market, version }) => {
    const terms = payments.terms()
    const { resources } = market()
    const json = memory.textOf('x402Info', [terms ?? CLOSED, resources], () => {
      return JSON.stringify({
        name: 'Inference marketplace',
        version,
        description: 'Inference by the request, paid in USDC: many sellers, each call at the cheapest healthy offer.',
        x402: x402Of(terms, demands),
        mpp: { method: 'evm', intent: 'charge', is_open: terms !== undefined && !terms.switchedOff.includes('mpp') },
        inference: {
          endpoints: paths.map((path) => ({
            method: path.method,
            path: path.path,
            url: urlOf(path, addresses),
            protocols: path.protocols,
            schemes: path.schemes,
          })),
          models_url: `${addresses.baseUrl}/api/inference/v1/models`,
          prices_url: `${addresses.baseUrl}/api/inference/v1/prices`,
          pricing: PRICING,
          flow: FLOW,
        },
        forwarded: {
          endpoints: families.filter(isOn(resources)).map(({ method, path, example }) => ({
            method,
            path,
            url: addresses.baseUrl + path,
            example: addresses.baseUrl + example,
            protocols: ['x402'],
          })),
          resources: `${addresses.baseUrl}/x402/resources/{resource}`,
          capabilities_url: `${addresses.apiBaseUrl}/v1/resource/capabilities`,
        },
        discovery: {
          well_known: `${addresses.baseUrl}/.well-known/x402`,
          openapi: `${addresses.baseUrl}/openapi.json`,
          llms_txt: `${addresses.baseUrl}/llms.txt`,
          bazaar: true,
        },
      })
    })
    return { json, maxAgeSeconds: MAX_AGE_SECONDS }
  }
}

/** Facts of the chain are null while payments are closed. */
function x402Of(terms: PaymentTerms | undefined, demands: LeastDemands) {
  const schemes = terms === undefined ? [] : demands(terms).map(({ scheme }) => scheme)
  return {
    version: X402_VERSION,
    is_open: schemes.length > 0,
    schemes,
    preferred_scheme: schemes[0] ?? null,
    network: terms?.network ?? null,
    chain_id: terms === undefined ? null : chainIdOf(terms.network),
    asset: terms?.asset ?? null,
    asset_symbol: 'USDC',
    asset_decimals: 6,
    pay_to: terms?.payTo ?? null,
    facilitator: terms?.facilitator ?? null,
    headers: HEADERS,
  }
}

/** `GET /.well-known/x402`: the addresses that take x402, for crawlers. */
export function x402Resources(
  paths: readonly PayablePath[],
  families: readonly FamilyPath[],
  demands: LeastDemands,
): Read {
  return ({ payments, addresses, memory, market }) => {
    const terms = payments.terms()
    const { resources } = market()
    const json = memory.textOf('x402Resources', [terms ?? CLOSED, resources], () => {
      const accepts = (schemes?: PayablePath['schemes']) => (terms === undefined ? [] : demands(terms, schemes))
      const items = [
        ...paths
          .filter(({ protocols }) => protocols.includes('x402'))
          .map((path) => ({
            resource: urlOf(path, addresses),
            method: path.method,
            accepts: accepts(path.schemes),
          })),
        // Crawlers call the paths that they find, so a path with variables is replaced by an example.
        ...families
          .filter(isOn(resources))
          .map(({ method, example }) => ({ resource: addresses.baseUrl + example, method, accepts: accepts() })),
      ]
      return JSON.stringify({
        version: 1,
        x402Version: X402_VERSION,
        resources: items.map(({ resource }) => resource),
        items,
      })
    })
    return { json, maxAgeSeconds: MAX_AGE_SECONDS }
  }
}

/** True for a family that the catalogue sells now. */
function isOn(resources: ReturnType<ReadSources['market']>['resources']): (path: FamilyPath) => boolean {
  return ({ family }) => resources.get(family)?.record.isOn === true
}

function urlOf({ host, path }: PayablePath, { baseUrl, apiBaseUrl }: ReadSources['addresses']): string {
  return (host === 'base' ? baseUrl : apiBaseUrl) + path
}
