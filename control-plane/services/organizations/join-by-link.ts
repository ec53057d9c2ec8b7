import { z } from 'zod'
import type { Database, Trx } from '#control-plane/db/database.ts'
import type { InviteLinkRow } from '#control-plane/db/invite-links.ts'
import { updateInviteLinkUsed } from '#control-plane/db/invite-links.ts'
import { findMember, lockOrganization } from '#control-plane/db/organizations.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { UnixMs } from '#control-plane/services/view-fields.ts'
import { AppError } from '#shared/errors.ts'
import { oneLine } from '#shared/texts.ts'
import { addMember } from './add-member.ts'
import { hashInviteSecret, listWorking } from './invite-links.ts'
import { RoleField } from './organizations.ts'

/** A longer text cannot be the secret of a link. */
const MAX_SECRET_CHARS = 100

const LinkInput = z.strictObject({
  secret: oneLine(MAX_SECRET_CHARS).describe('The part of the link behind `#`.'),
})

/** An offer of membership, as its link shows it before a user joins. */
export const OpenInviteSchema = z
  .object({
    organization: z.string(),
    organizationName: z.string(),
    role: RoleField,
    expiresAt: UnixMs,
    isMember: z.boolean().describe('True when the signed-in account is a member already.'),
  })
  .meta({ id: 'OpenInvite', description: 'The organization and the role that an invite link offers.' })
export type OpenInvite = z.infer<typeof OpenInviteSchema>

/** Shows where a link leads. Nothing changes, and no use of the link is counted. Throws `not_found`. */
export const openInviteLink = defineOperation({
  name: 'invite-link.open',
  summary: 'Read an invite link',
  about: 'Shows the organization and the role before you join. Does not count as a use of the link.',
  access: 'session',
  input: LinkInput,
  limit: 'write',
  isAudited: false,
  idempotency: 'none',
  output: OpenInviteSchema,
  run: async (ctx, { user }, { secret }): Promise<OpenInvite> => {
    const link = await requireLink(ctx, ctx.db, secret)
    const { organization, organizationName, role, expiresAt } = link
    const isMember = (await findMember(ctx.db, organization, user)) !== undefined
    return { organization, organizationName, role, expiresAt: expiresAt.getTime(), isMember }
  },
})

/**
 * Makes the caller a member with the role of a link. Throws `not_found` for a link that does not work, and `conflict`
 * for a member, who keeps the present role, and for a full organisation.
 */
export const acceptInviteLink = defineOperation({
  name: 'invite-link.accept',
  summary: 'Join by an invite link',
  about: 'Makes the signed-in account a member of the organization. Counts as a use of the link.',
  access: 'session',
  input: LinkInput,
  limit: 'write',
  idempotency: 'none',
  output: OpenInviteSchema,
  run: async (ctx, { user }, { secret }): Promise<OpenInvite> => {
    const join = async (trx: Trx) => {
      // The lock orders joins with revocations and changes of members. The link is read again under it.
      await lockOrganization(trx, (await requireLink(ctx, trx, secret)).organization)
      const link = await requireLink(ctx, trx, secret)
      const { organization, organizationName, role } = link
      await addMember(trx, { organization, organizationName, user, role, at: ctx.clock.now() })
      await updateInviteLinkUsed(trx, link.id)
      return link
    }
    const link = await ctx.change(join, ({ id, organization, role, uses }) => ({
      subject: id,
      before: null,
      after: { joined: user, role, uses: uses + 1 },
      organization,
    }))
    const { organization, organizationName, role, expiresAt } = link
    return { organization, organizationName, role, expiresAt: expiresAt.getTime(), isMember: true }
  },
})

/**
 * Refuses every link that does not work in the same words, so that a caller cannot learn whether the link ever worked.
 */
async function requireLink(
  ctx: Pick<Ctx, 'clock' | 'settings'>,
  db: Database | Trx,
  secret: string,
): Promise<InviteLinkRow> {
  const [link] = await listWorking(ctx, db, { hash: hashInviteSecret(ctx, secret) })
  if (link === undefined) {
    throw new AppError('not_found', {
      message: 'This invite link does not work. It expired, was used or revoked, or is incomplete. Ask for a new link.',
    })
  }
  return link
}
