import { z } from 'zod'
import { upsertCredential } from '#control-plane/db/credentials.ts'
import type { Trx } from '#control-plane/db/database.ts'
import { upsertProbe } from '#control-plane/db/offer-probes.ts'
import type { StoredOffer } from '#control-plane/db/offers.ts'
import { addProbeCost, lockOffer, updateOfferCredential } from '#control-plane/db/offers.ts'
import type { RunCtx } from '#control-plane/operation/operation.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { checkBaseUrl } from '#control-plane/services/providers/base-url.ts'
import { readFactsOf } from '#control-plane/services/providers/model-facts.ts'
import { shownCost } from '#control-plane/services/providers/probe-cost.ts'
import type { ChosenKey } from '#control-plane/services/providers/provider-key.ts'
import { isAccount, ProviderKey, readKey } from '#control-plane/services/providers/provider-key.ts'
import { AppError } from '#shared/errors.ts'
import type { AccountId } from '#shared/ids.ts'
import { fingerprintCredential, sealCredential } from '#shared/seal.ts'
import { oneLine } from '#shared/texts.ts'
import { readOffer } from './create.ts'
import { requireOwnOffer } from './own-offer.ts'
import type { ProbedListing } from './probe-listing.ts'
import { listingRefused, probeListing } from './probe-listing.ts'
import { makeFirstToken } from './renew-tokens.ts'
import { clearHealth } from './reset-health.ts'
import { nextState } from './state.ts'
import { FIRST_PROBE_MS, orTwin, refuseTwin } from './store-offer.ts'
import type { OfferView } from './view.ts'
import { OfferViewSchema } from './view.ts'

/**
 * Gives an offer that is not inactive another provider key, after its provider has accepted the key. The health record
 * of the old key is cleared, and a delisting stays. Throws `provider_probe_failed`, `duplicate_offer_for_credential`.
 */
export const rotateCredential = defineOperation({
  name: 'offer.rotate-credential',
  summary: 'Replace the provider key of an offer',
  about:
    'We test the new key first. The old key stays in use until the test succeeds. `probes` has the results, `probe_cost_usd` their cost at your provider.',
  example: { apiKey: 'sk-example-provider-key-two' },
  access: 'seller',
  input: z.strictObject({ id: oneLine(100), apiKey: ProviderKey }),
  limit: 'probe',
  idempotency: 'none',
  output: OfferViewSchema,
  run: async (ctx, actor, { id, apiKey: secret }): Promise<OfferView> => {
    const seller = actor.account
    const offer = await requireOwnOffer(ctx, seller, id)
    nextState(offer, 'rotate')
    const base = await checkBaseUrl(ctx, offer.baseUrl)
    const apiKey = readKey(offer, secret)
    const fingerprint = fingerprintCredential(ctx.settings.fingerprintPepper, base.host, apiKey)
    const twin = { fingerprint, baseUrl: offer.baseUrl, model: offer.model }
    await refuseTwin(ctx, seller, twin, offer.id)
    const { apiFormat, providerModel } = offer
    // A list of models does not show the credit behind the key, so the probe calls the model itself.
    const probed = await probeListing(ctx, {
      baseUrl: base.url,
      provider: base.provider,
      apiFormat,
      apiKey,
      facts: await readFactsOf(ctx, offer.model),
      providerModel,
      asksModel: 'text',
    })
    if (probed.refusal !== undefined) throw listingRefused(base, probed, probed.refusal)
    const key = { secret: apiKey, fingerprint }
    await orTwin(ctx, seller, twin, () => storeKey(ctx, seller, { offer, key, host: base.host, probed }))
    const detail = 'another key was put under the offer'
    await clearHealth(ctx, { offer: offer.id, model: offer.model, action: 'credential_rotated', detail })
    await makeFirstToken(ctx, seller, offer, key)
    await ctx.publication.publishOffers([offer.model])
    return { ...(await readOffer(ctx, seller, id)), probeCostUsd: shownCost(probed.cost), probes: probed.probes }
  },
})

type Rotation = {
  readonly offer: StoredOffer
  readonly key: ChosenKey
  readonly host: string
  readonly probed: ProbedListing
}

async function storeKey(
  ctx: Pick<RunCtx, 'clock' | 'ids' | 'settings' | 'change'>,
  seller: AccountId,
  { offer, key, host, probed }: Rotation,
): Promise<void> {
  const at = ctx.clock.now()
  const newId = ctx.ids.make('crd')
  const binding = { id: newId, tenant: seller, host, purpose: 'offer' } as const
  const { baseUrl } = offer
  const store = async (trx: Trx) => {
    const locked = await lockOffer(trx, seller, offer.id)
    if (locked === undefined) throw new AppError('not_found')
    nextState(locked, 'rotate')
    const credentialId = await upsertCredential(trx, {
      id: newId,
      tenant: seller,
      sealed: sealCredential(ctx.settings.keyRing, binding, key.secret),
      baseUrl,
      fingerprint: key.fingerprint,
      label: offer.label,
      createdAt: at,
      isAccount: isAccount(offer, key),
    })
    const { fingerprint } = key
    await updateOfferCredential(trx, { id: offer.id, credentialId, fingerprint, without: probed.without, at })
    await addProbeCost(trx, offer.id, probed.cost)
    await upsertProbe(trx, { credentialId, baseUrl, nextAt: at + FIRST_PROBE_MS })
  }
  await ctx.change(store, () => ({
    subject: offer.id,
    before: { keyFingerprint: offer.fingerprint },
    after: { keyFingerprint: key.fingerprint },
  }))
}
