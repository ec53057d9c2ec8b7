import { createHmac, randomBytes } from 'node:crypto'
import { z } from 'zod'
import type { Trx } from '#control-plane/db/database.ts'
import type { InviteLinkRow } from '#control-plane/db/invite-links.ts'
import { insertInviteLink, listOpenInviteLinks, updateInviteLinkRevoked } from '#control-plane/db/invite-links.ts'
import { MANAGEMENT_ROLES } from '#control-plane/db/tables/organizations.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { UnixMs } from '#control-plane/services/view-fields.ts'
import { DAY } from '#shared/clock.ts'
import { AppError } from '#shared/errors.ts'
import { Secret } from '#shared/secret.ts'
import { lockWithRight, RIGHTS, requireRight } from './organization-access.ts'
import { RecordId, tooMany } from './organizations.ts'

/** 256 random bits, in base64url. */
const SECRET_BYTES = 32
/** The days for which a link works: the default and the maximum. */
const DAYS = { standard: 7, most: 30 } as const
/** Most members who join by one link. */
const MAX_USES = 100
/** Most open links of an organisation. */
const MAX_OPEN = 100

/** A role that a link may give. No link makes owners. */
const LinkRole = z.enum(MANAGEMENT_ROLES)

/** An invite link that works, without its secret. Times are Unix milliseconds. */
export const InviteLinkViewSchema = z
  .object({
    id: z.string(),
    organization: z.string(),
    role: LinkRole,
    maxUses: z.int().describe('The members who can join by the link.'),
    uses: z.int().describe('The members who joined by the link.'),
    invitedBy: z.string().describe('The user or the management key that made the link.'),
    createdAt: UnixMs,
    expiresAt: UnixMs,
  })
  .meta({ id: 'InviteLink', description: 'An invite link of an organization, without its secret.' })
export type InviteLinkView = z.infer<typeof InviteLinkViewSchema>

function viewOf({ organizationName: _, createdAt, expiresAt, ...facts }: InviteLinkRow): InviteLinkView {
  return { ...facts, createdAt: createdAt.getTime(), expiresAt: expiresAt.getTime() }
}

/** A new link. Only this answer has its address. */
export const CreatedInviteLinkSchema = InviteLinkViewSchema.extend({ url: z.instanceof(Secret) }).meta({
  id: 'InviteLinkCreated',
  description: 'A new invite link. This answer alone has its address.',
})
export type CreatedInviteLink = z.infer<typeof CreatedInviteLinkSchema>

/** Open links, newest first. */
export const InviteLinkListSchema = z.object({ inviteLinks: z.array(InviteLinkViewSchema).readonly() })
export type InviteLinkList = z.infer<typeof InviteLinkListSchema>

type LinkCtx = Pick<Ctx, 'clock'>

/** The working links of an organisation, or the working link with a hash. */
export function listWorking(
  { clock }: LinkCtx,
  db: Parameters<typeof listOpenInviteLinks>[0],
  which: Parameters<typeof listOpenInviteLinks>[1],
): Promise<InviteLinkRow[]> {
  const terms = { now: clock.now(), inviters: RIGHTS['people.change'], limit: MAX_OPEN }
  return listOpenInviteLinks(db, which, terms)
}

/** The value that the database keeps in place of the secret of a link. */
export function hashInviteSecret({ settings }: Pick<Ctx, 'settings'>, secret: string): string {
  return createHmac('sha256', settings.sessionSecret.reveal()).update(`invite link:${secret}`).digest('hex')
}

/** Makes a link. The secret is behind `#`, so that browsers send it to no server. */
export const createInviteLink = defineOperation({
  name: 'invite-link.create',
  summary: 'Create an invite link',
  about: 'Every signed-in user with the link can join with its role. The answer shows the link once. Store it.',
  example: { role: 'viewer' },
  access: 'org',
  input: z.strictObject({
    organization: RecordId,
    role: LinkRole,
    maxUses: z.int().min(1).max(MAX_USES).default(1),
    expiresInDays: z.int().min(1).max(DAYS.most).default(DAYS.standard),
  }),
  limit: 'write',
  idempotency: 'none',
  output: CreatedInviteLinkSchema,
  run: async (ctx, actor, { role, maxUses, expiresInDays, ...input }): Promise<CreatedInviteLink> => {
    const createdAt = ctx.clock.now()
    const id = ctx.ids.make('ivl')
    const secret = randomBytes(SECRET_BYTES).toString('base64url')
    const make = async (trx: Trx) => {
      const { organization, by } = await lockWithRight(trx, actor, input.organization, 'people.change')
      const open = await listWorking(ctx, trx, { organization })
      if (open.length === MAX_OPEN)
        throw tooMany(`At most ${MAX_OPEN} invite links are open at once. Revoke one first.`)
      const terms = { role, maxUses, createdAt, expiresAt: createdAt + expiresInDays * DAY }
      await insertInviteLink(trx, { ...terms, id, organization, hash: hashInviteSecret(ctx, secret), invitedBy: by })
      return { ...terms, id, organization, uses: 0, invitedBy: by }
    }
    const made = await ctx.change(make, (after) => ({
      subject: id,
      before: null,
      after,
      organization: after.organization,
    }))
    return { ...made, url: new Secret(`${pageUrl(ctx)}/join#${secret}`) }
  },
})

/** The address of the page under which people can sign in with a passkey, where there is one. */
function pageUrl({ settings: { relyingParty, baseUrl } }: Pick<Ctx, 'settings'>): string {
  return relyingParty?.origins.at(-1) ?? baseUrl
}

export const listInviteLinks = defineOperation({
  name: 'invite-link.list',
  summary: 'List open invite links',
  about: 'Links that still work, without their secrets.',
  access: 'org',
  input: z.strictObject({ organization: RecordId }),
  limit: 'read',
  idempotency: 'none',
  output: InviteLinkListSchema,
  run: async (ctx, actor, input): Promise<InviteLinkList> => {
    const { organization } = await requireRight(ctx.db, actor, input.organization, 'people.change')
    return { inviteLinks: (await listWorking(ctx, ctx.db, { organization })).map(viewOf) }
  },
})

/** Ends a link that works. Throws `not_found`. */
export const revokeInviteLink = defineOperation({
  name: 'invite-link.revoke',
  summary: 'Revoke an invite link',
  about: 'No one can join by the link any more. Members who joined by the link stay.',
  example: {},
  access: 'org',
  input: z.strictObject({ organization: RecordId, link: RecordId }),
  limit: 'write',
  idempotency: 'none',
  output: InviteLinkViewSchema,
  run: async (ctx, actor, input): Promise<InviteLinkView> => {
    const revoke = async (trx: Trx) => {
      const { organization } = await lockWithRight(trx, actor, input.organization, 'people.change')
      const link = (await listWorking(ctx, trx, { organization })).find(({ id }) => id === input.link)
      if (link === undefined) throw new AppError('not_found')
      await updateInviteLinkRevoked(trx, link.id, ctx.clock.now())
      return link
    }
    const changeOf = (link: InviteLinkRow) => ({
      subject: link.id,
      before: viewOf(link),
      after: null,
      organization: link.organization,
    })
    return viewOf(await ctx.change(revoke, changeOf))
  },
})
