import { z } from 'zod'
import type { Preferences } from '#control-plane/db/own-providers.ts'
import { findPreferences, lockPolicy, upsertPreferences } from '#control-plane/db/own-providers.ts'
import { markUnpublished } from '#control-plane/db/snapshot.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { requireKnownProviders } from '#control-plane/services/catalog/known-providers.ts'
import { accountDocumentName } from '#shared/contract/snapshot.ts'
import type { AccountId } from '#shared/ids.ts'
import { oneLine } from '#shared/texts.ts'
import { NO_PREFERENCES } from './account-policy.ts'

/** Publishes an account's policy. Never throws. The reconciler repeats a failed publication. */
export function publishPolicy(ctx: Pick<Ctx, 'publication'>, account: AccountId): Promise<void> {
  return ctx.publication.publishSoon([accountDocumentName(account)])
}

const PreferencesInput = z.strictObject({
  allowUntrusted: z.boolean().default(false),
  providersBlocked: z.array(oneLine(300).min(1)).max(100).default([]),
  minDiscountPct: z.number().int().min(0).max(100).nullable().default(null),
})

/** Preferences as their buyer sees them. */
export const PreferencesViewSchema = z
  .object({
    allowUntrusted: z.boolean(),
    providersBlocked: z.array(z.string()),
    minDiscountPct: z.number().int().nullable(),
  })
  .meta({
    id: 'Preferences',
    description: 'The preferences for all calls of an account: discount floor, blocked providers and trust.',
  })
export type PreferencesView = z.infer<typeof PreferencesViewSchema>

function viewOf({ allowsUntrusted, providersBlocked, minDiscountPct }: Preferences): PreferencesView {
  return { allowUntrusted: allowsUntrusted, providersBlocked, minDiscountPct }
}

/** Reads the account's preferences for every call. An account without any gets the defaults. */
export const getPreferences = defineOperation({
  name: 'preferences.get',
  summary: 'Get the routing preferences',
  about: 'The preferences apply to every call of the account. A call can be stricter.',
  access: 'buyer',
  input: z.strictObject({}),
  limit: 'read',
  idempotency: 'none',
  output: PreferencesViewSchema,
  run: async (ctx, actor): Promise<PreferencesView> =>
    viewOf((await findPreferences(ctx.db, actor.account)) ?? NO_PREFERENCES),
})

/** Replaces the account's preferences. An absent field gets its default. */
export const putPreferences = defineOperation({
  name: 'preferences.put',
  summary: 'Replace the routing preferences',
  about: 'Replaces all three preferences. A preference that you leave out returns to its default.',
  example: { allowUntrusted: false, providersBlocked: [], minDiscountPct: 5 },
  access: 'buyer-account',
  input: PreferencesInput,
  limit: 'write',
  idempotency: 'none',
  output: PreferencesViewSchema,
  run: async (ctx, actor, input): Promise<PreferencesView> => {
    const preferences: Preferences = {
      allowsUntrusted: input.allowUntrusted,
      providersBlocked: input.providersBlocked,
      minDiscountPct: input.minDiscountPct,
    }
    await ctx.change(
      async (trx) => {
        await lockPolicy(trx, actor.account)
        const storedPreferences = await findPreferences(trx, actor.account)
        await requireKnownProviders(trx, {
          names: input.providersBlocked,
          held: storedPreferences?.providersBlocked ?? [],
          param: 'providersBlocked',
        })
        await upsertPreferences(trx, actor.account, preferences, ctx.clock.now())
        await markUnpublished(trx, accountDocumentName(actor.account), ctx.clock.now())
        return storedPreferences
      },
      (before) => ({
        subject: actor.account,
        before: before === undefined ? null : viewOf(before),
        after: viewOf(preferences),
      }),
    )
    await publishPolicy(ctx, actor.account)
    return viewOf(preferences)
  },
})
