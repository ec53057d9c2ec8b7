import type { OwnOffer, Target } from '#data-plane/call.ts'
import type { Payer } from '#data-plane/payment.ts'
import type { OwnProvider } from '#shared/contract/key-record.ts'
import type { ErrorCode } from '#shared/errors.ts'
import { keptBps } from '#shared/money.ts'
import { canServe } from '#shared/protocols/index.ts'
import type { Choice } from './routing-choice.ts'

/** A buyer's own providers for one call, before the marketplace and after it, each in their order. */
export type OwnOffers = { readonly first: readonly OwnOffer[]; readonly last: readonly OwnOffer[] }

const NONE: OwnOffers = { first: [], last: [] }
/** Calls with a buyer's own key are never charged. */
const FREE = keptBps(0)

/**
 * The own providers that may serve a call. Floors, caps and trust do not apply to them. An allow-list or a block list
 * of the call does. A floor in the path excludes them: it asks for the marketplace alone.
 */
export function ownOffersOf(
  payer: Payer | undefined,
  target: Target,
  choice: Choice,
  pathFloorPercent: number | undefined,
): OwnOffers {
  const rows = payer?.ownProviders ?? []
  if (rows.length === 0 || pathFloorPercent !== undefined || target.kind !== 'model') return NONE
  const usable = rows.filter(
    (row) =>
      (choice.only === undefined || choice.only.has(row.provider)) &&
      choice.blocked?.has(row.provider) !== true &&
      canServe(row, choice.need) &&
      choice.unable?.has(row.provider) !== true,
  )
  const inOrder = usable.sort((left, right) => left.priority - right.priority)
  return {
    first: inOrder.filter(({ model }) => model === target.id).map((row) => toOffer(row, target, 'own_key')),
    last: inOrder.filter(({ model }) => model === null).map((row) => toOffer(row, target, 'fallback_key')),
  }
}

/** Makes an offer from an own provider. Its buyer pays nothing of the price. */
function toOffer(row: OwnProvider, { id }: Target, servedBy: OwnOffer['servedBy']): OwnOffer {
  return {
    id: null,
    sellerAccount: null,
    servedBy,
    provider: row.provider,
    baseUrl: row.baseUrl,
    apiFormat: row.apiFormat,
    providerModel: row.providerModel ?? id,
    keptBps: FREE,
    capDailyMicro: null,
    credential: row.credential,
  }
}

/** Refusals after which a fallback key may serve the call: no offer exists, or the money does not suffice now. */
const FALLBACK_AFTER: ReadonlySet<ErrorCode> = new Set([
  'no_sellers_for_model',
  'no_healthy_sellers',
  'minimum_discount_not_met',
  'unsupported_parameter',
  'insufficient_balance',
  'insufficient_allowance',
  'key_cap_reached',
  'budget_reached',
  'cost_ceiling_reached',
  'service_unavailable',
])

export function mayFallBack(code: ErrorCode): boolean {
  return FALLBACK_AFTER.has(code)
}
