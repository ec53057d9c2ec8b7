import { listOrganizationAudit, listOwnAudit } from '#control-plane/services/audit/audit.ts'
import { exportOrganizationAudit, exportOwnAudit } from '#control-plane/services/audit/audit-export.ts'
import {
  listOrganizationBudgets,
  setMemberBudget,
  setWorkspaceBudget,
} from '#control-plane/services/organizations/budgets.ts'
import { closeWorkspace } from '#control-plane/services/organizations/close-workspace.ts'
import {
  acceptInvitation,
  createInvitation,
  declineInvitation,
  listOrganizationInvitations,
  listOwnInvitations,
  withdrawInvitation,
} from '#control-plane/services/organizations/invitations.ts'
import {
  createInviteLink,
  listInviteLinks,
  revokeInviteLink,
} from '#control-plane/services/organizations/invite-links.ts'
import { acceptInviteLink, openInviteLink } from '#control-plane/services/organizations/join-by-link.ts'
import { listOrganizationMembers, removeMember, updateMember } from '#control-plane/services/organizations/members.ts'
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
  listOwnWorkspaces,
  updateWorkspace,
} from '#control-plane/services/organizations/workspaces.ts'
import { mutationOf, queryOf, router } from './procedure.ts'
import { withKey, withUrl } from './secrets.ts'

export const organization = router({
  create: mutationOf(createOrganization),
  list: queryOf(listOrganizations),
  get: queryOf(getOrganization),
  update: mutationOf(updateOrganization),
})

export const member = router({
  list: queryOf(listOrganizationMembers),
  update: mutationOf(updateMember),
  remove: mutationOf(removeMember),
})

export const budget = router({
  list: queryOf(listOrganizationBudgets),
  setMember: mutationOf(setMemberBudget),
  setWorkspace: mutationOf(setWorkspaceBudget),
})

export const invitation = router({
  create: mutationOf(createInvitation),
  list: queryOf(listOrganizationInvitations),
  withdraw: mutationOf(withdrawInvitation),
  own: queryOf(listOwnInvitations),
  accept: mutationOf(acceptInvitation),
  decline: mutationOf(declineInvitation),
})

export const inviteLink = router({
  create: mutationOf(createInviteLink, withUrl),
  list: queryOf(listInviteLinks),
  revoke: mutationOf(revokeInviteLink),
  open: mutationOf(openInviteLink),
  accept: mutationOf(acceptInviteLink),
})

export const workspace = router({
  create: mutationOf(createWorkspace),
  list: queryOf(listOrganizationWorkspaces),
  own: queryOf(listOwnWorkspaces),
  update: mutationOf(updateWorkspace),
  close: mutationOf(closeWorkspace),
})

export const workspaceKey = router({
  create: mutationOf(createWorkspaceKey, withKey),
  list: queryOf(listWorkspaceKeys),
  revoke: mutationOf(revokeWorkspaceKey),
})

export const organizationKey = router({
  create: mutationOf(createOrganizationKey, withKey),
  list: queryOf(listManagementKeys),
  revoke: mutationOf(revokeOrganizationKey),
})

export const audit = router({
  list: queryOf(listOrganizationAudit),
  export: queryOf(exportOrganizationAudit),
  own: queryOf(listOwnAudit),
  exportOwn: queryOf(exportOwnAudit),
})
