import type { z } from 'zod'
import type { Trx } from '#control-plane/db/database.ts'
import type { Preferences } from '#control-plane/db/own-providers.ts'
import { findPreferences, listOwnProviders } from '#control-plane/db/own-providers.ts'
import type { AccountPolicySchema } from '#shared/contract/key-record.ts'
import { SealedCredentialSchema } from '#shared/contract/sealed-credential.ts'
import { isId } from '#shared/ids.ts'

/** The preferences of an account that has set none. */
export const NO_PREFERENCES: Preferences = { allowsUntrusted: false, providersBlocked: [], minDiscountPct: null }

/**
 * Builds the document that the data plane reads for an account: its preferences, and its own providers with sealed
 * keys.
 */
export async function buildAccountPolicy(trx: Trx, account: string): Promise<z.input<typeof AccountPolicySchema>> {
  if (!isId('acc', account)) throw new RangeError('not an account')
  const preferences = (await findPreferences(trx, account)) ?? NO_PREFERENCES
  const rows = await listOwnProviders(trx, account)
  return {
    v: 1,
    account,
    ...preferences,
    ownProviders: rows.map((row) => ({
      id: row.id,
      model: row.model,
      provider: row.provider,
      providerModel: row.providerModel,
      baseUrl: row.baseUrl,
      apiFormat: row.apiFormat,
      priority: row.priority,
      credential: SealedCredentialSchema.parse(row.sealed),
    })),
  }
}
