import { z } from 'zod'
import { refusalOf } from '#control-plane/db/database.ts'
import type { StoredLentOffer } from '#control-plane/db/lent-offers.ts'
import { findActiveLender, findLentOffer, insertLentOffer } from '#control-plane/db/lent-offers.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import type { KeyProbeResult } from '#control-plane/ports/provider/probe.ts'
import { requireResource } from '#control-plane/services/catalog/resources.ts'
import { requireFeature } from '#control-plane/services/require-feature.ts'
import type { Resource } from '#shared/catalog/resources.ts'
import { lentDocumentName } from '#shared/contract/snapshot.ts'
import { AppError } from '#shared/errors.ts'
import type { AccountId } from '#shared/ids.ts'
import { applyText } from '#shared/rules/apply-rule.ts'
import { parseRule } from '#shared/rules/parse-rule.ts'
import { fingerprintCredential, sealCredential } from '#shared/seal.ts'
import type { Secret } from '#shared/secret.ts'
import {
  CreateLentOfferInput,
  checkDeclared,
  OPEN_TERMS,
  ProbeKeyInput,
  refuseForeignFields,
  termsAfter,
} from './input.ts'
import type { LentOfferView, LentViewCtx } from './view.ts'
import { LentOfferViewSchema, viewLentOffers } from './view.ts'

/** Name of the index that allows one active offer for each key, over all sellers. */
const ONE_ACTIVE = 'lent_offer_one_active_per_key'

const KeyProbeSchema = z.union([
  z.object({ ok: z.literal(true), latencyMs: z.number(), traits: z.array(z.string()).readonly() }),
  z.object({ ok: z.literal(false), error: z.string(), status: z.number().nullable() }),
])
export type KeyProbeView = z.infer<typeof KeyProbeSchema>

/** Asks the provider once whether a key is good, and which traits its account shows. The key is not stored. */
export const probeKey = defineOperation({
  name: 'lent-key.probe',
  summary: 'Test a key of a resource',
  about:
    'Makes one free call with the key, and answers the traits of its account. A bad key is `ok: false`. We do not store the key.',
  example: { resourceId: 'provider-p2', apiKey: 'sk-example-provider-key' },
  access: 'seller',
  input: ProbeKeyInput,
  limit: 'probe',
  idempotency: 'none',
  isAudited: false,
  output: KeyProbeSchema,
  run: async (ctx, _actor, { resourceId, apiKey }): Promise<KeyProbeView> => {
    const record = await requireResource(ctx, resourceId, 'resourceId')
    const result = await askProvider(ctx, record, apiKey)
    if (!result.isAccepted) return { ok: false, error: result.reason, status: result.status }
    return { ok: true, latencyMs: result.latencyMs, traits: shownTraits(record, result) }
  },
})

/**
 * Lends a key, after the provider has accepted it. Throws `provider_probe_failed` when the provider refuses the key.
 * Also throws `invalid_request`, `api_secret_unsupported`, `pricing_multiplier_unsupported`, and
 * `duplicate_offer_for_credential` while the key has another active offer, whose id only its owner gets.
 */
export const createLentOffer = defineOperation({
  name: 'lent-offer.create',
  summary: 'Lend a key',
  about:
    'Lends a whole provider account, at a discount off the provider’s price, within your rules. We test the key first, then seal it and never show it again. A key can be lent once at a time, over all sellers.',
  example: {
    resourceType: 'provider-p2',
    apiKey: 'sk-example-provider-key',
    discountPercent: 30,
    ackPersistsState: true,
    ackProviderTerms: true,
    capDailyUsd: 25,
  },
  access: 'seller',
  input: CreateLentOfferInput,
  limit: 'write',
  idempotency: 'accepted',
  output: LentOfferViewSchema,
  run: async (ctx, actor, input): Promise<LentOfferView> => {
    refuseForeignFields(input)
    await requireFeature(ctx, 'new_offers')
    const record = await requireResource(ctx, input.resourceType, 'resourceType')
    const { resourceType: _, apiKey, traits, ...changes } = input
    const terms = termsAfter(record, OPEN_TERMS, changes)
    checkDeclared(record, traits)
    const seller = actor.account
    const fingerprint = fingerprintCredential(ctx.settings.fingerprintPepper, record.id, apiKey)
    await refuseLentTwice(ctx, seller, fingerprint)
    const result = await askProvider(ctx, record, apiKey)
    if (!result.isAccepted) {
      const { reason, status } = result
      throw new AppError('provider_probe_failed', {
        message: `The provider did not accept the test call: ${reason}.`,
        detail: { resource: record.id, provider_status: status, reason },
      })
    }
    const [id, credentialId, at] = [ctx.ids.make('ofr'), ctx.ids.make('crd'), ctx.clock.now()]
    const binding = { id: credentialId, tenant: seller, host: record.id, purpose: 'resource' } as const
    const sealed = sealCredential(ctx.settings.keyRing, binding, apiKey)
    const probed = shownTraits(record, result)
    const offer = {
      id,
      sellerAccount: seller,
      resource: record.id,
      credentialId,
      fingerprint,
      sealed,
      at,
      ...terms,
      traitsProbed: probed,
      traitsDeclared: [...new Set(traits)],
    }
    await orLentTwice(ctx, seller, fingerprint, () =>
      ctx.change(
        (trx) => insertLentOffer(trx, offer),
        async (_made, trx) => ({
          subject: id,
          before: null,
          after: await readLentOffer({ ...ctx, db: trx }, seller, id),
        }),
      ),
    )
    await ctx.publication.publishSoon([lentDocumentName(record.id)])
    return readLentOffer(ctx, seller, id)
  },
})

/** Reads a lent key for its seller. Throws `not_found`, also for another seller's key. */
export async function readLentOffer(ctx: LentViewCtx, seller: AccountId, id: string): Promise<LentOfferView> {
  return viewLentOffer(ctx, await findLentOffer(ctx.db, seller, id))
}

export async function viewLentOffer(ctx: LentViewCtx, offer: StoredLentOffer | undefined): Promise<LentOfferView> {
  const [view] = offer === undefined ? [] : await viewLentOffers(ctx, [offer])
  if (view === undefined) throw new AppError('not_found')
  return view
}

/**
 * Throws `duplicate_offer_for_credential` when the key has another active offer. Only its owner gets its id, so no
 * seller learns who else lends a key.
 */
async function refuseLentTwice(ctx: Pick<Ctx, 'db'>, caller: AccountId, fingerprint: string): Promise<void> {
  const activeLender = await findActiveLender(ctx.db, fingerprint)
  if (activeLender === undefined) return
  const detail =
    activeLender.sellerAccount === caller ? { existing_offer_id: activeLender.id, offer_id: activeLender.id } : {}
  throw new AppError('duplicate_offer_for_credential', { detail })
}

/** Runs a change. A refusal by the one-active index becomes the error of {@link refuseLentTwice}. */
export async function orLentTwice<Result>(
  ctx: Pick<Ctx, 'db'>,
  caller: AccountId,
  fingerprint: string,
  run: () => Promise<Result>,
): Promise<Result> {
  try {
    return await run()
  } catch (error) {
    if (refusalOf(error)?.constraint !== ONE_ACTIVE) throw error
    await refuseLentTwice(ctx, caller, fingerprint)
    throw new AppError('duplicate_offer_for_credential', { cause: error })
  }
}

/** Sends the record's probe with a key. */
async function askProvider(ctx: Pick<Ctx, 'probeKey'>, record: Resource, apiKey: Secret): Promise<KeyProbeResult> {
  const { probe, credential } = record
  const host = record.hosts.find(({ role }) => role === probe.host)
  if (host === undefined) throw new AppError('internal_error')
  return ctx.probeKey({ url: new URL(host.baseUrl + probe.path), ...credential, apiKey, accepts: probe.accepts })
}

/** The traits of a record that the probe's answer shows. */
function shownTraits({ traits }: Resource, { answer }: Extract<KeyProbeResult, { isAccepted: true }>): string[] {
  return traits.flatMap(({ name, shownBy }) => {
    const value = shownBy && applyText(parseRule(shownBy.at), { answer })
    return value !== undefined && shownBy?.isOneOf.includes(value) ? [name] : []
  })
}
