import type { Trx } from '#control-plane/db/database.ts'
import { refusalOf } from '#control-plane/db/database.ts'
import type { StoredOffer } from '#control-plane/db/offers.ts'
import { findActiveTwin, insertOffer } from '#control-plane/db/offers.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import type { RunCtx } from '#control-plane/operation/operation.ts'
import type { CheckedBaseUrl } from '#control-plane/services/providers/base-url.ts'
import type { ChosenKey } from '#control-plane/services/providers/provider-key.ts'
import { isAccount } from '#control-plane/services/providers/provider-key.ts'
import { requireFeature } from '#control-plane/services/require-feature.ts'
import type { Endpoint } from '#shared/catalog/model.ts'
import { MINUTE } from '#shared/clock.ts'
import { AppError } from '#shared/errors.ts'
import type { AccountId, OfferId } from '#shared/ids.ts'
import type { Pass } from '#shared/members/surcharge.ts'
import type { KeptBps, MicroUsd } from '#shared/money.ts'
import type { ProtocolName } from '#shared/protocols/index.ts'
import { sealCredential } from '#shared/seal.ts'
import { payeeSince } from './new-payee.ts'

/** Name of the index that allows one active offer for each credential, address and model, over all sellers. */
const ONE_ACTIVE = 'offer_one_active_per_credential'
/** Time from the listing of an offer to its first probe. */
export const FIRST_PROBE_MS = 30 * MINUTE

export type OfferToStore = {
  readonly model: string
  readonly base: CheckedBaseUrl
  readonly key: ChosenKey
  readonly apiFormat: ProtocolName
  readonly providerModel: string
  readonly keptBps: KeptBps
  readonly pricingMode: 'discount' | 'cost_multiplier'
  readonly capDailyMicro: MicroUsd | null
  readonly passes: readonly Pass[]
  /** Endpoints of the model on which the offer is not sold, and the cost of the test calls. */
  readonly without: readonly Endpoint[]
  readonly probeCostMicro: MicroUsd | null
  readonly payoutAddress: string | null
  readonly label: string | null
}

export type StoreCtx = Pick<RunCtx, 'db' | 'ids' | 'clock' | 'settings' | 'controls' | 'change'>

/**
 * Seals the key and writes the offer with its audit row, whose content comes from `changeOf`. Throws
 * `duplicate_offer_for_credential` while another active offer has the same credential, address and model.
 */
export async function storeNewOffer(
  ctx: StoreCtx,
  seller: AccountId,
  offer: OfferToStore,
  changeOf: (offer: StoredOffer, trx: Trx) => object | Promise<object>,
): Promise<StoredOffer> {
  await requireFeature(ctx, 'new_offers')
  const { base, key, model, ...facts } = offer
  const id = ctx.ids.make('ofr')
  const at = ctx.clock.now()
  const newId = ctx.ids.make('crd')
  const binding = { id: newId, tenant: seller, host: base.host, purpose: 'offer' } as const
  const sealed = sealCredential(ctx.settings.keyRing, binding, key.secret)
  const { fingerprint } = key
  const saved = { id: newId, tenant: seller, sealed, baseUrl: base.text, fingerprint, label: offer.label }
  const credential = { ...saved, createdAt: at, isAccount: isAccount(offer, key) }
  const place = { provider: base.provider.id, credential, firstProbeAt: at + FIRST_PROBE_MS }
  return orTwin(ctx, seller, { fingerprint, baseUrl: base.text, model }, () =>
    ctx.change(
      async (trx) => {
        const payoutAddressSince = await payeeSince(ctx, trx, { seller, offer: id, to: offer.payoutAddress })
        return insertOffer(trx, { id, sellerAccount: seller, model, ...place, ...facts, payoutAddressSince, at })
      },
      async (offer, trx) => ({ subject: id, before: null, after: await changeOf(offer, trx) }),
    ),
  )
}

export type Twin = { readonly fingerprint: string; readonly baseUrl: string; readonly model: string }

/**
 * Throws `duplicate_offer_for_credential` when another active offer has the same credential, address and model. Only
 * its owner gets its id.
 */
export async function refuseTwin(ctx: Pick<Ctx, 'db'>, caller: AccountId, twin: Twin, self?: OfferId): Promise<void> {
  const activeTwin = await findActiveTwin(ctx.db, twin)
  if (activeTwin === undefined || activeTwin.id === self) return
  const detail =
    activeTwin.sellerAccount === caller ? { existing_offer_id: activeTwin.id, offer_id: activeTwin.id } : {}
  throw new AppError('duplicate_offer_for_credential', { detail })
}

/** Runs a change. A refusal by the one-active index becomes the error of {@link refuseTwin}. */
export async function orTwin<Result>(
  ctx: Pick<Ctx, 'db'>,
  caller: AccountId,
  twin: Twin | (() => Twin | undefined),
  run: () => Promise<Result>,
): Promise<Result> {
  try {
    return await run()
  } catch (error) {
    const knownTwin = typeof twin === 'function' ? twin() : twin
    if (knownTwin === undefined || refusalOf(error)?.constraint !== ONE_ACTIVE) throw error
    await refuseTwin(ctx, caller, knownTwin)
    throw new AppError('duplicate_offer_for_credential', { cause: error })
  }
}
