import { invoke } from '#control-plane/operation/invoke.ts'
import type { AuditEntry } from '#control-plane/services/audit.ts'
import { AuditEntrySchema, listOrganizationAudit, listOwnAudit } from '#control-plane/services/audit.ts'
import { exportOrganizationAudit, exportOwnAudit } from '#control-plane/services/audit-export.ts'
import type { ExportLink } from '#control-plane/services/exports/export-link.ts'
import { closeWorkspace } from '#control-plane/services/organizations/close-workspace.ts'
import type {
  CreatedOrganizationKey,
  OrganizationKeyView,
} from '#control-plane/services/organizations/organization-keys.ts'
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
import type { WorkspaceView } from '#control-plane/services/organizations/workspaces.ts'
import {
  createWorkspace,
  listOrganizationWorkspaces,
  updateWorkspace,
  WorkspaceViewSchema,
} from '#control-plane/services/organizations/workspaces.ts'
import { builder } from './builder.ts'
import { membersOf } from './members.ts'
import { withKey } from './offers.ts'
import { costOfPage, readPage, toConnection } from './page.ts'

const Workspace = builder.objectRef<WorkspaceView>('Workspace').implement({
  description: 'A workspace: accounts of its own on both sides of the market.',
  fields: (t) => membersOf(t, WorkspaceViewSchema, { ids: ['organization', 'buyerAccount', 'sellerAccount'] }),
})

const OrganizationKey = builder.objectRef<OrganizationKeyView>('OrganizationKey').implement({
  description: 'A management key, or a member’s key for a workspace, without the key itself.',
  fields: (t) => membersOf(t, OrganizationKeySchema, { ids: ['workspace', 'madeBy'] }),
})

const CreatedKey = builder.objectRef<CreatedOrganizationKey>('CreatedOrganizationKey').implement({
  description: 'A new key. `key` is shown in the first answer only.',
  fields: (t) => ({
    key: t.string({ nullable: true, resolve: ({ secret }) => secret?.reveal() ?? null }),
    record: t.field({ type: OrganizationKey, resolve: (created) => created }),
  }),
})

const json = (value: unknown) => (value === null ? null : JSON.stringify(value))
export const Entry = builder.objectRef<AuditEntry>('AuditEntry').implement({
  description: 'One change; `before` and `after` are JSON texts.',
  fields: (t) => ({
    ...membersOf(t, AuditEntrySchema),
    before: t.string({ nullable: true, resolve: (entry) => json(entry.before) }),
    after: t.string({ nullable: true, resolve: (entry) => json(entry.after) }),
  }),
})

const Link = builder.objectRef<ExportLink>('AuditLink').implement({
  description: 'Where a log can be had as a file, without a key, until `expiresAt`.',
  fields: (t) => ({ url: t.exposeString('url'), expiresAt: t.exposeFloat('expiresAt') }),
})

/** The longest list, for its cost. */
const LIST_COST = { field: 1, multiplier: 50 }

builder.queryFields((t) => ({
  workspaces: t.field({
    type: [Workspace],
    complexity: LIST_COST,
    args: { organization: t.arg.id({ required: true }) },
    resolve: async (_root, args, { ctx, actor, options }) =>
      (await invoke(ctx, actor, listOrganizationWorkspaces, args, options)).workspaces,
  }),
  workspaceKeys: t.connection({
    type: OrganizationKey,
    complexity: costOfPage,
    args: { organization: t.arg.id({ required: true }), workspace: t.arg.id({ required: true }) },
    resolve: async (_root, { organization, workspace, ...args }, { ctx, actor, options }) => {
      const input = { organization, workspace, ...readPage(args) }
      const { keys: items, ...page } = await invoke(ctx, actor, listWorkspaceKeys, input, options)
      return toConnection({ ...page, items }, args)
    },
  }),
  organizationKeys: t.connection({
    type: OrganizationKey,
    complexity: costOfPage,
    args: { organization: t.arg.id({ required: true }) },
    resolve: async (_root, { organization, ...args }, { ctx, actor, options }) => {
      const input = { organization, ...readPage(args) }
      const { keys: items, ...page } = await invoke(ctx, actor, listManagementKeys, input, options)
      return toConnection({ ...page, items }, args)
    },
  }),
  organizationAudit: t.connection({
    type: Entry,
    complexity: costOfPage,
    args: { organization: t.arg.id({ required: true }), operation: t.arg.string(), subject: t.arg.id() },
    resolve: async (_root, { organization, operation, subject, ...args }, { ctx, actor, options }) => {
      const input = { organization, operation, subject, ...readPage(args) }
      return toConnection(await invoke(ctx, actor, listOrganizationAudit, input, options), args)
    },
  }),
  ownAudit: t.connection({
    type: Entry,
    complexity: costOfPage,
    resolve: async (_root, args, { ctx, actor, options }) =>
      toConnection(await invoke(ctx, actor, listOwnAudit, readPage(args), options), args),
  }),
  organizationAuditExport: t.field({
    type: Link,
    args: { organization: t.arg.id({ required: true }), format: t.arg.string() },
    resolve: (_root, { organization, format }, { ctx, actor, options }) =>
      invoke(ctx, actor, exportOrganizationAudit, { organization, format: format ?? undefined }, options),
  }),
  ownAuditExport: t.field({
    type: Link,
    args: { format: t.arg.string() },
    resolve: (_root, { format }, { ctx, actor, options }) =>
      invoke(ctx, actor, exportOwnAudit, { format: format ?? undefined }, options),
  }),
}))

builder.mutationFields((t) => ({
  createWorkspace: t.field({
    type: Workspace,
    args: { organization: t.arg.id({ required: true }), name: t.arg.string({ required: true }) },
    resolve: (_root, args, { ctx, actor, options }) => invoke(ctx, actor, createWorkspace, args, options),
  }),
  updateWorkspace: t.field({
    type: Workspace,
    args: {
      organization: t.arg.id({ required: true }),
      workspace: t.arg.id({ required: true }),
      name: t.arg.string({ required: true }),
    },
    resolve: (_root, args, { ctx, actor, options }) => invoke(ctx, actor, updateWorkspace, args, options),
  }),
  closeWorkspace: t.field({
    type: Workspace,
    args: { organization: t.arg.id({ required: true }), workspace: t.arg.id({ required: true }) },
    resolve: (_root, args, { ctx, actor, options }) => invoke(ctx, actor, closeWorkspace, args, options),
  }),
  createWorkspaceKey: t.field({
    type: CreatedKey,
    args: {
      organization: t.arg.id({ required: true }),
      workspace: t.arg.id({ required: true }),
      keyType: t.arg.string({ required: true }),
      label: t.arg.string({ required: true }),
      expiresAt: t.arg.float(),
      idempotencyKey: t.arg.string(),
    },
    resolve: (_root, { idempotencyKey, ...input }, { ctx, actor, options }) =>
      invoke(ctx, actor, createWorkspaceKey, input, withKey(options, idempotencyKey)),
  }),
  revokeWorkspaceKey: t.field({
    type: OrganizationKey,
    args: {
      organization: t.arg.id({ required: true }),
      workspace: t.arg.id({ required: true }),
      key: t.arg.id({ required: true }),
    },
    resolve: (_root, args, { ctx, actor, options }) => invoke(ctx, actor, revokeWorkspaceKey, args, options),
  }),
  createOrganizationKey: t.field({
    type: CreatedKey,
    args: {
      organization: t.arg.id({ required: true }),
      label: t.arg.string({ required: true }),
      role: t.arg.string({ required: true }),
      expiresAt: t.arg.float(),
      idempotencyKey: t.arg.string(),
    },
    resolve: (_root, { idempotencyKey, ...input }, { ctx, actor, options }) =>
      invoke(ctx, actor, createOrganizationKey, input, withKey(options, idempotencyKey)),
  }),
  revokeOrganizationKey: t.field({
    type: OrganizationKey,
    args: { organization: t.arg.id({ required: true }), key: t.arg.id({ required: true }) },
    resolve: (_root, args, { ctx, actor, options }) => invoke(ctx, actor, revokeOrganizationKey, args, options),
  }),
}))
