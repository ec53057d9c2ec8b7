import type { Demand, Hold, Offer, Payer, Target } from '#data-plane/call.ts'
import type { Payment } from '#data-plane/rails/rail.ts'
import type { OwnCalls } from '#data-plane/store/own-calls.ts'
import type { OwnProvider } from '#shared/contract/key-record.ts'
import type { ErrorCode } from '#shared/errors.ts'
import type { RequestId } from '#shared/ids.ts'
import { keptBps, ZERO } from '#shared/money.ts'
import type { CallQuote } from './quote-call.ts'
import { boundOf } from './quote-call.ts'
import type { Choice } from './routing-choice.ts'

/** A buyer's own providers for one call: those before the marketplace and those after it, each in their order. */
export type OwnOffers = { readonly first: readonly Offer[]; readonly last: readonly Offer[] }

const NONE: OwnOffers = { first: [], last: [] }
/** Own keys are never charged. */
const FREE = keptBps(0)

/**
 * The own providers that may serve a call. They stand outside floors, caps and trust; an allow-list or a block list of
 * the call is about them too, and a floor in the path asks for the marketplace alone.
 */
export function ownOffersOf(
  payer: Payer,
  target: Target,
  choice: Choice,
  pathFloorPercent: number | undefined,
): OwnOffers {
  const rows = payer.ownProviders ?? []
  if (rows.length === 0 || pathFloorPercent !== undefined) return NONE
  const usable = rows.filter(
    ({ provider, apiFormat }) =>
      (choice.only === undefined || choice.only.has(provider)) &&
      choice.blocked?.has(provider) !== true &&
      (apiFormat === 'openai' || !choice.isOpenAiOnly),
  )
  const inOrder = usable.sort((left, right) => left.priority - right.priority)
  return {
    first: inOrder.filter(({ model }) => model === target.model.id).map((row) => toOffer(row, target, 'own_key')),
    last: inOrder.filter(({ model }) => model === null).map((row) => toOffer(row, target, 'fallback_key')),
  }
}

/** An own provider in the shape that an attempt takes: an offer that keeps nothing of the price. */
function toOffer(row: OwnProvider, { model }: Target, own: 'own_key' | 'fallback_key'): Offer {
  return {
    id: `ofr_${row.id}`,
    own,
    model: model.id,
    sellerAccount: row.credential.tenant,
    sellerAlias: own,
    provider: row.provider,
    isTrusted: true,
    baseUrl: row.baseUrl,
    apiFormat: row.apiFormat,
    providerModel: row.providerModel ?? model.id,
    keptBps: FREE,
    capDailyMicro: null,
    credential: row.credential,
    ttftMs: null,
    createdAt: 0,
  }
}

/** The quote of a call that costs nothing, and the hold that nobody holds. */
export function unbilledQuote(rid: RequestId, target: Target, demand: Demand): CallQuote {
  return { rid, wantMicro: ZERO, minMicro: ZERO, ttlMs: 0, bound: boundOf(target, demand) }
}

export function unbilledHold(rid: RequestId, { account, keyId }: Payer): Hold {
  return { rid, account, keyId, grantedMicro: ZERO }
}

/** The payment of such a call: who it is stays, and nothing moves. Its end is noted for look-ups. */
export function unbilledPayment(payment: Payment, ownCalls: Pick<OwnCalls, 'ended'>): Payment {
  return {
    ...payment,
    settle(hold, _charge, event) {
      ownCalls.ended(hold, event)
      return Promise.resolve('accepted')
    },
    release(hold, _reason, event) {
      ownCalls.ended(hold, event)
      return Promise.resolve()
    },
  }
}

/** Refusals of the marketplace that a fallback key makes good: nobody sells, or there is no money for it now. */
const FALLBACK_AFTER: ReadonlySet<ErrorCode> = new Set([
  'no_sellers_for_model',
  'no_healthy_sellers',
  'minimum_discount_not_met',
  'insufficient_balance',
  'key_cap_reached',
  'cost_ceiling_reached',
  'service_unavailable',
])

export function mayFallBack(code: ErrorCode): boolean {
  return FALLBACK_AFTER.has(code)
}
