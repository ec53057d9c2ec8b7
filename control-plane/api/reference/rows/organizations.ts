import { z } from 'zod'
import { OrganizationKeySchema } from '#control-plane/services/organizations/organization-keys.ts'
import { RoleField } from '#control-plane/services/organizations/organizations.ts'
import { pageSchema } from '#control-plane/services/page.ts'
import { UnixMs } from '#control-plane/services/view-fields.ts'
import type { Descriptions } from './described.ts'

const tag = 'Organizations'
const ONE = '/v1/organizations/:organization'
const WORKSPACE = `${ONE}/workspaces/:workspace`

const Organization = z
  .object({ id: z.string(), name: z.string(), role: RoleField, createdAt: UnixMs })
  .meta({ id: 'Organization' })
const Member = z
  .object({ id: z.string(), wallet: z.string(), role: RoleField, createdAt: UnixMs })
  .meta({ id: 'Member' })
const Invitation = z
  .object({
    id: z.string(),
    organization: z.string(),
    organizationName: z.string(),
    wallet: z.string(),
    role: RoleField,
    invitedBy: z.string(),
    createdAt: UnixMs,
    expiresAt: UnixMs,
  })
  .meta({ id: 'Invitation' })
const Workspace = z
  .object({
    id: z.string(),
    organization: z.string(),
    name: z.string(),
    buyerAccount: z.string(),
    sellerAccount: z.string(),
    createdAt: UnixMs,
    closedAt: UnixMs.nullable(),
  })
  .meta({ id: 'Workspace' })
const OrganizationKey = OrganizationKeySchema.meta({ id: 'OrganizationKey' })
const OrganizationKeyCreated = OrganizationKeySchema.extend({
  key: z.string().optional().describe('The key itself: shown once, never in a replayed answer.'),
}).meta({ id: 'OrganizationKeyCreated' })
const AuditEntry = z
  .object({
    id: z.string(),
    at: UnixMs,
    operation: z.string(),
    actorKind: z.string(),
    actor: z.string(),
    wallet: z.string().nullable(),
    keyId: z.string().nullable(),
    subject: z.string().nullable(),
    before: z.unknown(),
    after: z.unknown(),
  })
  .meta({ id: 'AuditEntry' })

const invitations = z.object({ invitations: z.array(Invitation) })
const keys = z.object({ keys: z.array(OrganizationKey), nextToken: z.string().nullable() })
const forbidden = { refusals: [403] }
const clashing = { refusals: [403, 409] }

const PEOPLE: Descriptions = {
  'POST /v1/organizations': {
    tag,
    summary: 'Make an organization',
    description: 'The caller becomes its owner.',
    answer: Organization,
    example: { name: 'Example laboratory' },
    refusals: [409],
  },
  'GET /v1/organizations': {
    tag,
    summary: 'List the organizations of the caller',
    answer: z.object({ organizations: z.array(Organization) }),
    example: {},
  },
  [`GET ${ONE}`]: { tag, summary: 'Read an organization', answer: Organization, example: {}, ...forbidden },
  [`PATCH ${ONE}`]: {
    tag,
    summary: 'Rename an organization',
    answer: Organization,
    example: { name: 'Example institute' },
    ...forbidden,
  },
  [`GET ${ONE}/members`]: {
    tag,
    summary: 'List members',
    answer: z.object({ members: z.array(Member) }),
    example: {},
    ...forbidden,
  },
  [`PATCH ${ONE}/members/:member`]: {
    tag,
    summary: "Change a member's role",
    answer: Member,
    example: { role: 'developer' },
    ...clashing,
  },
  [`DELETE ${ONE}/members/:member`]: { tag, summary: 'Remove a member', example: {}, ...clashing },
  [`POST ${ONE}/invitations`]: {
    tag,
    summary: 'Invite a wallet',
    answer: Invitation,
    example: { wallet: '0x52908400098527886e0f7030069857d2e4169ee7', role: 'viewer' },
    ...clashing,
  },
  [`GET ${ONE}/invitations`]: { tag, summary: 'List open invitations', answer: invitations, example: {}, ...forbidden },
  [`DELETE ${ONE}/invitations/:invitation`]: { tag, summary: 'Withdraw an invitation', example: {}, ...forbidden },
  'GET /v1/invitations': { tag, summary: 'List invitations of the caller', answer: invitations, example: {} },
  'POST /v1/invitations/:invitation/accept': {
    tag,
    summary: 'Accept an invitation',
    answer: Invitation,
    example: {},
    refusals: [409],
  },
  'POST /v1/invitations/:invitation/decline': {
    tag,
    summary: 'Decline an invitation',
    answer: Invitation,
    example: {},
    refusals: [409],
  },
}

const WORKSPACES: Descriptions = {
  [`POST ${ONE}/workspaces`]: {
    tag,
    summary: 'Make a workspace',
    description: 'A workspace has a buyer and a seller account of its own, and keys that act for them.',
    answer: Workspace,
    example: { name: 'evaluation' },
    ...clashing,
  },
  [`GET ${ONE}/workspaces`]: {
    tag,
    summary: 'List workspaces',
    answer: z.object({ workspaces: z.array(Workspace) }),
    example: {},
    ...forbidden,
  },
  [`PATCH ${WORKSPACE}`]: {
    tag,
    summary: 'Rename a workspace',
    answer: Workspace,
    example: { name: 'production' },
    ...clashing,
  },
  [`DELETE ${WORKSPACE}`]: {
    tag,
    summary: 'Close a workspace',
    description:
      'For good. Its records can still be read. Refused while it has live offers, working keys or a balance.',
    answer: Workspace,
    ...clashing,
  },
  [`POST ${WORKSPACE}/keys`]: {
    tag,
    summary: 'Make a key of a workspace',
    answer: OrganizationKeyCreated,
    example: { key_type: 'buyer', label: 'evaluation runs' },
    ...clashing,
  },
  [`GET ${WORKSPACE}/keys`]: { tag, summary: 'List keys of a workspace', answer: keys, example: {}, ...forbidden },
  [`DELETE ${WORKSPACE}/keys/:key`]: { tag, summary: 'Revoke a key of a workspace', example: {}, ...forbidden },
  [`POST ${ONE}/keys`]: {
    tag,
    summary: 'Make a management key',
    answer: OrganizationKeyCreated,
    example: { label: 'provisioning', role: 'developer' },
    ...clashing,
  },
  [`GET ${ONE}/keys`]: { tag, summary: 'List management keys', answer: keys, example: {}, ...forbidden },
  [`DELETE ${ONE}/keys/:key`]: { tag, summary: 'Revoke a management key', example: {}, ...forbidden },
}

const AUDIT: Descriptions = {
  [`GET ${ONE}/audit`]: {
    tag: 'Audit',
    summary: 'Read the log of an organization',
    answer: pageSchema(AuditEntry),
    example: { max_items: 10 },
    ...forbidden,
  },
  [`GET ${ONE}/audit/export`]: {
    tag: 'Audit',
    summary: 'Download the log of an organization',
    as: 'redirect',
    example: { format: 'csv' },
    ...forbidden,
  },
  'GET /v1/audit': {
    tag: 'Audit',
    summary: "Read the log of the caller's own changes",
    answer: pageSchema(AuditEntry),
    example: { max_items: 10 },
  },
  'GET /v1/audit/export': {
    tag: 'Audit',
    summary: "Download the log of the caller's own changes",
    as: 'redirect',
    example: { format: 'ndjson' },
  },
}

export const ORGANIZATION_DESCRIPTIONS: Descriptions = { ...PEOPLE, ...WORKSPACES, ...AUDIT }
