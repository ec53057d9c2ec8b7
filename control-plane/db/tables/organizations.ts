import { bigint, id, integer, nullable, oneOf, text, timestamp } from './column.ts'

/** The roles of a management key in its organisation, from the most rights to the fewest. */
export const MANAGEMENT_ROLES = ['admin', 'developer', 'billing', 'viewer'] as const
export type ManagementRole = (typeof MANAGEMENT_ROLES)[number]
/** The roles of a member. A key never has `owner`. */
export const ROLES = ['owner', ...MANAGEMENT_ROLES] as const
export type Role = (typeof ROLES)[number]

/** Tables of `0002_organizations.sql`, `0216_invite_links.sql` and `0242_budgets.sql`. */
export const ORGANIZATION_TABLES = {
  organization: { id: id('org'), name: text(), created_at: timestamp() },
  organization_member: { organization_id: id('org'), user_id: id('usr'), role: oneOf(ROLES), created_at: timestamp() },
  organization_invitation: {
    id: id('inv'),
    organization_id: id('org'),
    wallet: text(),
    role: oneOf(ROLES),
    invited_by: text(),
    created_at: timestamp(),
    expires_at: timestamp(),
    answered_at: nullable(timestamp()),
    answer: nullable(oneOf(['accepted', 'declined', 'withdrawn'])),
  },
  invite_link: {
    id: id('ivl'),
    organization_id: id('org'),
    hash: text(),
    role: oneOf(MANAGEMENT_ROLES),
    created_by: text(),
    created_at: timestamp(),
    expires_at: timestamp(),
    max_uses: integer(),
    uses: integer(),
    revoked_at: nullable(timestamp()),
  },
  workspace: {
    id: id('wsp'),
    organization_id: id('org'),
    name: text(),
    buyer_account: id('acc'),
    seller_account: id('acc'),
    created_at: timestamp(),
    closed_at: nullable(timestamp()),
  },
  budget: {
    id: id('bdg'),
    organization_id: id('org'),
    workspace_id: nullable(id('wsp')),
    user_id: nullable(id('usr')),
    limit_micro: bigint(),
    created_at: timestamp(),
  },
}
