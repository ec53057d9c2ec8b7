import type { SellerActor } from '#control-plane/actor.ts'
import { findModelByName } from '#control-plane/db/catalog.ts'
import { findCredential, upsertCredential } from '#control-plane/db/credentials.ts'
import { refusalOf, transact } from '#control-plane/db/database.ts'
import { findActiveTwin, findOffer, insertOffer } from '#control-plane/db/offers.ts'
import type { Ctx } from '#control-plane/operation.ts'
import { defineOperation } from '#control-plane/operation.ts'
import { SealedCredentialSchema } from '#shared/contract/sealed-credential.ts'
import { AppError } from '#shared/errors.ts'
import type { AccountId } from '#shared/ids.ts'
import { fingerprintCredential, openCredential, sealCredential } from '#shared/seal.ts'
import type { Secret } from '#shared/secret.ts'
import { publishOffers } from '../snapshot.ts'
import type { CheckedBaseUrl } from './base-url.ts'
import { checkBaseUrl } from './base-url.ts'
import { CreateOfferInput, readPricing } from './input.ts'
import type { OfferView } from './view.ts'
import { OfferViewSchema, viewOffers } from './view.ts'

/** Name of the index that lets one active offer per credential, address and model stand. */
export const ONE_ACTIVE = 'offer_one_active_per_credential'

/**
 * Lists capacity. The provider is asked first: a key it refuses, or a model it does not serve, is
 * `provider_probe_failed`. Throws also `unknown_model`, `invalid_base_url`, `duplicate_offer_for_credential`, and
 * `not_found` for a saved key that is not the caller's.
 */
export const createOffer = defineOperation({
  name: 'offer.create',
  access: 'seller',
  input: CreateOfferInput,
  limit: 'write',
  idempotency: 'required',
  output: OfferViewSchema,
  run: async (ctx, actor, input): Promise<OfferView> => {
    const pricing = readPricing(input)
    if (pricing === undefined) {
      throw new AppError('invalid_request', { message: 'Name a discount or a cost_multiplier.', param: 'discount' })
    }
    const model = await findModelByName(ctx.db, input.model)
    if (model === undefined) throw new AppError('unknown_model', { param: 'model' })
    const base = await checkBaseUrl(ctx, input.sellerBaseUrl)
    const key = await chooseKey(ctx, actor, base, input)
    await refuseTwin(ctx, actor.account, { fingerprint: key.fingerprint, baseUrl: base.text, model })
    const providerModel = input.providerModel ?? input.model
    await requireServed(ctx, { base, apiFormat: input.apiFormat, apiKey: key.secret, providerModel })

    const id = ctx.ids.make('ofr')
    const at = ctx.clock.now()
    const tenant = actor.account
    try {
      await transact(ctx.db, async (trx) => {
        const newId = ctx.ids.make('crd')
        const binding = { id: newId, tenant, host: base.provider.host, purpose: 'offer' } as const
        const credentialId = await upsertCredential(trx, {
          id: newId,
          tenant,
          sealed: sealCredential(ctx.settings.keyRing, binding, key.secret),
          baseUrl: base.text,
          fingerprint: key.fingerprint,
          label: input.label ?? null,
          createdAt: at,
        })
        await insertOffer(trx, {
          id,
          sellerAccount: tenant,
          model,
          provider: base.provider.id,
          credentialId,
          fingerprint: key.fingerprint,
          baseUrl: base.text,
          apiFormat: input.apiFormat,
          providerModel,
          ...pricing,
          capDailyMicro: input.capDailyUsd ?? null,
          payoutAddress: input.payoutAddress ?? null,
          label: input.label ?? null,
          at,
        })
      })
    } catch (error) {
      if (refusalOf(error)?.constraint !== ONE_ACTIVE) throw error
      await refuseTwin(ctx, tenant, { fingerprint: key.fingerprint, baseUrl: base.text, model })
      throw new AppError('duplicate_offer_for_credential', { cause: error })
    }
    await publishOffers(ctx, [model])
    const view = await readOffer(ctx, tenant, id)
    ctx.note({ subject: id, before: null, after: view })
    return view
  },
})

/** One offer of a seller as it sees it. Throws `not_found`, for another seller's too. */
export async function readOffer(ctx: Ctx, seller: AccountId, id: string): Promise<OfferView> {
  const offer = await findOffer(ctx.db, seller, id)
  const [view] = offer === undefined ? [] : await viewOffers(ctx, [offer])
  if (view === undefined) throw new AppError('not_found')
  return view
}

type Twin = { readonly fingerprint: string; readonly baseUrl: string; readonly model: string }

/** Throws `duplicate_offer_for_credential` when an active twin stands; its id is told to its owner only. */
export async function refuseTwin(ctx: Pick<Ctx, 'db'>, caller: AccountId, twin: Twin): Promise<void> {
  const found = await findActiveTwin(ctx.db, twin)
  if (found === undefined) return
  const detail = found.sellerAccount === caller ? { existing_offer_id: found.id, offer_id: found.id } : {}
  throw new AppError('duplicate_offer_for_credential', { detail })
}

type KeyChoice = { readonly apiKey?: Secret | undefined; readonly reuseKeyFingerprint?: string | undefined }

/** The provider key: the one given, or the saved one of the caller that a fingerprint names. */
async function chooseKey(
  ctx: Pick<Ctx, 'db' | 'settings'>,
  actor: SellerActor,
  base: CheckedBaseUrl,
  choice: KeyChoice,
): Promise<{ secret: Secret; fingerprint: string }> {
  const { apiKey, reuseKeyFingerprint } = choice
  if ((apiKey === undefined) === (reuseKeyFingerprint === undefined)) {
    throw new AppError('invalid_request', { message: 'Name an api_key or a reuse_key_fingerprint.', param: 'apiKey' })
  }
  const { host } = base.provider
  if (apiKey !== undefined) {
    return { secret: apiKey, fingerprint: fingerprintCredential(ctx.settings.fingerprintPepper, host, apiKey) }
  }
  const fingerprint = reuseKeyFingerprint ?? ''
  const saved = await findCredential(ctx.db, actor.account, fingerprint)
  if (saved === undefined) throw new AppError('not_found', { message: 'No such saved key.' })
  // A key is sent to the host it was saved for, and to no other.
  if (saved.host !== host) throw new AppError('invalid_base_url', { param: 'sellerBaseUrl' })
  return { secret: openCredential(ctx.settings.keyRing, SealedCredentialSchema.parse(saved.sealed)), fingerprint }
}

type Asked = {
  readonly base: CheckedBaseUrl
  readonly apiFormat: 'openai' | 'messages'
  readonly apiKey: Secret
  readonly providerModel: string
}

async function requireServed(ctx: Pick<Ctx, 'probe'>, { base, ...asked }: Asked): Promise<void> {
  const result = await ctx.probe({ ...asked, baseUrl: base.url })
  if (result.isAccepted) return
  throw new AppError('provider_probe_failed', {
    message: `The provider did not accept the probe: ${result.reason}.`,
    detail: { provider: base.provider.id, provider_status: result.status, reason: result.reason },
  })
}
