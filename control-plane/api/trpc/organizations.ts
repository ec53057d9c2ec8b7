import { invoke } from '#control-plane/operation.ts'
import { listOrganizationAudit, listOwnAudit } from '#control-plane/services/audit.ts'
import { exportOrganizationAudit, exportOwnAudit } from '#control-plane/services/audit-export.ts'
import { closeWorkspace } from '#control-plane/services/organizations/close-workspace.ts'
import {
  acceptInvitation,
  createInvitation,
  declineInvitation,
  listOrganizationInvitations,
  listOwnInvitations,
  withdrawInvitation,
} from '#control-plane/services/organizations/invitations.ts'
import { listOrganizationMembers, removeMember, updateMember } from '#control-plane/services/organizations/members.ts'
import type { CreatedOrganizationKey } from '#control-plane/services/organizations/organization-keys.ts'
import {
  createOrganizationKey,
  listManagementKeys,
  revokeOrganizationKey,
} from '#control-plane/services/organizations/organization-keys.ts'
import {
  createOrganization,
  getOrganization,
  listOrganizations,
  updateOrganization,
} from '#control-plane/services/organizations/organizations.ts'
import {
  createWorkspaceKey,
  listWorkspaceKeys,
  revokeWorkspaceKey,
} from '#control-plane/services/organizations/workspace-keys.ts'
import {
  createWorkspace,
  listOrganizationWorkspaces,
  updateWorkspace,
} from '#control-plane/services/organizations/workspaces.ts'
import { inputOf, procedure, router } from './procedure.ts'

/** A new key with the key itself as text: in the first answer only. */
function shown({ secret, ...key }: CreatedOrganizationKey) {
  return { ...key, key: secret?.reveal() ?? null }
}

export const organization = router({
  create: procedure
    .input(inputOf(createOrganization))
    .mutation(async ({ ctx, input }) => invoke(ctx.ctx, await ctx.actor(), createOrganization, input, ctx.options())),
  list: procedure.query(async ({ ctx }) => invoke(ctx.ctx, await ctx.actor(), listOrganizations, {}, ctx.options())),
  get: procedure
    .input(inputOf(getOrganization))
    .query(async ({ ctx, input }) => invoke(ctx.ctx, await ctx.actor(), getOrganization, input, ctx.options())),
  update: procedure
    .input(inputOf(updateOrganization))
    .mutation(async ({ ctx, input }) => invoke(ctx.ctx, await ctx.actor(), updateOrganization, input, ctx.options())),
})

export const member = router({
  list: procedure
    .input(inputOf(listOrganizationMembers))
    .query(async ({ ctx, input }) => invoke(ctx.ctx, await ctx.actor(), listOrganizationMembers, input, ctx.options())),
  update: procedure
    .input(inputOf(updateMember))
    .mutation(async ({ ctx, input }) => invoke(ctx.ctx, await ctx.actor(), updateMember, input, ctx.options())),
  remove: procedure
    .input(inputOf(removeMember))
    .mutation(async ({ ctx, input }) => invoke(ctx.ctx, await ctx.actor(), removeMember, input, ctx.options())),
})

export const invitation = router({
  create: procedure
    .input(inputOf(createInvitation))
    .mutation(async ({ ctx, input }) => invoke(ctx.ctx, await ctx.actor(), createInvitation, input, ctx.options())),
  list: procedure
    .input(inputOf(listOrganizationInvitations))
    .query(async ({ ctx, input }) =>
      invoke(ctx.ctx, await ctx.actor(), listOrganizationInvitations, input, ctx.options()),
    ),
  withdraw: procedure
    .input(inputOf(withdrawInvitation))
    .mutation(async ({ ctx, input }) => invoke(ctx.ctx, await ctx.actor(), withdrawInvitation, input, ctx.options())),
  own: procedure.query(async ({ ctx }) => invoke(ctx.ctx, await ctx.actor(), listOwnInvitations, {}, ctx.options())),
  accept: procedure
    .input(inputOf(acceptInvitation))
    .mutation(async ({ ctx, input }) => invoke(ctx.ctx, await ctx.actor(), acceptInvitation, input, ctx.options())),
  decline: procedure
    .input(inputOf(declineInvitation))
    .mutation(async ({ ctx, input }) => invoke(ctx.ctx, await ctx.actor(), declineInvitation, input, ctx.options())),
})

export const workspace = router({
  create: procedure
    .input(inputOf(createWorkspace))
    .mutation(async ({ ctx, input }) => invoke(ctx.ctx, await ctx.actor(), createWorkspace, input, ctx.options())),
  list: procedure
    .input(inputOf(listOrganizationWorkspaces))
    .query(async ({ ctx, input }) =>
      invoke(ctx.ctx, await ctx.actor(), listOrganizationWorkspaces, input, ctx.options()),
    ),
  update: procedure
    .input(inputOf(updateWorkspace))
    .mutation(async ({ ctx, input }) => invoke(ctx.ctx, await ctx.actor(), updateWorkspace, input, ctx.options())),
  close: procedure
    .input(inputOf(closeWorkspace))
    .mutation(async ({ ctx, input }) => invoke(ctx.ctx, await ctx.actor(), closeWorkspace, input, ctx.options())),
})

export const workspaceKey = router({
  create: procedure
    .input(inputOf(createWorkspaceKey))
    .mutation(async ({ ctx, input }) =>
      shown(await invoke(ctx.ctx, await ctx.actor(), createWorkspaceKey, input, ctx.options())),
    ),
  list: procedure
    .input(inputOf(listWorkspaceKeys))
    .query(async ({ ctx, input }) => invoke(ctx.ctx, await ctx.actor(), listWorkspaceKeys, input, ctx.options())),
  revoke: procedure
    .input(inputOf(revokeWorkspaceKey))
    .mutation(async ({ ctx, input }) => invoke(ctx.ctx, await ctx.actor(), revokeWorkspaceKey, input, ctx.options())),
})

export const organizationKey = router({
  create: procedure
    .input(inputOf(createOrganizationKey))
    .mutation(async ({ ctx, input }) =>
      shown(await invoke(ctx.ctx, await ctx.actor(), createOrganizationKey, input, ctx.options())),
    ),
  list: procedure
    .input(inputOf(listManagementKeys))
    .query(async ({ ctx, input }) => invoke(ctx.ctx, await ctx.actor(), listManagementKeys, input, ctx.options())),
  revoke: procedure
    .input(inputOf(revokeOrganizationKey))
    .mutation(async ({ ctx, input }) =>
      invoke(ctx.ctx, await ctx.actor(), revokeOrganizationKey, input, ctx.options()),
    ),
})

export const audit = router({
  list: procedure
    .input(inputOf(listOrganizationAudit))
    .query(async ({ ctx, input }) => invoke(ctx.ctx, await ctx.actor(), listOrganizationAudit, input, ctx.options())),
  export: procedure
    .input(inputOf(exportOrganizationAudit))
    .query(async ({ ctx, input }) => invoke(ctx.ctx, await ctx.actor(), exportOrganizationAudit, input, ctx.options())),
  own: procedure
    .input(inputOf(listOwnAudit))
    .query(async ({ ctx, input }) => invoke(ctx.ctx, await ctx.actor(), listOwnAudit, input ?? {}, ctx.options())),
  exportOwn: procedure
    .input(inputOf(exportOwnAudit))
    .query(async ({ ctx, input }) => invoke(ctx.ctx, await ctx.actor(), exportOwnAudit, input ?? {}, ctx.options())),
})
