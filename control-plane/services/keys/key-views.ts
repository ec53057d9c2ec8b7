import { z } from 'zod'
import type { KeyRow } from '#control-plane/db/keys.ts'
import { UnixMs } from '#control-plane/services/view-fields.ts'
import { microUsd, microUsdToDollars } from '#shared/money.ts'
import { Secret } from '#shared/secret.ts'

/** The terms of a buyer key. Caps are US dollars. */
export const KeyTermsViewSchema = z.object({
  minDiscountPct: z.number().nullable(),
  providersBlocked: z.array(z.string()),
  allowUntrusted: z.boolean().nullable(),
  capDailyUsd: z.number().nullable(),
  capMonthlyUsd: z.number().nullable(),
  rateLimitRpm: z.number().nullable(),
  modelsAllowed: z.array(z.string()).nullable(),
})
export type KeyTermsView = z.infer<typeof KeyTermsViewSchema>

/** A key for its owner, without the secret. Instants are Unix milliseconds, caps US dollars. */
export const KeyViewSchema = z.object({
  id: z.string(),
  keyType: z.enum(['buyer', 'seller']),
  kind: z
    .enum(['standard', 'playground'])
    .describe('`playground` is the key that the playground of the page pays with.'),
  keyPrefix: z.string().describe('The first characters of the key, to recognize it.'),
  label: z.string(),
  createdAt: UnixMs,
  lastUsedAt: UnixMs.nullable(),
  expiresAt: UnixMs.nullable(),
  revokedAt: UnixMs.nullable(),
  frozenAt: UnixMs.nullable().describe('When its owner froze the key. Null while it works.'),
  /** Null for a seller key. */
  terms: KeyTermsViewSchema.nullable(),
})
export type KeyView = z.infer<typeof KeyViewSchema>

/** A new key. Only the first answer has the `secret`; a replay has null. */
export const CreatedKeySchema = KeyViewSchema.extend({
  wallet: z.string().nullable(),
  secret: z.union([z.instanceof(Secret), z.null()]),
})
export type CreatedKey = z.infer<typeof CreatedKeySchema>

export function viewOfKey(row: KeyRow, keyType: 'buyer' | 'seller'): KeyView {
  return {
    id: row.id,
    keyType,
    kind: row.isPlayground ? 'playground' : 'standard',
    keyPrefix: row.keyPrefix,
    label: row.label,
    createdAt: row.createdAt.getTime(),
    lastUsedAt: row.lastUsedAt?.getTime() ?? null,
    expiresAt: row.expiresAt?.getTime() ?? null,
    revokedAt: row.revokedAt?.getTime() ?? null,
    frozenAt: row.frozenAt?.getTime() ?? null,
    terms:
      keyType === 'seller'
        ? null
        : {
            minDiscountPct: row.minDiscountPct,
            providersBlocked: row.providersBlocked,
            allowUntrusted: row.allowsUntrusted,
            capDailyUsd: dollars(row.capDailyMicro),
            capMonthlyUsd: dollars(row.capMonthlyMicro),
            rateLimitRpm: row.ratePerMinute,
            modelsAllowed: row.modelsAllowed,
          },
  }
}

function dollars(micro: bigint | null): number | null {
  return micro === null ? null : microUsdToDollars(microUsd(micro))
}
