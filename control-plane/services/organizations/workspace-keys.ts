import { z } from 'zod'
import type { Database, Trx } from '#control-plane/db/database.ts'
import { findOrganizationKey } from '#control-plane/db/organization-keys.ts'
import type { WorkspaceRow } from '#control-plane/db/workspaces.ts'
import { findWorkspace } from '#control-plane/db/workspaces.ts'
import type { OrgActor, SessionActor } from '#control-plane/operation/actor.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { Instant, Label } from '#control-plane/services/input-fields.ts'
import { publishKeysSoon } from '#control-plane/services/keys/key-store.ts'
import { NO_TERMS } from '#control-plane/services/keys/key-terms.ts'
import { issueKey } from '#control-plane/services/keys/keys.ts'
import { ListFields } from '#control-plane/services/page.ts'
import { AppError } from '#shared/errors.ts'
import type { Right } from './organization-access.ts'
import { lockWithRight, requireRight } from './organization-access.ts'
import type { CreatedOrganizationKey, OrganizationKeyList, OrganizationKeyView } from './organization-keys.ts'
import {
  CreatedOrganizationKeySchema,
  listHeld,
  OrganizationKeyListSchema,
  OrganizationKeySchema,
  revokeHeld,
  viewOfOrganizationKey,
} from './organization-keys.ts'
import { RecordId } from './organizations.ts'
import { findOpenWorkspace } from './workspaces.ts'

const WorkspaceInput = z.strictObject({ organization: RecordId, workspace: RecordId })

type Named = z.output<typeof WorkspaceInput>

async function requireWorkspace(
  db: Database | Trx,
  actor: SessionActor | OrgActor,
  { organization, workspace }: Named,
  right: Right,
): Promise<WorkspaceRow> {
  const place = await requireRight(db, actor, organization, right)
  const workspaceRow = await findWorkspace(db, place.organization, workspace)
  if (workspaceRow === undefined) throw new AppError('not_found')
  return workspaceRow
}

/**
 * Makes a member's key of either side that uses a workspace's accounts. It counts toward the member's 25 keys and ends
 * with the membership. Throws `not_found`, `forbidden`, `conflict` for a closed workspace, `key_limit_reached`.
 */
export const createWorkspaceKey = defineOperation({
  name: 'workspace-key.create',
  summary: 'Create a workspace key',
  about: 'The answer shows the key once. Store it.',
  example: { keyType: 'buyer', label: 'evaluation runs' },
  access: 'session',
  input: WorkspaceInput.extend({
    keyType: z.enum(['buyer', 'seller']),
    label: Label,
    expiresAt: Instant.nullish(),
  }),
  limit: 'write',
  idempotency: 'accepted',
  output: CreatedOrganizationKeySchema,
  forReplay: (created) => ({ ...created, secret: null }),
  run: async (ctx, actor, { keyType: type, label, expiresAt = null, ...input }): Promise<CreatedOrganizationKey> => {
    const make = async (trx: Trx) => {
      const place = await lockWithRight(trx, actor, input.organization, 'workspace.use')
      const workspace = await findOpenWorkspace(trx, place.organization, input.workspace)
      const key = { type, user: actor.user, label, expiresAt, terms: NO_TERMS, workspace: workspace.id }
      const issued = await issueKey(ctx, trx, key)
      const organizationKey = await findOrganizationKey(trx, { workspace: workspace.id }, issued.id)
      if (organizationKey === undefined) throw new AppError('internal_error')
      return {
        view: viewOfOrganizationKey(organizationKey),
        secret: issued.secret,
        organization: workspace.organization,
      }
    }
    const { view, secret } = await ctx.change(make, ({ view: after, organization }) => ({
      subject: after.id,
      before: null,
      after,
      organization,
    }))
    await publishKeysSoon(ctx)
    return { ...view, secret }
  },
})

/** Lists all members' keys for a workspace, newest first. */
export const listWorkspaceKeys = defineOperation({
  name: 'workspace-key.list',
  summary: 'List keys of a workspace',
  about: 'The keys with their labels, without their secrets.',
  access: 'org',
  input: WorkspaceInput.extend(ListFields),
  limit: 'read',
  idempotency: 'none',
  output: OrganizationKeyListSchema,
  run: async (ctx, actor, input): Promise<OrganizationKeyList> => {
    const { id: workspace } = await requireWorkspace(ctx.db, actor, input, 'organization.read')
    return listHeld(ctx, { workspace }, input)
  },
})

/**
 * Revokes a key of a workspace for good. Members may revoke their own keys, and a role that may change workspaces may
 * revoke any. Throws `not_found`, `forbidden`.
 */
export const revokeWorkspaceKey = defineOperation({
  name: 'workspace-key.revoke',
  summary: 'Revoke a key of a workspace',
  about: 'The key stops working. You cannot undo this.',
  example: {},
  access: 'org',
  input: WorkspaceInput.extend({ key: RecordId }),
  limit: 'write',
  idempotency: 'none',
  output: OrganizationKeySchema,
  run: async (ctx, actor, input): Promise<OrganizationKeyView> => {
    const change = await ctx.change(
      async (trx) => {
        await lockWithRight(trx, actor, input.organization, 'organization.read')
        const { id: workspace, organization } = await requireWorkspace(trx, actor, input, 'organization.read')
        const organizationKey = await findOrganizationKey(trx, { workspace }, input.key)
        const isOwn = actor.kind === 'session' && organizationKey?.madeBy === actor.user
        if (organizationKey !== undefined && !isOwn) await requireRight(trx, actor, organization, 'workspace.change')
        const revoked = await revokeHeld(trx, { workspace }, { id: input.key, at: ctx.clock.now() })
        return { ...revoked, organization }
      },
      (change) => ({ subject: change.after.id, ...change }),
    )
    await publishKeysSoon(ctx)
    return change.after
  },
})
