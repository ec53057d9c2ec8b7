import { z } from 'zod'
import type { Trx } from '#control-plane/db/database.ts'
import { insertKeyChange } from '#control-plane/db/key-store.ts'
import { updateMadeKeysRevoked } from '#control-plane/db/organization-keys.ts'
import type { MemberRow } from '#control-plane/db/organizations.ts'
import { countMembers, deleteMember, findMember, listMembers, upsertMember } from '#control-plane/db/organizations.ts'
import type { Role } from '#control-plane/db/tables/organizations.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { publishKeysSoon } from '#control-plane/services/keys/key-store.ts'
import { UnixMs } from '#control-plane/services/view-fields.ts'
import { AppError } from '#shared/errors.ts'
import type { OrganizationRole } from './organization-access.ts'
import { lockWithRight, RIGHTS, requireOver, requireRight } from './organization-access.ts'
import { RecordId, RoleField } from './organizations.ts'

/** Most members of an organisation. */
export const MAX_MEMBERS = 200

/** A member of an organisation. `createdAt` is Unix milliseconds. */
export const MemberViewSchema = z
  .object({
    id: z.string(),
    wallet: z.string().nullable(),
    role: RoleField,
    createdAt: UnixMs,
  })
  .meta({ id: 'Member', description: 'A user in an organization, with its role.' })
export type MemberView = z.infer<typeof MemberViewSchema>

function viewOf({ user, wallet, role, createdAt }: MemberRow): MemberView {
  return { id: user, wallet, role, createdAt: createdAt.getTime() }
}

/** The members of an organisation, in the order in which they joined. */
export const MemberListSchema = z.object({
  members: z.array(MemberViewSchema).readonly(),
})
export type MemberList = z.infer<typeof MemberListSchema>

export const listOrganizationMembers = defineOperation({
  name: 'member.list',
  summary: 'List members',
  about: 'The wallets of the organization with their roles.',
  access: 'org',
  input: z.strictObject({ organization: RecordId }),
  limit: 'read',
  idempotency: 'none',
  output: MemberListSchema,
  run: async (ctx, actor, input): Promise<MemberList> => {
    const { organization } = await requireRight(ctx.db, actor, input.organization, 'organization.read')
    return { members: (await listMembers(ctx.db, organization, MAX_MEMBERS)).map(viewOf) }
  },
})

/**
 * Changes a member's role. Keys of the member that the new role could not make are revoked. Throws `conflict` for the
 * last owner, `forbidden` when only an owner may do it, `not_found`.
 */
export const updateMember = defineOperation({
  name: 'member.update',
  summary: "Update a member's role",
  about: 'The organization keeps at least one owner.',
  example: { role: 'developer' },
  access: 'org',
  input: z.strictObject({ organization: RecordId, member: RecordId, role: RoleField }),
  limit: 'write',
  idempotency: 'none',
  output: MemberViewSchema,
  run: async (ctx, actor, { role, ...input }): Promise<MemberView> => {
    const at = ctx.clock.now()
    const change = async (trx: Trx) => {
      const place = await lockWithRight(trx, actor, input.organization, 'people.change')
      const before = await requireMember(trx, place, input.member)
      requireOver(place, before.role, role)
      if (role !== 'owner') await requireAnotherOwner(trx, place, before)
      await upsertMember(trx, { organization: place.organization, user: before.user, role, at })
      await revokeBeyond(trx, place, { user: before.user, role, at })
      return { user: before.user, before: viewOf(before), organization: place.organization }
    }
    const { user, before } = await ctx.change(change, ({ before: was, organization }) => ({
      subject: was.id,
      before: was,
      after: { ...was, role },
      organization,
    }))
    ctx.announce('sessions', [user])
    await publishKeysSoon(ctx)
    return { ...before, role }
  },
})

/**
 * Removes a member; members may remove themselves. All keys that the member made in the organisation are revoked.
 * Throws `conflict` for the last owner, `forbidden` when only an owner may do it, `not_found`.
 */
export const removeMember = defineOperation({
  name: 'member.remove',
  summary: 'Remove a member',
  about: 'The wallet loses its access at once. The organization keeps at least one owner.',
  example: {},
  access: 'org',
  input: z.strictObject({ organization: RecordId, member: RecordId }),
  limit: 'write',
  idempotency: 'none',
  output: MemberViewSchema,
  run: async (ctx, actor, input): Promise<MemberView> => {
    const isSelf = actor.kind === 'session' && actor.user === input.member
    const change = async (trx: Trx) => {
      const right = isSelf ? 'organization.read' : 'people.change'
      const place = await lockWithRight(trx, actor, input.organization, right)
      const before = await requireMember(trx, place, input.member)
      requireOver(place, before.role)
      await requireAnotherOwner(trx, place, before)
      await deleteMember(trx, place.organization, before.user)
      await revokeBeyond(trx, place, { user: before.user, role: null, at: ctx.clock.now() })
      return { user: before.user, before: viewOf(before), organization: place.organization }
    }
    const { user, before } = await ctx.change(change, ({ before: was, organization }) => ({
      subject: was.id,
      before: was,
      after: null,
      organization,
    }))
    ctx.announce('sessions', [user])
    await publishKeysSoon(ctx)
    return before
  },
})

async function requireMember(trx: Trx, { organization }: OrganizationRole, user: string): Promise<MemberRow> {
  const member = await findMember(trx, organization, user)
  if (member === undefined) throw new AppError('not_found')
  return member
}

async function requireAnotherOwner(trx: Trx, { organization }: OrganizationRole, member: MemberRow): Promise<void> {
  if (member.role !== 'owner' || (await countMembers(trx, organization, 'owner')) > 1) return
  throw new AppError('conflict', { message: 'An organisation needs at least one owner.' })
}

type Changed = { readonly user: MemberRow['user']; readonly role: Role | null; readonly at: number }

/** Revokes the member's keys of kinds that the role may not make. With `role` null it revokes all. */
async function revokeBeyond(trx: Trx, { organization }: OrganizationRole, { user, role, at }: Changed): Promise<void> {
  const may = (right: 'management-key.change' | 'workspace.use') => role !== null && RIGHTS[right].includes(role)
  const kinds = [
    ...(may('management-key.change') ? [] : (['management'] as const)),
    ...(may('workspace.use') ? [] : (['workspace'] as const)),
  ]
  if (kinds.length === 0) return
  for (const id of await updateMadeKeysRevoked(trx, { organization, user, kinds, at })) await insertKeyChange(trx, id)
}
