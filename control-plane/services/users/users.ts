import { z } from 'zod'
import type { Trx } from '#control-plane/db/database.ts'
import { lockOrganization } from '#control-plane/db/organizations.ts'
import { MANAGEMENT_ROLES } from '#control-plane/db/tables/organizations.ts'
import type { WalletUser } from '#control-plane/db/users.ts'
import { ensureUser as ensureUserRow } from '#control-plane/db/users.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { Instant, Label, Wallet } from '#control-plane/services/input-fields.ts'
import { publishKeysSoon } from '#control-plane/services/keys/key-store.ts'
import { NO_TERMS } from '#control-plane/services/keys/key-terms.ts'
import { issueKey } from '#control-plane/services/keys/keys.ts'
import { issueManagementKey } from '#control-plane/services/organizations/organization-keys.ts'
import { AppError } from '#shared/errors.ts'
import type { OrganizationId } from '#shared/ids.ts'
import { isId } from '#shared/ids.ts'
import { Secret } from '#shared/secret.ts'
import { oneLine } from '#shared/texts.ts'
import { newUser, unrivalled } from './new-user.ts'

const CreateUserInput = z.strictObject({
  wallet: Wallet,
  label: Label.default('first key'),
  /** The sides of the market to make a key for. */
  keys: z
    .array(z.enum(['buyer', 'seller']))
    .max(2)
    .default(['buyer', 'seller']),
})

/** A user with its new keys. Each key is shown once. */
export const CreatedUserSchema = z.object({
  id: z.string(),
  wallet: z.string(),
  buyerAccount: z.string(),
  sellerAccount: z.string(),
  buyerKey: z.instanceof(Secret).nullable(),
  sellerKey: z.instanceof(Secret).nullable(),
})
export type CreatedUser = z.infer<typeof CreatedUserSchema>

/** Finds or makes the user of a wallet, and makes keys for it: the way to a first key without a sign-in. */
export const createUser = defineOperation({
  name: 'user.create',
  summary: 'Create the user and the keys of a wallet',
  about: 'Use this for a wallet that has not signed in yet.',
  access: 'operator',
  input: CreateUserInput,
  limit: 'none',
  idempotency: 'none',
  output: CreatedUserSchema,
  run: async (ctx, _actor, input): Promise<CreatedUser> => {
    const created = await ctx.change(
      async (trx) => {
        const user = await ensureUser(ctx, trx, input.wallet)
        const issue = async (type: 'buyer' | 'seller') => {
          if (!input.keys.includes(type)) return null
          const key = { type, user: user.id, label: input.label, expiresAt: null, terms: NO_TERMS, workspace: null }
          return (await issueKey(ctx, trx, key)).secret
        }
        return { ...user, buyerKey: await issue('buyer'), sellerKey: await issue('seller') }
      },
      (created) => ({ subject: created.id, before: null, after: { wallet: created.wallet, keys: input.keys } }),
    )
    await publishKeysSoon(ctx)
    return created
  },
})

/** Finds the user of a wallet, or makes one with an account on each side. */
export async function ensureUser(ctx: Pick<Ctx, 'ids' | 'clock'>, trx: Trx, wallet: string): Promise<WalletUser> {
  return unrivalled(await ensureUserRow(trx, newUser(ctx, wallet), ctx.clock.now()))
}

const ManagementKeyInput = z
  .strictObject({
    label: Label,
    scope: z.enum(['org', 'operator']),
    /** The organisation of a key with the scope `org`. */
    organization: oneLine(100).nullish(),
    role: z.enum(MANAGEMENT_ROLES).default('admin'),
    expiresAt: Instant.nullish(),
  })
  .refine(({ scope, organization }) => (scope === 'org') === (organization != null), {
    message: 'A key of the scope org must name its organization. Any other key must not.',
    path: ['organization'],
  })

/** A new management key, which is shown once. */
export const CreatedManagementKeySchema = z.object({
  id: z.string(),
  scope: z.enum(['org', 'operator']),
  keyPrefix: z.string(),
  label: z.string(),
  key: z.instanceof(Secret),
})
export type CreatedManagementKey = z.infer<typeof CreatedManagementKeySchema>

/** Makes a management key. The scope `operator` is available only on the machine, never through a door. */
export const createManagementKey = defineOperation({
  name: 'management-key.create',
  summary: 'Create a management key',
  access: 'operator',
  input: ManagementKeyInput,
  limit: 'none',
  idempotency: 'none',
  output: CreatedManagementKeySchema,
  run: async (ctx, actor, input): Promise<CreatedManagementKey> => {
    if (input.scope === 'operator' && actor.keyId !== null) throw new AppError('forbidden')
    const { label, role, expiresAt = null } = input
    const make = async (trx: Trx) => {
      const organization = await lockNamed(trx, input.organization)
      const management = organization === null ? null : { organization, role, madeBy: null }
      const { id, secret, keyPrefix } = await issueManagementKey(ctx, trx, { label, expiresAt, management })
      return { shown: { id, scope: input.scope, keyPrefix, label }, key: secret }
    }
    const { shown, key } = await ctx.change(make, (newKey) => ({
      subject: newKey.shown.id,
      before: null,
      after: newKey.shown,
    }))
    return { ...shown, key }
  },
})

async function lockNamed(trx: Trx, id: string | null | undefined): Promise<OrganizationId | null> {
  if (id == null) return null
  const organization = isId('org', id) ? await lockOrganization(trx, id) : undefined
  if (organization === undefined) throw new AppError('not_found', { param: 'organization' })
  return organization.id
}
