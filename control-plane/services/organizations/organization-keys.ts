import { z } from 'zod'
import type { Trx } from '#control-plane/db/database.ts'
import { insertKeyChange } from '#control-plane/db/key-store.ts'
import type { NewKey } from '#control-plane/db/keys.ts'
import { insertKey, updateKeyRevoked } from '#control-plane/db/keys.ts'
import type { OrganizationKeyRow } from '#control-plane/db/organization-keys.ts'
import { countManagementKeys, findOrganizationKey, listOrganizationKeys } from '#control-plane/db/organization-keys.ts'
import { MANAGEMENT_ROLES } from '#control-plane/db/tables/organizations.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { Instant, Label } from '#control-plane/services/input-fields.ts'
import { NO_TERMS } from '#control-plane/services/keys/key-terms.ts'
import { MAX_ACTIVE_KEYS, requireFuture } from '#control-plane/services/keys/keys.ts'
import { cursorOf, ListFields, NextToken, pagesById } from '#control-plane/services/page.ts'
import { hashApiKey, newApiKey } from '#shared/api-key.ts'
import { AppError } from '#shared/errors.ts'
import type { KeyId, OrganizationId } from '#shared/ids.ts'
import { isId } from '#shared/ids.ts'
import { Secret } from '#shared/secret.ts'
import { lockWithRight, requireRight } from './organization-access.ts'
import { RecordId } from './organizations.ts'

/** A key of an organisation, without the secret. Times are Unix milliseconds. */
export const OrganizationKeySchema = z
  .object({
    id: z.string(),
    keyType: z.enum(['management', 'buyer', 'seller']),
    keyPrefix: z.string(),
    label: z.string(),
    /** Set for a management key. */
    role: z.enum(MANAGEMENT_ROLES).nullable(),
    workspace: z.string().nullable(),
    /** The member who made it; null for an operator. */
    madeBy: z.string().nullable(),
    createdAt: z.number(),
    lastUsedAt: z.number().nullable(),
    expiresAt: z.number().nullable(),
    revokedAt: z.number().nullable(),
  })
  .meta({ id: 'OrganizationKey', description: 'A key of an organization with its workspace and its limits.' })
export type OrganizationKeyView = z.infer<typeof OrganizationKeySchema>

export const CreatedOrganizationKeySchema = OrganizationKeySchema.extend({
  secret: z.union([z.instanceof(Secret), z.null()]),
})
/** A new key. Only the first answer has the `secret`. */
export type CreatedOrganizationKey = z.infer<typeof CreatedOrganizationKeySchema>

export function viewOfOrganizationKey({ type, ...row }: OrganizationKeyRow): OrganizationKeyView {
  return {
    ...row,
    keyType: type,
    createdAt: row.createdAt.getTime(),
    lastUsedAt: row.lastUsedAt?.getTime() ?? null,
    expiresAt: row.expiresAt?.getTime() ?? null,
    revokedAt: row.revokedAt?.getTime() ?? null,
  }
}

/** Keys of an organisation or a workspace, newest first. */
export const OrganizationKeyListSchema = z.object({
  keys: z.array(OrganizationKeySchema).readonly(),
  nextToken: NextToken,
  cursorOf: cursorOf<{ readonly id: string }>(),
})
export type OrganizationKeyList = z.infer<typeof OrganizationKeyListSchema>

/** Returns a page of a holder's keys, newest first, revoked ones included. */
export async function listHeld(
  ctx: Pick<Ctx, 'db' | 'settings'>,
  holder: Parameters<typeof listOrganizationKeys>[1],
  { maxItems, nextToken }: { readonly maxItems: number; readonly nextToken?: string | undefined },
): Promise<OrganizationKeyList> {
  const pages = pagesById(ctx, { list: 'organization-key.list', tenant: '', filters: [holder] })
  const rows = await listOrganizationKeys(ctx.db, holder, { before: pages.idIn(nextToken), limit: maxItems + 1 })
  const { items: keys, ...page } = pages.pageOf(rows, maxItems, viewOfOrganizationKey)
  return { ...page, keys }
}

type IssuedKey = { readonly id: KeyId; readonly secret: Secret; readonly keyPrefix: string }

type ManagementKey = {
  readonly label: string
  readonly expiresAt: number | null
  /** The organisation and role of the key. Null for an operator's key. */
  readonly management: NonNullable<NewKey['management']> | null
}

/**
 * Makes a management key inside the caller's transaction. Throws `key_limit_reached` at the 26th key of an
 * organisation, and `invalid_request` for an end in the past.
 */
export async function issueManagementKey(
  ctx: Pick<Ctx, 'ids' | 'clock' | 'settings'>,
  trx: Trx,
  { label, expiresAt, management }: ManagementKey,
): Promise<IssuedKey> {
  const createdAt = ctx.clock.now()
  requireFuture(expiresAt, createdAt)
  if (management !== null) await requireRoom(trx, management.organization, createdAt)
  const id = ctx.ids.make('key')
  const { secret, keyPrefix } = newApiKey('management')
  await insertKey(trx, {
    id,
    type: 'management',
    scope: management === null ? 'operator' : 'org',
    user: null,
    hash: hashApiKey(secret.reveal(), ctx.settings.keyPepper),
    keyPrefix,
    label,
    createdAt,
    expiresAt,
    terms: NO_TERMS,
    ...(management === null ? {} : { management }),
  })
  return { id, secret, keyPrefix }
}

async function requireRoom(trx: Trx, organization: OrganizationId, now: number): Promise<void> {
  if ((await countManagementKeys(trx, organization, now)) < MAX_ACTIVE_KEYS) return
  throw new AppError('key_limit_reached', {
    message: `The organisation has ${MAX_ACTIVE_KEYS} management keys, the maximum. Revoke one first.`,
    detail: { limit: MAX_ACTIVE_KEYS },
  })
}

/** Makes a management key of an organisation. It never has the rights of an owner. */
export const createOrganizationKey = defineOperation({
  name: 'organization-key.create',
  summary: 'Create a management key',
  about: 'The answer shows the key once. Store it.',
  example: { label: 'provisioning', role: 'developer' },
  access: 'org',
  input: z.strictObject({
    organization: RecordId,
    label: Label,
    role: z.enum(MANAGEMENT_ROLES),
    expiresAt: Instant.nullish(),
  }),
  limit: 'write',
  idempotency: 'accepted',
  output: CreatedOrganizationKeySchema,
  forReplay: (created) => ({ ...created, secret: null }),
  run: async (ctx, actor, input): Promise<CreatedOrganizationKey> => {
    const make = async (trx: Trx) => {
      const place = await lockWithRight(trx, actor, input.organization, 'management-key.change')
      const issued = await issueManagementKey(ctx, trx, {
        label: input.label,
        expiresAt: input.expiresAt ?? null,
        management: {
          organization: place.organization,
          role: input.role,
          madeBy: actor.kind === 'session' ? actor.user : null,
        },
      })
      const organizationKey = await findOrganizationKey(trx, place, issued.id)
      if (organizationKey === undefined) throw new AppError('internal_error')
      return { view: viewOfOrganizationKey(organizationKey), secret: issued.secret, organization: place.organization }
    }
    const { view, secret } = await ctx.change(make, ({ view: after, organization }) => ({
      subject: after.id,
      before: null,
      after,
      organization,
    }))
    return { ...view, secret }
  },
})

export const listManagementKeys = defineOperation({
  name: 'organization-key.list',
  summary: 'List management keys',
  about: 'The keys with their labels, without their secrets.',
  access: 'org',
  input: z.strictObject({ organization: RecordId, ...ListFields }),
  limit: 'read',
  idempotency: 'none',
  output: OrganizationKeyListSchema,
  run: async (ctx, actor, input): Promise<OrganizationKeyList> => {
    const { organization } = await requireRight(ctx.db, actor, input.organization, 'management-key.change')
    return listHeld(ctx, { organization }, input)
  },
})

/** Revokes a management key for good. A repeat changes nothing. Throws `not_found`. */
export const revokeOrganizationKey = defineOperation({
  name: 'organization-key.revoke',
  summary: 'Revoke a management key',
  about: 'The key stops working. You cannot undo this.',
  example: {},
  access: 'org',
  input: z.strictObject({ organization: RecordId, key: RecordId }),
  limit: 'write',
  idempotency: 'none',
  output: OrganizationKeySchema,
  run: async (ctx, actor, input): Promise<OrganizationKeyView> => {
    const change = await ctx.change(
      async (trx) => {
        const { organization } = await lockWithRight(trx, actor, input.organization, 'management-key.change')
        return { ...(await revokeHeld(trx, { organization }, { id: input.key, at: ctx.clock.now() })), organization }
      },
      (change) => ({ subject: change.after.id, ...change }),
    )
    return change.after
  },
})

type Revoked = { readonly before: OrganizationKeyView; readonly after: OrganizationKeyView }

/** Revokes a key of a holder inside the caller's transaction. Throws `not_found`. */
export async function revokeHeld(
  trx: Trx,
  holder: Parameters<typeof findOrganizationKey>[1],
  { id, at }: { readonly id: string; readonly at: number },
): Promise<Revoked> {
  const before = isId('key', id) ? await findOrganizationKey(trx, holder, id) : undefined
  if (before === undefined) throw new AppError('not_found')
  await updateKeyRevoked(trx, before.id, at)
  if (before.type !== 'management') await insertKeyChange(trx, before.id)
  const after = await findOrganizationKey(trx, holder, id)
  return { before: viewOfOrganizationKey(before), after: viewOfOrganizationKey(after ?? before) }
}
