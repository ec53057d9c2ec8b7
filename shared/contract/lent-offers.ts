import { createHash } from 'node:crypto'
import { z } from 'zod'
import { GoodId, RESOURCE_METHODS, TRAIT_PROVENANCES, TraitName } from '#shared/catalog/resources.ts'
import { parsePathPattern } from '#shared/rules/path-pattern.ts'
import { KeptBpsNumber, MicroUsdText } from './micro-usd-text.ts'
import { moneyKeys } from './redis-keys.ts'
import { SealedCredentialSchema } from './sealed-credential.ts'

/** The most entries of each list in a seller's rules. */
const MAX_SCOPE_ENTRIES = 100

/** The subjects of a seller's rules, in the order of their checks. Each refuses a call by itself. */
export const LENT_RULES = ['models', 'methods', 'paths', 'rate', 'buyer_share'] as const
export type LentRule = (typeof LENT_RULES)[number]

/** The uses that a seller allows of a lent key. Null allows everything that the resource's record allows. */
export const LentScopeSchema = z.object({
  /** Goods of the record, by id. Calls without a good, such as lists and polls, pass. */
  models: z.array(GoodId).min(1).max(MAX_SCOPE_ENTRIES).nullable(),
  methods: z.array(z.enum(RESOURCE_METHODS)).min(1).max(RESOURCE_METHODS.length).nullable(),
  /** Patterns of the path at the provider. A poll of a job that the key started passes in any case. */
  paths: z
    .array(z.string().refine((text) => parsePathPattern(text) !== undefined, 'a path must be a valid pattern'))
    .min(1)
    .max(MAX_SCOPE_ENTRIES)
    .nullable(),
})
export type LentScope = z.infer<typeof LentScopeSchema>

/** A lent key with all facts for a filter, the ranking and a relay. Its health is kept with that of other offers. */
export const LentOfferSchema = z.object({
  id: z.string().startsWith('ofr_'),
  /** The id of the resource or family. */
  resource: z.string(),
  /** Account the sale is credited to; never shown to a buyer. */
  sellerAccount: z.string().startsWith('acc_'),
  /** The seller's name in a public book. It is stable and reveals nothing. */
  sellerAlias: z.string(),
  keptBps: KeptBpsNumber,
  capDailyMicro: MicroUsdText.nullable(),
  /** Sealed for the resource: `host` is the resource's id, and the key may go to the record's hosts. */
  credential: SealedCredentialSchema,
  scope: LentScopeSchema,
  /** Calls a minute of all buyers together. Null for no limit. */
  ratePerMinute: z.number().int().positive().nullable(),
  /** The most of the daily cap that one buyer may use, in percent. Null for no limit; always null without a cap. */
  buyerSharePct: z.number().int().min(1).max(100).nullable(),
  /** The traits that the account claims, each with its evidence. */
  traits: z.array(z.object({ name: TraitName, provenance: z.enum(TRAIT_PROVENANCES) })),
  createdAt: z.number().int(),
})
export type LentOffer = z.infer<typeof LentOfferSchema>

/**
 * The document `lent:{resource}`: its active offers, best discount first. `retired` are those that left the market
 * within {@link JOB_BINDING_MS}: they sell nothing, but jobs that they started can be polled.
 */
export const LentDocumentSchema = z.object({
  resource: z.string(),
  offers: z.array(LentOfferSchema),
  retired: z.array(LentOfferSchema).default([]),
})

/** Milliseconds that a job at a provider stays bound to its buyer and to the key that started it: 27 hours. */
export const JOB_BINDING_MS = 27 * 3_600_000

/** The buyer who may look up a provider's job, and the key for it. Kept in Redis for {@link JOB_BINDING_MS}. */
export const JobBindingSchema = z.object({
  /** The call that started it. */
  rid: z.string().length(26),
  /** The buyer: an account, or the wallet of a payer without one. */
  buyer: z.string().min(1).max(100),
  offer: z.string().startsWith('ofr_'),
  sellerAccount: z.string().startsWith('acc_'),
  /** The id of the credential, so that a replacement key is not used. */
  credentialId: z.string().startsWith('crd_'),
  good: GoodId.nullable(),
  boundAt: z.number().int(),
})
export type JobBinding = z.infer<typeof JobBindingSchema>

/** The Redis key of a binding. Providers choose the ids of their jobs, so they are hashed to one length. */
export function jobBindingKey(resource: string, job: string): string {
  return moneyKeys.jobBinding(resource, createHash('sha256').update(job).digest('base64url'))
}
