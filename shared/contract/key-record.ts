import { z } from 'zod'
import { ProtocolNameSchema } from '#shared/protocols/index.ts'
import { MicroUsdText } from './amount.ts'
import { SealedCredentialSchema } from './sealed-credential.ts'

/** A key as the data plane knows it. It stands in the Redis hash of keys under the HMAC of the key. */
export const KeyRecordSchema = z.object({
  v: z.literal(1),
  id: z.string().startsWith('key_'),
  type: z.enum(['buyer', 'seller', 'management']),
  account: z.string().startsWith('acc_'),
  wallet: z.string().nullable(),
  isRevoked: z.boolean(),
  /** Unix milliseconds, null for a key without an end. */
  expiresAt: z.number().int().nullable(),
  minDiscountPct: z.number().int().min(0).max(100).nullable(),
  providersBlocked: z.array(z.string()),
  /** Null leaves it to the account's preference. */
  allowsUntrusted: z.boolean().nullable(),
  capDailyMicro: MicroUsdText.nullable(),
  capMonthlyMicro: MicroUsdText.nullable(),
  ratePerMinute: z.number().int().positive().nullable(),
  modelsAllowed: z.array(z.string()).nullable(),
})
export type KeyRecord = z.infer<typeof KeyRecordSchema>

/** A buyer's own provider key: tried before the marketplace for its model, or after it when it is for all models. */
const OwnProviderSchema = z.object({
  id: z.string().startsWith('prv_'),
  model: z.string().nullable(),
  provider: z.string(),
  /** The model's name at the provider; null asks for the canonical one. */
  providerModel: z.string().nullable(),
  baseUrl: z.string(),
  apiFormat: ProtocolNameSchema,
  priority: z.number().int(),
  credential: SealedCredentialSchema,
})
export type OwnProvider = z.infer<typeof OwnProviderSchema>

/** Preferences and own providers of one account: a document of its own, fetched with the first key of the account. */
export const AccountPolicySchema = z.object({
  v: z.literal(1),
  account: z.string().startsWith('acc_'),
  allowsUntrusted: z.boolean(),
  providersBlocked: z.array(z.string()),
  minDiscountPct: z.number().int().min(0).max(100).nullable(),
  ownProviders: z.array(OwnProviderSchema),
})
export type AccountPolicy = z.infer<typeof AccountPolicySchema>
