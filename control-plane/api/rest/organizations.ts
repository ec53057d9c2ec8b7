import { z } from 'zod'
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
import type { CreatedInviteLink } from '#control-plane/services/organizations/invite-links.ts'
import {
  CreatedInviteLinkSchema,
  createInviteLink,
  listInviteLinks,
  revokeInviteLink,
} from '#control-plane/services/organizations/invite-links.ts'
import { acceptInviteLink, openInviteLink } from '#control-plane/services/organizations/join-by-link.ts'
import { listOrganizationMembers, removeMember, updateMember } from '#control-plane/services/organizations/members.ts'
import type { CreatedOrganizationKey } from '#control-plane/services/organizations/organization-keys.ts'
import {
  createOrganizationKey,
  listManagementKeys,
  OrganizationKeySchema,
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
import type { RestAnswer, RestRow } from './route.ts'
import { restRow, writtenAs } from './route.ts'

const envelope = 'v1'
const ONE = '/v1/organizations/:organization'
const WORKSPACE = `${ONE}/workspaces/:workspace`

/** A new key. Only the first answer holds the key itself. */
const NEW_KEY = writtenAs(
  OrganizationKeySchema.extend({
    key: z.string().optional().describe('The key itself: shown once, never in a replayed answer.'),
  }).meta({
    id: 'OrganizationKeyCreated',
    description: 'A new key of an organization. This answer alone has the key itself.',
  }),
  ({ secret, ...view }: CreatedOrganizationKey) => ({ ...(secret === null ? {} : { key: secret.reveal() }), ...view }),
)

const NEW_LINK = writtenAs(
  CreatedInviteLinkSchema.extend({
    url: z.string().describe('The link itself: shown once. The secret is behind `#`.'),
  }),
  ({ url, ...view }: CreatedInviteLink) => ({ ...view, url: url.reveal() }),
)

function toFile({ url }: { readonly url: string }): RestAnswer {
  return { kind: 'redirect', location: url }
}

/** Organisations with their people, workspaces, keys and log. */
export const ORGANIZATION_ROWS: readonly RestRow[] = [
  restRow({
    method: 'POST',
    path: '/v1/organizations',
    tag: 'Organizations',
    refusals: [409],
    status: 201,
    envelope,
    operation: createOrganization,
  }),
  restRow({ method: 'GET', path: '/v1/organizations', tag: 'Organizations', envelope, operation: listOrganizations }),
  restRow({ method: 'GET', path: ONE, tag: 'Organizations', refusals: [403], envelope, operation: getOrganization }),
  restRow({
    method: 'PATCH',
    path: ONE,
    tag: 'Organizations',
    refusals: [403],
    envelope,
    operation: updateOrganization,
  }),
  restRow({
    method: 'GET',
    path: `${ONE}/members`,
    tag: 'Organizations',
    refusals: [403],
    envelope,
    operation: listOrganizationMembers,
  }),
  restRow({
    method: 'PATCH',
    path: `${ONE}/members/:member`,
    tag: 'Organizations',
    refusals: [403, 409],
    envelope,
    operation: updateMember,
  }),
  restRow({
    method: 'DELETE',
    path: `${ONE}/members/:member`,
    tag: 'Organizations',
    refusals: [403, 409],
    status: 204,
    envelope,
    operation: removeMember,
  }),
  restRow({
    method: 'POST',
    path: `${ONE}/invitations`,
    tag: 'Organizations',
    refusals: [403, 409],
    status: 201,
    envelope,
    operation: createInvitation,
  }),
  restRow({
    method: 'GET',
    path: `${ONE}/invitations`,
    tag: 'Organizations',
    refusals: [403],
    envelope,
    operation: listOrganizationInvitations,
  }),
  restRow({
    method: 'DELETE',
    path: `${ONE}/invitations/:invitation`,
    tag: 'Organizations',
    refusals: [403],
    status: 204,
    envelope,
    operation: withdrawInvitation,
  }),
  restRow({
    method: 'POST',
    path: `${ONE}/invite-links`,
    tag: 'Organizations',
    refusals: [403, 409],
    status: 201,
    envelope,
    operation: createInviteLink,
    body: NEW_LINK,
  }),
  restRow({
    method: 'GET',
    path: `${ONE}/invite-links`,
    tag: 'Organizations',
    refusals: [403],
    envelope,
    operation: listInviteLinks,
  }),
  restRow({
    method: 'DELETE',
    path: `${ONE}/invite-links/:link`,
    tag: 'Organizations',
    refusals: [403],
    status: 204,
    envelope,
    operation: revokeInviteLink,
  }),
  restRow({
    method: 'POST',
    path: '/v1/invite-links/open',
    tag: 'Organizations',
    refusals: [404],
    envelope,
    operation: openInviteLink,
  }),
  restRow({
    method: 'POST',
    path: '/v1/invite-links/accept',
    tag: 'Organizations',
    refusals: [404, 409],
    envelope,
    operation: acceptInviteLink,
  }),
  restRow({ method: 'GET', path: '/v1/workspaces', tag: 'Organizations', envelope, operation: listOwnWorkspaces }),
  restRow({ method: 'GET', path: '/v1/invitations', tag: 'Organizations', envelope, operation: listOwnInvitations }),
  restRow({
    method: 'POST',
    path: '/v1/invitations/:invitation/accept',
    tag: 'Organizations',
    refusals: [409],
    envelope,
    operation: acceptInvitation,
  }),
  restRow({
    method: 'POST',
    path: '/v1/invitations/:invitation/decline',
    tag: 'Organizations',
    refusals: [409],
    envelope,
    operation: declineInvitation,
  }),
  restRow({
    method: 'POST',
    path: `${ONE}/workspaces`,
    tag: 'Organizations',
    refusals: [403, 409],
    status: 201,
    envelope,
    operation: createWorkspace,
  }),
  restRow({
    method: 'GET',
    path: `${ONE}/workspaces`,
    tag: 'Organizations',
    refusals: [403],
    envelope,
    operation: listOrganizationWorkspaces,
  }),
  restRow({
    method: 'PATCH',
    path: WORKSPACE,
    tag: 'Organizations',
    refusals: [403, 409],
    envelope,
    operation: updateWorkspace,
  }),
  restRow({
    method: 'GET',
    path: `${ONE}/budgets`,
    tag: 'Organizations',
    refusals: [403],
    envelope,
    operation: listOrganizationBudgets,
  }),
  restRow({
    method: 'PUT',
    path: `${ONE}/members/:member/budget`,
    tag: 'Organizations',
    refusals: [403],
    envelope,
    operation: setMemberBudget,
  }),
  restRow({
    method: 'PUT',
    path: `${WORKSPACE}/budget`,
    tag: 'Organizations',
    refusals: [403, 409],
    envelope,
    operation: setWorkspaceBudget,
  }),
  restRow({
    method: 'DELETE',
    path: WORKSPACE,
    tag: 'Organizations',
    refusals: [403, 409],
    envelope,
    operation: closeWorkspace,
  }),
  restRow({
    method: 'POST',
    path: `${WORKSPACE}/keys`,
    tag: 'Organizations',
    refusals: [403, 409],
    status: 201,
    envelope,
    operation: createWorkspaceKey,
    body: NEW_KEY,
  }),
  restRow({
    method: 'GET',
    path: `${WORKSPACE}/keys`,
    tag: 'Organizations',
    refusals: [403],
    envelope,
    operation: listWorkspaceKeys,
  }),
  restRow({
    method: 'DELETE',
    path: `${WORKSPACE}/keys/:key`,
    tag: 'Organizations',
    refusals: [403],
    status: 204,
    envelope,
    operation: revokeWorkspaceKey,
  }),
  restRow({
    method: 'POST',
    path: `${ONE}/keys`,
    tag: 'Organizations',
    refusals: [403, 409],
    status: 201,
    envelope,
    operation: createOrganizationKey,
    body: NEW_KEY,
  }),
  restRow({
    method: 'GET',
    path: `${ONE}/keys`,
    tag: 'Organizations',
    refusals: [403],
    envelope,
    operation: listManagementKeys,
  }),
  restRow({
    method: 'DELETE',
    path: `${ONE}/keys/:key`,
    tag: 'Organizations',
    refusals: [403],
    status: 204,
    envelope,
    operation: revokeOrganizationKey,
  }),
  restRow({
    method: 'GET',
    path: `${ONE}/audit`,
    tag: 'Audit',
    refusals: [403],
    envelope,
    operation: listOrganizationAudit,
  }),
  restRow({
    method: 'GET',
    path: `${ONE}/audit/export`,
    tag: 'Audit',
    refusals: [403],
    as: 'redirect',
    status: 302,
    envelope,
    operation: exportOrganizationAudit,
    answer: toFile,
  }),
  restRow({ method: 'GET', path: '/v1/audit', tag: 'Audit', envelope, operation: listOwnAudit }),
  restRow({
    method: 'GET',
    path: '/v1/audit/export',
    tag: 'Audit',
    as: 'redirect',
    status: 302,
    envelope,
    operation: exportOwnAudit,
    answer: toFile,
  }),
]
