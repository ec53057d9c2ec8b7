import { AuditEntrySchema, listOrganizationAudit, listOwnAudit } from '#control-plane/services/audit/audit.ts'
import { exportOrganizationAudit, exportOwnAudit } from '#control-plane/services/audit/audit-export.ts'
import { ExportLinkSchema } from '#control-plane/services/exports/export-link.ts'
import { closeWorkspace } from '#control-plane/services/organizations/close-workspace.ts'
import type { CreatedOrganizationKey } from '#control-plane/services/organizations/organization-keys.ts'
import {
  createOrganizationKey,
  listManagementKeys,
  OrganizationKeySchema,
  revokeOrganizationKey,
} from '#control-plane/services/organizations/organization-keys.ts'
import {
  createWorkspaceKey,
  listWorkspaceKeys,
  revokeWorkspaceKey,
} from '#control-plane/services/organizations/workspace-keys.ts'
import {
  createWorkspace,
  listOrganizationWorkspaces,
  listOwnWorkspaces,
  OwnWorkspaceSchema,
  updateWorkspace,
  WorkspaceViewSchema,
} from '#control-plane/services/organizations/workspaces.ts'
import { builder } from './builder.ts'
import { objectOf } from './objects.ts'
import { fieldOf, pageOf } from './operation-fields.ts'
import { LIST_COST } from './page.ts'

const Workspace = objectOf('Workspace', WorkspaceViewSchema, {
  description: 'A workspace: accounts of its own on both sides of the market.',
  ids: ['organization', 'buyerAccount', 'sellerAccount'],
})

const OwnWorkspace = objectOf('OwnWorkspace', OwnWorkspaceSchema, {
  description: 'A workspace that the caller may enter, with the role of the caller.',
  ids: ['organization', 'buyerAccount', 'sellerAccount'],
})

const OrganizationKey = objectOf('OrganizationKey', OrganizationKeySchema, {
  description: 'A management key, or a member’s key for a workspace, without the key itself.',
  ids: ['workspace', 'madeBy'],
})

const CreatedKey = builder.objectRef<CreatedOrganizationKey>('CreatedOrganizationKey').implement({
  description: 'A new key. `key` is shown in the first answer only.',
  fields: (t) => ({
    key: t.string({ nullable: true, resolve: ({ secret }) => secret?.reveal() ?? null }),
    record: t.field({ type: OrganizationKey, resolve: (created) => created }),
  }),
})

/** A value as a JSON text; null stays null. */
export const jsonOf = (value: unknown) => (value === null ? null : JSON.stringify(value))
const Entry = objectOf('AuditEntry', AuditEntrySchema, {
  description: 'One change; `before` and `after` are JSON texts.',
  fields: (t) => ({
    before: t.string({ nullable: true, resolve: (entry) => jsonOf(entry.before) }),
    after: t.string({ nullable: true, resolve: (entry) => jsonOf(entry.after) }),
  }),
})

const Link = objectOf('AuditLink', ExportLinkSchema, {
  description: 'A link to a log as a file. The link opens without a key until `expiresAt`.',
})

builder.queryFields((t) => ({
  workspaces: t.field({
    type: [Workspace],
    complexity: LIST_COST,
    ...fieldOf(listOrganizationWorkspaces, { ids: ['organization'] }, ({ workspaces }) => workspaces),
  }),
  ownWorkspaces: t.field({
    type: [OwnWorkspace],
    complexity: LIST_COST,
    ...fieldOf(listOwnWorkspaces, {}, ({ workspaces }) => workspaces),
  }),
  workspaceKeys: t.connection({
    type: OrganizationKey,
    ...pageOf(listWorkspaceKeys, { ids: ['organization', 'workspace'] }, ({ keys, ...page }) => ({
      ...page,
      items: keys,
    })),
  }),
  organizationKeys: t.connection({
    type: OrganizationKey,
    ...pageOf(listManagementKeys, { ids: ['organization'] }, ({ keys, ...page }) => ({ ...page, items: keys })),
  }),
  organizationAudit: t.connection({
    type: Entry,
    ...pageOf(listOrganizationAudit, {
      ids: ['organization', 'subject'],
      without: ['actor', 'since', 'until'],
    }),
  }),
  ownAudit: t.connection({
    type: Entry,
    ...pageOf(listOwnAudit, { without: ['operation', 'subject', 'actor', 'since', 'until'] }),
  }),
  organizationAuditExport: t.field({
    type: Link,
    ...fieldOf(exportOrganizationAudit, {
      ids: ['organization'],
      without: ['operation', 'subject', 'actor', 'since', 'until'],
    }),
  }),
  ownAuditExport: t.field({
    type: Link,
    ...fieldOf(exportOwnAudit, { without: ['operation', 'subject', 'actor', 'since', 'until'] }),
  }),
}))

builder.mutationFields((t) => ({
  createWorkspace: t.field({ type: Workspace, ...fieldOf(createWorkspace, { ids: ['organization'] }) }),
  updateWorkspace: t.field({ type: Workspace, ...fieldOf(updateWorkspace, { ids: ['organization', 'workspace'] }) }),
  closeWorkspace: t.field({ type: Workspace, ...fieldOf(closeWorkspace, { ids: ['organization', 'workspace'] }) }),
  createWorkspaceKey: t.field({
    type: CreatedKey,
    ...fieldOf(createWorkspaceKey, { ids: ['organization', 'workspace'] }),
  }),
  revokeWorkspaceKey: t.field({
    type: OrganizationKey,
    ...fieldOf(revokeWorkspaceKey, { ids: ['organization', 'workspace', 'key'] }),
  }),
  createOrganizationKey: t.field({
    type: CreatedKey,
    ...fieldOf(createOrganizationKey, { ids: ['organization'] }),
  }),
  revokeOrganizationKey: t.field({
    type: OrganizationKey,
    ...fieldOf(revokeOrganizationKey, { ids: ['organization', 'key'] }),
  }),
}))
