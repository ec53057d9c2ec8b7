import { z } from 'zod'
import type { Trx } from '#control-plane/db/database.ts'
import type { OrganizationRow } from '#control-plane/db/organizations.ts'
import {
  findOrganization,
  insertOrganization,
  listOrganizationsOf,
  updateOrganizationName,
  upsertMember,
} from '#control-plane/db/organizations.ts'
import type { Role } from '#control-plane/db/tables/organizations.ts'
import { ROLES } from '#control-plane/db/tables/organizations.ts'
import { lockUser } from '#control-plane/db/users.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { Label } from '#control-plane/services/input-fields.ts'
import { UnixMs } from '#control-plane/services/view-fields.ts'
import { AppError } from '#shared/errors.ts'
import { oneLine } from '#shared/texts.ts'
import { lockWithRight, requireRight } from './organization-access.ts'

/** Most organisations of one wallet. */
export const MAX_ORGANIZATIONS = 50

export const RoleField = z.enum(ROLES)

/** The id of a record in a path or argument. The operation itself refuses an unknown one. */
export const RecordId = oneLine(100)

/** An organisation with the caller's role in it. `createdAt` is Unix milliseconds. */
export const OrganizationViewSchema = z
  .object({
    id: z.string(),
    name: z.string(),
    role: RoleField,
    createdAt: UnixMs,
  })
  .meta({ id: 'Organization', description: 'An organization with its name and the caller’s role.' })
export type OrganizationView = z.infer<typeof OrganizationViewSchema>

function viewOf({ id, name, createdAt }: OrganizationRow, role: Role): OrganizationView {
  return { id, name, role, createdAt: createdAt.getTime() }
}

/** Makes an organisation with the caller as its owner. Throws `conflict` above {@link MAX_ORGANIZATIONS}. */
export const createOrganization = defineOperation({
  name: 'organization.create',
  summary: 'Create an organization',
  about: 'The caller becomes its owner.',
  example: { name: 'Example laboratory' },
  access: 'session',
  input: z.strictObject({ name: Label }),
  limit: 'write',
  idempotency: 'none',
  output: OrganizationViewSchema,
  run: async (ctx, { user }, { name }): Promise<OrganizationView> => {
    const id = ctx.ids.make('org')
    const at = ctx.clock.now()
    const make = async (trx: Trx) => {
      await lockUser(trx, user)
      const own = await listOrganizationsOf(trx, user, MAX_ORGANIZATIONS)
      if (own.length === MAX_ORGANIZATIONS)
        throw tooMany(`An account belongs to at most ${MAX_ORGANIZATIONS} organisations.`)
      await insertOrganization(trx, { id, name, at })
      await upsertMember(trx, { organization: id, user, role: 'owner', at })
    }
    await ctx.change(make, () => ({ subject: id, before: null, after: { name, owner: user }, organization: id }))
    return { id, name, role: 'owner', createdAt: at }
  },
})

export function tooMany(message: string): AppError {
  return new AppError('conflict', { message })
}

/** The organisations of the caller. */
export const OrganizationListSchema = z.object({
  organizations: z.array(OrganizationViewSchema).readonly(),
})
export type OrganizationList = z.infer<typeof OrganizationListSchema>

export const listOrganizations = defineOperation({
  name: 'organization.list',
  summary: 'List the organizations of the caller',
  about: 'Every organization that the wallet is a member of, or the one of the management key.',
  access: 'org',
  input: z.strictObject({}),
  limit: 'read',
  idempotency: 'none',
  output: OrganizationListSchema,
  run: async (ctx, actor): Promise<OrganizationList> => {
    if (actor.kind === 'session') {
      const rows = await listOrganizationsOf(ctx.db, actor.user, MAX_ORGANIZATIONS)
      return { organizations: rows.map((row) => viewOf(row, row.role)) }
    }
    const row = await findOrganization(ctx.db, actor.organization)
    return { organizations: row === undefined ? [] : [viewOf(row, actor.role)] }
  },
})

export const getOrganization = defineOperation({
  name: 'organization.get',
  summary: 'Get an organization',
  about: 'The name of the organization and its creation date.',
  access: 'org',
  input: z.strictObject({ organization: RecordId }),
  limit: 'read',
  idempotency: 'none',
  output: OrganizationViewSchema,
  run: async (ctx, actor, input): Promise<OrganizationView> => {
    const { organization, role } = await requireRight(ctx.db, actor, input.organization, 'organization.read')
    const row = await findOrganization(ctx.db, organization)
    if (row === undefined) throw new AppError('not_found')
    return viewOf(row, role)
  },
})

/** Renames an organisation. */
export const updateOrganization = defineOperation({
  name: 'organization.update',
  summary: 'Rename an organization',
  about: 'Changes the name that members see.',
  example: { name: 'Example institute' },
  access: 'org',
  input: z.strictObject({ organization: RecordId, name: Label }),
  limit: 'write',
  idempotency: 'none',
  output: OrganizationViewSchema,
  run: async (ctx, actor, input): Promise<OrganizationView> => {
    const rename = async (trx: Trx) => {
      const { organization, role } = await lockWithRight(trx, actor, input.organization, 'organization.change')
      const before = await findOrganization(trx, organization)
      if (before === undefined) throw new AppError('not_found')
      await updateOrganizationName(trx, organization, input.name)
      return { before, role }
    }
    const { before, role } = await ctx.change(rename, ({ before: { id, name } }) => ({
      subject: id,
      before: { name },
      after: { name: input.name },
      organization: id,
    }))
    return viewOf({ ...before, name: input.name }, role)
  },
})
