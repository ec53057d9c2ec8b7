import { z } from 'zod'
import type { Trx } from '#control-plane/db/database.ts'
import type { InvitationRow } from '#control-plane/db/invitations.ts'
import { insertInvitation, listInvitations, updateInvitationAnswered } from '#control-plane/db/invitations.ts'
import { listMembers, lockOrganization } from '#control-plane/db/organizations.ts'
import type { SessionActor } from '#control-plane/operation/actor.ts'
import type { RunCtx } from '#control-plane/operation/operation.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { Wallet } from '#control-plane/services/input-fields.ts'
import { UnixMs } from '#control-plane/services/view-fields.ts'
import { DAY } from '#shared/clock.ts'
import { AppError } from '#shared/errors.ts'
import { addMember } from './add-member.ts'
import { MAX_MEMBERS } from './members.ts'
import { lockWithRight, requireOver, requireRight } from './organization-access.ts'
import { RecordId, RoleField, tooMany } from './organizations.ts'

/** Lifetime of an invitation, and most open ones of an organisation. */
const INVITATION_MS = 7 * DAY
const MAX_OPEN = 100

/** An open invitation. Times are Unix milliseconds. */
export const InvitationViewSchema = z
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
  .meta({ id: 'Invitation', description: 'An invitation to an organization, with its role and its end.' })
export type InvitationView = z.infer<typeof InvitationViewSchema>

function viewOf({ createdAt, expiresAt, ...facts }: InvitationRow): InvitationView {
  return { ...facts, createdAt: createdAt.getTime(), expiresAt: expiresAt.getTime() }
}

/** Invitations that wait, newest first. */
export const InvitationListSchema = z.object({
  invitations: z.array(InvitationViewSchema).readonly(),
})
export type InvitationList = z.infer<typeof InvitationListSchema>

/** Invites a wallet. It replaces an open invitation of the same wallet. Throws `conflict` for a member. */
export const createInvitation = defineOperation({
  name: 'invitation.create',
  summary: 'Invite a wallet',
  about: 'When the wallet accepts, it becomes a member with the role of the invitation.',
  example: { wallet: '0x52908400098527886e0f7030069857d2e4169ee7', role: 'viewer' },
  access: 'org',
  input: z.strictObject({ organization: RecordId, wallet: Wallet, role: RoleField }),
  limit: 'write',
  idempotency: 'none',
  output: InvitationViewSchema,
  run: async (ctx, actor, { wallet, role, ...input }): Promise<InvitationView> => {
    const createdAt = ctx.clock.now()
    const id = ctx.ids.make('inv')
    const invite = async (trx: Trx) => {
      const place = await lockWithRight(trx, actor, input.organization, 'people.change')
      const { organization } = place
      requireOver(place, role)
      const members = await listMembers(trx, organization, MAX_MEMBERS)
      if (members.some((member) => member.wallet === wallet)) throw tooMany('This wallet is a member already.')
      await updateInvitationAnswered(trx, { organization, wallet }, { answer: 'withdrawn', at: createdAt })
      const open = await listInvitations(trx, { organization }, { now: createdAt, limit: MAX_OPEN })
      if (open.length === MAX_OPEN) throw tooMany(`At most ${MAX_OPEN} invitations wait at once.`)
      const expiresAt = createdAt + INVITATION_MS
      await insertInvitation(trx, { id, organization, wallet, role, invitedBy: place.by, createdAt, expiresAt })
      const all = await listInvitations(trx, { organization }, { now: createdAt, limit: MAX_OPEN })
      const row = all.find((each) => each.id === id)
      if (row === undefined) throw new AppError('internal_error')
      return row
    }
    const changeOf = (row: InvitationRow) => ({
      subject: id,
      before: null,
      after: viewOf(row),
      organization: row.organization,
    })
    const made = await ctx.change(invite, changeOf)
    return viewOf(made)
  },
})

export const listOrganizationInvitations = defineOperation({
  name: 'invitation.list',
  summary: 'List open invitations',
  about: 'Invitations without an answer.',
  access: 'org',
  input: z.strictObject({ organization: RecordId }),
  limit: 'read',
  idempotency: 'none',
  output: InvitationListSchema,
  run: async (ctx, actor, input): Promise<InvitationList> => {
    const { organization } = await requireRight(ctx.db, actor, input.organization, 'people.change')
    const rows = await listInvitations(ctx.db, { organization }, { now: ctx.clock.now(), limit: MAX_OPEN })
    return { invitations: rows.map(viewOf) }
  },
})

/** Withdraws an open invitation. Throws `not_found`. */
export const withdrawInvitation = defineOperation({
  name: 'invitation.withdraw',
  summary: 'Cancel an invitation',
  about: 'The wallet can no longer accept the invitation.',
  example: {},
  access: 'org',
  input: z.strictObject({ organization: RecordId, invitation: RecordId }),
  limit: 'write',
  idempotency: 'none',
  output: InvitationViewSchema,
  run: async (ctx, actor, input): Promise<InvitationView> => {
    const at = ctx.clock.now()
    const gone = await ctx.change(
      async (trx) => {
        const place = await lockWithRight(trx, actor, input.organization, 'people.change')
        const open = await listInvitations(trx, { organization: place.organization }, { now: at, limit: MAX_OPEN })
        const row = requireInvitation(open, input.invitation)
        requireOver(place, row.role)
        await updateInvitationAnswered(trx, { id: row.id }, { answer: 'withdrawn', at })
        return row
      },
      (gone) => ({ subject: gone.id, before: viewOf(gone), after: null, organization: gone.organization }),
    )
    return viewOf(gone)
  },
})

/** Lists the open invitations for the caller's wallet. */
export const listOwnInvitations = defineOperation({
  name: 'invitation.list-own',
  summary: 'List invitations of the caller',
  about: 'Invitations to the signed-in wallet without an answer.',
  access: 'session',
  input: z.strictObject({}),
  limit: 'read',
  idempotency: 'none',
  output: InvitationListSchema,
  run: async (ctx, { wallet }): Promise<InvitationList> => {
    if (wallet === null) return { invitations: [] }
    const rows = await listInvitations(ctx.db, { wallet }, { now: ctx.clock.now(), limit: MAX_OPEN })
    return { invitations: rows.map(viewOf) }
  },
})

const AnswerInput = z.strictObject({ invitation: RecordId })

/**
 * Makes the caller a member with the role of the invitation. Throws `not_found`, and `conflict` for a member, who keeps
 * the present role, and for a full organisation.
 */
export const acceptInvitation = defineOperation({
  name: 'invitation.accept',
  summary: 'Accept an invitation',
  about: 'Makes the signed-in wallet a member of the organization.',
  example: {},
  access: 'session',
  input: AnswerInput,
  limit: 'write',
  idempotency: 'none',
  output: InvitationViewSchema,
  run: (ctx, actor, { invitation }) =>
    answer(ctx, { actor, invitation, answer: 'accepted' }, (trx, { organization, organizationName, role }) =>
      addMember(trx, { organization, organizationName, user: actor.user, role, at: ctx.clock.now() }),
    ),
})

/** Declines an invitation. Throws `not_found`. */
export const declineInvitation = defineOperation({
  name: 'invitation.decline',
  summary: 'Decline an invitation',
  about: 'The wallet does not become a member.',
  example: {},
  access: 'session',
  input: AnswerInput,
  limit: 'write',
  idempotency: 'none',
  output: InvitationViewSchema,
  run: (ctx, actor, { invitation }) => answer(ctx, { actor, invitation, answer: 'declined' }, async () => undefined),
})

type Answering = {
  readonly actor: SessionActor
  readonly invitation: string
  readonly answer: 'accepted' | 'declined'
}

async function answer(
  ctx: Pick<RunCtx, 'clock' | 'change'>,
  { actor: { wallet, user }, invitation, answer: given }: Answering,
  run: (trx: Trx, row: InvitationRow) => Promise<void>,
): Promise<InvitationView> {
  const at = ctx.clock.now()
  // Invitations name wallets, so a user without a wallet has none.
  if (wallet === null) throw new AppError('not_found')
  const change = async (trx: Trx) => {
    const find = async () =>
      requireInvitation(await listInvitations(trx, { wallet }, { now: at, limit: MAX_OPEN }), invitation)
    // The lock orders this answer against a withdrawal or a change of members. The invitation is read again under it.
    await lockOrganization(trx, (await find()).organization)
    const found = await find()
    await updateInvitationAnswered(trx, { id: found.id }, { answer: given, at })
    await run(trx, found)
    return found
  }
  const row = await ctx.change(change, ({ id, organization, role, ...rest }) => ({
    subject: id,
    before: viewOf({ id, organization, role, ...rest }),
    after: { answer: given, user, role },
    organization,
  }))
  return viewOf(row)
}

function requireInvitation(open: readonly InvitationRow[], id: string): InvitationRow {
  const found = open.find((row) => row.id === id)
  if (found === undefined) throw new AppError('not_found')
  return found
}
