import type { z } from 'zod'
import type { Trx } from '#control-plane/db/database.ts'
import type { OwnProviderRow, Preferences } from '#control-plane/db/own-providers.ts'
import { findPreferences, listOwnProviders } from '#control-plane/db/own-providers.ts'
import type { AccountPolicySchema } from '#shared/contract/key-record.ts'
import { SealedCredentialSchema } from '#shared/contract/sealed-credential.ts'
import { isId } from '#shared/ids.ts'

/** The preferences of an account that has set none. */
export const NO_PREFERENCES: Preferences = { allowsUntrusted: false, providersBlocked: [], minDiscountPct: null }

/**
 * Builds the data plane's document for an account: its preferences, and its own providers with sealed keys. A service
 * account is replaced by its token, and left out without one.
 */
export async function buildAccountPolicy(
  trx: Trx,
  account: string,
  at: number,
): Promise<z.input<typeof AccountPolicySchema>> {
  if (!isId('acc', account)) throw new RangeError('not an account')
  const preferences = (await findPreferences(trx, account)) ?? NO_PREFERENCES
  const rows = await listOwnProviders(trx, account)
  return {
    v: 1,
    account,
    ...preferences,
    ownProviders: rows
      .filter((row) => isCallable(row, at))
      .map((row) => ({
        id: row.id,
        model: row.model,
        provider: row.provider,
        providerModel: row.providerModel,
        baseUrl: row.baseUrl,
        apiFormat: row.apiFormat,
        priority: row.priority,
        credential: SealedCredentialSchema.parse(row.isAccount ? row.token : row.sealed),
      })),
  }
}

function isCallable({ isAccount, tokenEndsAt }: OwnProviderRow, at: number): boolean {
  return !isAccount || (tokenEndsAt !== null && tokenEndsAt.getTime() > at)
}
