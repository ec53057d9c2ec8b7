import { z } from 'zod'
import { upsertCredential } from '#control-plane/db/credentials.ts'
import type { Trx } from '#control-plane/db/database.ts'
import type { OwnProviderRow } from '#control-plane/db/own-providers.ts'
import { deleteOwnProvider, insertOwnProvider, listOwnProviders, lockPolicy } from '#control-plane/db/own-providers.ts'
import { markUnpublished } from '#control-plane/db/snapshot.ts'
import type { BuyerActor } from '#control-plane/operation/actor.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { Label, ModelName } from '#control-plane/services/input-fields.ts'
import { makeFirstToken } from '#control-plane/services/offers/renew-tokens.ts'
import type { CheckedBaseUrl } from '#control-plane/services/providers/base-url.ts'
import { checkBaseUrl } from '#control-plane/services/providers/base-url.ts'
import type { ModelFacts } from '#control-plane/services/providers/model-facts.ts'
import { probeManner, readFactsOf } from '#control-plane/services/providers/model-facts.ts'
import { probeAs } from '#control-plane/services/providers/probe-as.ts'
import { ProbeCost, shownCost } from '#control-plane/services/providers/probe-cost.ts'
import { isAccount, noList, ProviderKey, readKey } from '#control-plane/services/providers/provider-key.ts'
import { accountDocumentName } from '#shared/contract/snapshot.ts'
import { AppError } from '#shared/errors.ts'
import type { ProtocolName } from '#shared/protocols/index.ts'
import { DEFAULT_PROTOCOL, hasListing, ProtocolNameSchema } from '#shared/protocols/index.ts'
import { fingerprintCredential, sealCredential } from '#shared/seal.ts'
import { oneLine } from '#shared/texts.ts'
import type { Usage } from '#shared/usage.ts'
import { publishPolicy } from './buyer-policy.ts'

/** Own providers that an account may have. */
const MAX_OWN_PROVIDERS = 50
/** Characters of a fingerprint that distinguish keys in a view. */
const SHOWN_FINGERPRINT_CHARS = 8

/** A buyer's own provider without its key. `createdAt` is Unix milliseconds. */
export const OwnProviderViewSchema = z
  .object({
    id: z.string(),
    /** Null serves every model, after the marketplace's offers. */
    model: z.string().nullable(),
    provider: z.string(),
    baseUrl: z.string(),
    apiFormat: ProtocolNameSchema,
    providerModel: z.string().nullable(),
    priority: z.number(),
    label: z.string().nullable(),
    keyFingerprint: z.string(),
    createdAt: z.number(),
    /** The cost of the test call, for a key that was just added. */
    probeCostUsd: ProbeCost.optional(),
  })
  .meta({
    id: 'OwnProvider',
    description: 'A provider of a buyer’s own, tried before the market or after it. The key is not shown.',
  })
export type OwnProviderView = z.infer<typeof OwnProviderViewSchema>

function viewOf(row: OwnProviderRow): OwnProviderView {
  const { id, model, provider, baseUrl, apiFormat, providerModel, priority, label, fingerprint, createdAt } = row
  const keyFingerprint = fingerprint.slice(0, SHOWN_FINGERPRINT_CHARS)
  const facts = { id, model, provider, baseUrl, apiFormat, providerModel, priority, label }
  return { ...facts, keyFingerprint, createdAt: createdAt.getTime() }
}

const CreateInput = z.strictObject({
  model: ModelName.nullable(),
  baseUrl: oneLine(2_048).min(1),
  apiKey: ProviderKey,
  priority: z.number().int().min(0).max(1_000).default(0),
  apiFormat: ProtocolNameSchema.default(DEFAULT_PROTOCOL),
  /** The model's name at the provider. It defaults to the given name. */
  providerModel: ModelName.nullish(),
  label: Label.nullish(),
})

/**
 * Adds a provider key of the buyer's own, after a probe of the provider. Throws `invalid_base_url`, `unknown_model`,
 * `provider_probe_failed`, and `conflict` above {@link MAX_OWN_PROVIDERS}.
 */
export const createOwnProvider = defineOperation({
  name: 'own-provider.create',
  summary: 'Create your own provider key',
  about:
    'Calls for its model try this key before the marketplace; with `model: null`, after it. Such calls cost 0 here. We first ask the provider for one token; `probe_cost_usd` is its cost at your provider.',
  example: {
    model: 'gpt-5-mini',
    baseUrl: 'https://api.example.com/v1',
    apiKey: 'sk-example-provider-key',
    priority: 1,
  },
  access: 'buyer-account',
  input: CreateInput,
  limit: 'probe',
  idempotency: 'accepted',
  output: OwnProviderViewSchema,
  run: async (ctx, actor, input): Promise<OwnProviderView> => {
    const facts = await readFactsOf(ctx, input.model ?? '')
    const model = input.model === null ? null : facts.model?.id
    if (model === undefined) throw new AppError('unknown_model', { param: 'model' })
    if (model === null && input.providerModel != null) {
      const message = 'Leave the provider’s model out when model is null.'
      throw new AppError('invalid_request', { message, param: 'providerModel' })
    }
    if (model === null && !hasListing(input)) throw noList(input)
    const base = await checkBaseUrl(ctx, input.baseUrl)
    const providerModel = model === null ? null : (input.providerModel ?? input.model)
    const apiKey = readKey(input, input.apiKey)
    const { apiFormat, usage } = await answeredAs(ctx, base, {
      apiFormat: input.apiFormat,
      apiKey,
      facts,
      providerModel,
    })
    const probeCostUsd = shownCost(facts.priceOf(usage))
    const fingerprint = fingerprintCredential(ctx.settings.fingerprintPepper, base.host, apiKey)
    const key = { secret: apiKey, fingerprint }
    const id = ctx.ids.make('prv')
    const at = ctx.clock.now()
    const { account } = actor
    const change = async (trx: Trx) => {
      await lockPolicy(trx, account)
      if ((await listOwnProviders(trx, account)).length >= MAX_OWN_PROVIDERS) {
        const message = `An account has at most ${MAX_OWN_PROVIDERS} providers of its own.`
        throw new AppError('conflict', { message, detail: { limit: MAX_OWN_PROVIDERS } })
      }
      const newId = ctx.ids.make('crd')
      const binding = { id: newId, tenant: account, host: base.host, purpose: 'own-provider' } as const
      const credentialId = await upsertCredential(trx, {
        id: newId,
        tenant: account,
        sealed: sealCredential(ctx.settings.keyRing, binding, apiKey),
        baseUrl: base.text,
        fingerprint: key.fingerprint,
        label: input.label ?? null,
        createdAt: at,
        isAccount: isAccount({ apiFormat }, key),
      })
      const facts = { apiFormat, priority: input.priority, label: input.label ?? null }
      const place = { provider: base.provider.id, baseUrl: base.text, model, providerModel }
      await markUnpublished(trx, accountDocumentName(account), at)
      await insertOwnProvider(trx, { id, account, credentialId, at, ...place, ...facts })
      const added = (await listOwnProviders(trx, account)).find((row) => row.id === id)
      if (added === undefined) throw new AppError('internal_error')
      return viewOf(added)
    }
    const added = await ctx.change(change, (after) => ({ subject: id, before: null, after }))
    await makeFirstToken(ctx, account, { apiFormat }, key)
    await publishPolicy(ctx, account)
    return { ...added, probeCostUsd }
  },
})

type FirstProbe = Pick<z.output<typeof CreateInput>, 'apiFormat' | 'apiKey'> & {
  readonly facts: ModelFacts
  readonly providerModel: string | null
}
type Answered = { readonly apiFormat: ProtocolName; readonly usage: Usage }

/**
 * The protocol in which a provider answers for a model, and the usage of the probe. Throws `provider_probe_failed` when
 * it does not answer.
 */
async function answeredAs(
  ctx: Pick<Ctx, 'probe'>,
  base: CheckedBaseUrl,
  { facts, ...asked }: FirstProbe,
): Promise<Answered> {
  const target = { baseUrl: base.url, ...asked, ...probeManner(facts) }
  const { apiFormat, result } = await probeAs(ctx, { ...target, asksModel: 'text' })
  if (result.isAccepted) return { apiFormat, usage: result.usage }
  throw new AppError('provider_probe_failed', {
    message: `The provider did not accept the test call: ${result.reason}.`,
    detail: { provider: base.provider.id, provider_status: result.status, reason: result.reason },
  })
}

/** The buyer's own providers, in the order in which calls try them. */
export const OwnProviderListSchema = z.object({
  providers: z.array(OwnProviderViewSchema).readonly(),
})
export type OwnProviderList = z.infer<typeof OwnProviderListSchema>

export const listBuyerProviders = defineOperation({
  name: 'own-provider.list',
  summary: 'List your own provider keys',
  about: 'The answer leaves out the secrets.',
  access: 'buyer',
  input: z.strictObject({}),
  limit: 'read',
  idempotency: 'none',
  output: OwnProviderListSchema,
  run: async (ctx, actor): Promise<OwnProviderList> => ({
    providers: (await listOwnProviders(ctx.db, actor.account)).map(viewOf),
  }),
})

/**
 * Removes an own provider. Its key is deleted with the last row that uses it. Throws `not_found`, also for another
 * buyer's provider.
 */
export const removeOwnProvider = defineOperation({
  name: 'own-provider.remove',
  summary: 'Delete your own provider key',
  about: 'Calls no longer use the key.',
  example: { id: 'own_01K00000000000000000000000' },
  access: 'buyer-account',
  input: z.strictObject({ id: oneLine(100) }),
  limit: 'write',
  idempotency: 'none',
  output: OwnProviderViewSchema,
  run: async (ctx, actor, { id }): Promise<OwnProviderView> => {
    const removed = await ctx.change(
      (trx) => remove(trx, actor, { id, at: ctx.clock.now() }),
      (removed) => ({ subject: id, before: removed, after: null }),
    )
    await publishPolicy(ctx, actor.account)
    return removed
  },
})

async function remove(trx: Trx, { account }: BuyerActor, { id, at }: { readonly id: string; readonly at: number }) {
  await lockPolicy(trx, account)
  const found = (await listOwnProviders(trx, account)).find((row) => row.id === id)
  if (found === undefined || !(await deleteOwnProvider(trx, account, id))) throw new AppError('not_found')
  await markUnpublished(trx, accountDocumentName(account), at)
  return viewOf(found)
}

/** Serves the former endpoint of fallback keys. Throws `gone` with the replacement. */
export const retiredFallbackKey = defineOperation({
  name: 'fallback-key.retired',
  summary: 'Retired',
  about: 'Always returns 410 with the address of the replacement.',
  access: 'public',
  input: z.unknown(),
  limit: 'read',
  idempotency: 'none',
  output: z.never(),
  run: async (): Promise<never> => {
    throw new AppError('gone', {
      message: 'Fallback keys are own providers now: POST /v1/buyer/providers with model null.',
      detail: { use: { method: 'POST', path: '/v1/buyer/providers', body: { model: null } } },
    })
  },
})
