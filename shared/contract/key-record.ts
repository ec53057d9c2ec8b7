import { z } from 'zod'
import { ProtocolNameSchema } from '#shared/protocols/index.ts'
import { MicroUsdText } from './micro-usd-text.ts'
import { SealedCredentialSchema } from './sealed-credential.ts'

/** Most budgets of one call: that of its member and that of its workspace. */
const MAX_BUDGETS = 2
/** A monthly budget that counts the calls of a key, with the workspace or member that it is of. */
const KeyBudgetSchema = z.object({
  id: z.string().startsWith('bdg_'),
  of: z.string().regex(/^(wsp|usr)_/),
  limitMicro: MicroUsdText,
})
export type KeyBudget = z.infer<typeof KeyBudgetSchema>

/** A key for the data plane, in the Redis hash of keys under the HMAC of the key. */
export const KeyRecordSchema = z.object({
  v: z.literal(1),
  id: z.string().startsWith('key_'),
  type: z.enum(['buyer', 'seller', 'management']),
  account: z.string().startsWith('acc_'),
  wallet: z.string().nullable(),
  /** The owner's name of the key. Older records have none. */
  label: z.string().default(''),
  isRevoked: z.boolean(),
  /** True while the owner has frozen the key. Older records have none. */
  isFrozen: z.boolean().default(false),
  /** Unix milliseconds. Null for a key without an end. */
  expiresAt: z.number().int().nullable(),
  minDiscountPct: z.number().int().min(0).max(100).nullable(),
  providersBlocked: z.array(z.string()),
  /** Null leaves the decision to the account's preference. */
  allowsUntrusted: z.boolean().nullable(),
  capDailyMicro: MicroUsdText.nullable(),
  capMonthlyMicro: MicroUsdText.nullable(),
  /** Absent for a key without one. */
  budgets: z.array(KeyBudgetSchema).max(MAX_BUDGETS).optional(),
  ratePerMinute: z.number().int().positive().nullable(),
  modelsAllowed: z.array(z.string()).nullable(),
})
export type KeyRecord = z.infer<typeof KeyRecordSchema>

/**
 * A buyer's own provider key. It is tried before the marketplace for its model, or after it when it is for all models.
 */
const OwnProviderSchema = z.object({
  id: z.string().startsWith('prv_'),
  model: z.string().nullable(),
  provider: z.string(),
  /** The model's name at the provider. Null means the canonical name. */
  providerModel: z.string().nullable(),
  baseUrl: z.string(),
  apiFormat: ProtocolNameSchema,
  priority: z.number().int(),
  credential: SealedCredentialSchema,
})
export type OwnProvider = z.infer<typeof OwnProviderSchema>

/** Preferences and own providers of one account, in a document that is read with the account's first key. */
export const AccountPolicySchema = z.object({
  v: z.literal(1),
  account: z.string().startsWith('acc_'),
  allowsUntrusted: z.boolean(),
  providersBlocked: z.array(z.string()),
  minDiscountPct: z.number().int().min(0).max(100).nullable(),
  ownProviders: z.array(OwnProviderSchema),
})
export type AccountPolicy = z.infer<typeof AccountPolicySchema>
