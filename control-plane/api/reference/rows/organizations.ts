import type { Descriptions } from './described.ts'

const tag = 'Organizations'
const ONE = '/v1/organizations/:organization'
const WORKSPACE = `${ONE}/workspaces/:workspace`

const forbidden = { refusals: [403] }
const clashing = { refusals: [403, 409] }

const PEOPLE: Descriptions = {
  'POST /v1/organizations': {
    tag,
    summary: 'Make an organization',
    description: 'The caller becomes its owner.',
    example: { name: 'Example laboratory' },
    refusals: [409],
  },
  'GET /v1/organizations': {
    tag,
    summary: 'List the organizations of the caller',
    description: 'Every organization that the wallet is a member of, or the one of the management key.',
    example: {},
  },
  [`GET ${ONE}`]: {
    tag,
    summary: 'Read an organization',
    description: 'The organization’s name and when it was made.',
    example: {},
    ...forbidden,
  },
  [`PATCH ${ONE}`]: {
    tag,
    summary: 'Rename an organization',
    description: 'Changes the name that members see.',
    example: { name: 'Example institute' },
    ...forbidden,
  },
  [`GET ${ONE}/members`]: {
    tag,
    summary: 'List members',
    description: 'The wallets of the organization with their roles.',
    example: {},
    ...forbidden,
  },
  [`PATCH ${ONE}/members/:member`]: {
    tag,
    summary: "Change a member's role",
    description: 'The organization keeps at least one owner.',
    example: { role: 'developer' },
    ...clashing,
  },
  [`DELETE ${ONE}/members/:member`]: {
    tag,
    summary: 'Remove a member',
    description: 'The wallet loses its access at once. The organization keeps at least one owner.',
    example: {},
    ...clashing,
  },
  [`POST ${ONE}/invitations`]: {
    tag,
    summary: 'Invite a wallet',
    description: 'The wallet becomes a member, with the role of the invitation, when it accepts.',
    example: { wallet: '0x52908400098527886e0f7030069857d2e4169ee7', role: 'viewer' },
    ...clashing,
  },
  [`GET ${ONE}/invitations`]: {
    tag,
    summary: 'List open invitations',
    description: 'Invitations that were not answered yet.',
    example: {},
    ...forbidden,
  },
  [`DELETE ${ONE}/invitations/:invitation`]: {
    tag,
    summary: 'Withdraw an invitation',
    description: 'The wallet can no longer accept the invitation.',
    example: {},
    ...forbidden,
  },
  'GET /v1/invitations': {
    tag,
    summary: 'List invitations of the caller',
    description: 'Invitations to the signed-in wallet that were not answered yet.',
    example: {},
  },
  'POST /v1/invitations/:invitation/accept': {
    tag,
    summary: 'Accept an invitation',
    description: 'Makes the signed-in wallet a member of the organization.',
    example: {},
    refusals: [409],
  },
  'POST /v1/invitations/:invitation/decline': {
    tag,
    summary: 'Decline an invitation',
    description: 'The wallet does not become a member.',
    example: {},
    refusals: [409],
  },
}

const WORKSPACES: Descriptions = {
  [`POST ${ONE}/workspaces`]: {
    tag,
    summary: 'Make a workspace',
    description: 'A workspace has a buyer and a seller account of its own, and keys that act for them.',
    example: { name: 'evaluation' },
    ...clashing,
  },
  [`GET ${ONE}/workspaces`]: {
    tag,
    summary: 'List workspaces',
    description: 'Workspaces keep the accounts of an organization apart.',
    example: {},
    ...forbidden,
  },
  [`PATCH ${WORKSPACE}`]: {
    tag,
    summary: 'Rename a workspace',
    description: 'Changes the name that members see.',
    example: { name: 'production' },
    ...clashing,
  },
  [`DELETE ${WORKSPACE}`]: {
    tag,
    summary: 'Close a workspace',
    description:
      'For good. Its records can still be read. Refused while it has live offers, working keys or a balance.',
    ...clashing,
  },
  [`POST ${WORKSPACE}/keys`]: {
    tag,
    summary: 'Make a key of a workspace',
    description: 'The answer shows the key once. Keep it.',
    example: { key_type: 'buyer', label: 'evaluation runs' },
    ...clashing,
  },
  [`GET ${WORKSPACE}/keys`]: {
    tag,
    summary: 'List keys of a workspace',
    description: 'The keys with their labels, without their secrets.',
    example: {},
    ...forbidden,
  },
  [`DELETE ${WORKSPACE}/keys/:key`]: {
    tag,
    summary: 'Revoke a key of a workspace',
    description: 'The key stops working. A revoked key does not come back.',
    example: {},
    ...forbidden,
  },
  [`POST ${ONE}/keys`]: {
    tag,
    summary: 'Make a management key',
    description: 'The answer shows the key once. Keep it.',
    example: { label: 'provisioning', role: 'developer' },
    ...clashing,
  },
  [`GET ${ONE}/keys`]: {
    tag,
    summary: 'List management keys',
    description: 'The keys with their labels, without their secrets.',
    example: {},
    ...forbidden,
  },
  [`DELETE ${ONE}/keys/:key`]: {
    tag,
    summary: 'Revoke a management key',
    description: 'The key stops working. A revoked key does not come back.',
    example: {},
    ...forbidden,
  },
}

const AUDIT: Descriptions = {
  [`GET ${ONE}/audit`]: {
    tag: 'Audit',
    summary: 'Read the log of an organization',
    description: 'Who changed what, newest first.',
    example: { max_items: 10 },
    ...forbidden,
  },
  [`GET ${ONE}/audit/export`]: {
    tag: 'Audit',
    summary: 'Download the log of an organization',
    description: 'The entries as a CSV file.',
    as: 'redirect',
    example: { format: 'csv' },
    ...forbidden,
  },
  'GET /v1/audit': {
    tag: 'Audit',
    summary: "Read the log of the caller's own changes",
    description: 'What the caller’s accounts changed, newest first.',
    example: { max_items: 10 },
  },
  'GET /v1/audit/export': {
    tag: 'Audit',
    summary: "Download the log of the caller's own changes",
    description: 'The entries as a CSV file.',
    as: 'redirect',
    example: { format: 'ndjson' },
  },
}

export const ORGANIZATION_DESCRIPTIONS: Descriptions = { ...PEOPLE, ...WORKSPACES, ...AUDIT }
