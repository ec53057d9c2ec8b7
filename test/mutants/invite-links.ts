import type { Mutant } from './mutant.ts'
import { mutant, tests } from './mutant.ts'

const TEST = tests('services/invite-links')
const JOIN = 'control-plane/services/organizations/join-by-link.ts#acceptInviteLink'
const ROWS = 'control-plane/db/invite-links.ts'

/** Mistakes that let uninvited people join, or store a secret. */
export const INVITE_LINK_MUTANTS: readonly Mutant[] = [
  mutant('an-invite-link-works-for-ever', TEST, ROWS, { ' and l.expires_at > ': ' and l.created_at <= ' }),
  mutant('a-revoked-invite-link-works', TEST, ROWS, { ' and l.revoked_at is null and': ' and' }),
  mutant('a-use-of-an-invite-link-is-not-counted', TEST, JOIN, {
    '      await updateInviteLinkUsed(trx, link.id)\n': '',
  }),
  mutant(
    'a-link-outlives-the-rights-of-its-maker',
    TEST,
    'control-plane/services/organizations/invite-links.ts#listWorking',
    { "RIGHTS['people.change']": "RIGHTS['organization.read']" },
  ),
  mutant('a-link-outlives-the-key-that-made-it', TEST, ROWS, { ' and k.revoked_at is null\n': '\n' }),
  mutant('an-invitation-changes-a-members-role', TEST, 'control-plane/services/organizations/add-member.ts#addMember', {
    'if ((await findMember(trx, organization, user)) !== undefined) {': 'if (user.length === 0) {',
  }),
  mutant('two-people-join-by-the-last-use', TEST, JOIN, {
    '      await lockOrganization(trx, (await requireLink(ctx, trx, secret)).organization)\n': '',
  }),
  mutant(
    'members-without-the-right-make-links',
    TEST,
    'control-plane/services/organizations/invite-links.ts#createInviteLink',
    {
      "'people.change'": "'organization.read'",
    },
  ),
  mutant(
    'links-of-other-organisations-are-revoked',
    TEST,
    'control-plane/services/organizations/invite-links.ts#revokeInviteLink',
    {
      "lockWithRight(trx, actor, input.organization, 'people.change')":
        "lockWithRight(trx, actor, input.organization, 'organization.read')",
    },
  ),
]
