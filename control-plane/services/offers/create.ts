import type { StoredOffer } from '#control-plane/db/offers.ts'
import { findOffer } from '#control-plane/db/offers.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { checkBaseUrl } from '#control-plane/services/providers/base-url.ts'
import { readFactsOf } from '#control-plane/services/providers/model-facts.ts'
import { shownCost } from '#control-plane/services/providers/probe-cost.ts'
import { chooseKey } from '#control-plane/services/providers/provider-key.ts'
import { AppError } from '#shared/errors.ts'
import type { AccountId } from '#shared/ids.ts'
import { CreateOfferInput, readPricing } from './input.ts'
import { listingRefused, probeListing } from './probe-listing.ts'
import { makeFirstToken } from './renew-tokens.ts'
import { requireEndpoint } from './require-endpoint.ts'
import { refuseTwin, storeNewOffer } from './store-offer.ts'
import type { OfferView, ViewCtx } from './view.ts'
import { OfferViewSchema, viewOffers } from './view.ts'

/**
 * Lists capacity, after a probe of the provider. Throws `provider_probe_failed` when the provider refuses the key or
 * does not serve the model. Also throws `unknown_model`, `invalid_base_url`, `duplicate_offer_for_credential`,
 * `model_capability_unsupported` for a model that cannot be bought or that the host does not run, and `not_found` for a
 * saved key that is not the caller's.
 */
export const createOffer = defineOperation({
  name: 'offer.create',
  summary: 'Create an offer',
  about:
    'An offer sells one model at one provider under one of your keys, at a discount off the list price. We first ask the provider for one token on each endpoint of the model: `probes` has the results, `probe_cost_usd` their cost at your provider. We seal the key on arrival and never show it again.',
  example: {
    model: 'gpt-5-mini',
    apiKey: 'sk-example-provider-key',
    sellerBaseUrl: 'https://api.example.com/v1',
    discount: 25,
    capDailyUsd: 50,
    label: 'spare quota',
  },
  access: 'seller',
  input: CreateOfferInput,
  limit: 'write',
  idempotency: 'required',
  output: OfferViewSchema,
  run: async (ctx, actor, input): Promise<OfferView> => {
    const pricing = readPricing(input)
    if (pricing === undefined) {
      throw new AppError('invalid_request', { message: 'Add a discount or a cost_multiplier.', param: 'discount' })
    }
    const facts = await readFactsOf(ctx, input.model)
    if (facts.model === undefined) throw new AppError('unknown_model', { param: 'model' })
    const { id: model } = facts.model
    const base = await checkBaseUrl(ctx, input.sellerBaseUrl)
    const { providerModel = input.model } = input
    requireEndpoint({ provider: base.provider, apiFormat: input.apiFormat }, facts.model)
    const seller = actor.account
    const key = await chooseKey(ctx, seller, base, input)
    await refuseTwin(ctx, seller, { fingerprint: key.fingerprint, baseUrl: base.text, model })
    const place = { baseUrl: base.url, apiFormat: input.apiFormat, apiKey: key.secret, provider: base.provider }
    // A list of models does not show the credit behind the key, so the probe calls the model itself.
    const probed = await probeListing(ctx, { ...place, facts, providerModel, asksModel: 'text' })
    if (probed.refusal !== undefined) throw listingRefused(base, probed, probed.refusal)
    const { apiFormat, probes, cost, without } = probed

    const { capDailyUsd = null, passes, payoutAddress = null, label = null } = input
    const terms = { ...pricing, capDailyMicro: capDailyUsd, passes: passes ?? [], payoutAddress, label }
    const newOffer = { model, base, key, apiFormat, providerModel, without, probeCostMicro: cost, ...terms }
    const offer = await storeNewOffer(ctx, seller, newOffer, (made, trx) => viewOffer({ ...ctx, db: trx }, made))
    await makeFirstToken(ctx, seller, newOffer, key)
    await ctx.publication.publishOffers([model])
    return { ...(await viewOffer(ctx, offer)), probeCostUsd: shownCost(cost), probes }
  },
})

/** Reads an offer for its seller. Throws `not_found`, also for another seller's offer. */
export async function readOffer(ctx: ViewCtx, seller: AccountId, id: string): Promise<OfferView> {
  return viewOffer(ctx, await findOffer(ctx.db, seller, id))
}

async function viewOffer(ctx: ViewCtx, offer: StoredOffer | undefined): Promise<OfferView> {
  const [view] = offer === undefined ? [] : await viewOffers(ctx, [offer])
  if (view === undefined) throw new AppError('not_found')
  return view
}
