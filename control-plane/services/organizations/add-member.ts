import type { Trx } from '#control-plane/db/database.ts'
import { countMembers, findMember, listOrganizationsOf, upsertMember } from '#control-plane/db/organizations.ts'
import type { Role } from '#control-plane/db/tables/organizations.ts'
import type { OrganizationId, UserId } from '#shared/ids.ts'
import { MAX_MEMBERS } from './members.ts'
import { MAX_ORGANIZATIONS, tooMany } from './organizations.ts'

type Joining = {
  readonly organization: OrganizationId
  readonly organizationName: string
  readonly user: UserId
  readonly role: Role
  /** Unix milliseconds. */
  readonly at: number
}

/**
 * Makes a user a member, under the lock of the organisation. Throws `conflict` for a member, who keeps the present
 * role, for a full organisation, and for a user in as many organisations as one may join.
 */
export async function addMember(trx: Trx, { organizationName, ...member }: Joining): Promise<void> {
  const { organization, user } = member
  if ((await findMember(trx, organization, user)) !== undefined) {
    throw tooMany(`You are already a member of ${organizationName}.`)
  }
  if ((await countMembers(trx, organization)) >= MAX_MEMBERS) throw tooMany('The organisation is full.')
  const own = await listOrganizationsOf(trx, user, MAX_ORGANIZATIONS)
  if (own.length === MAX_ORGANIZATIONS) {
    throw tooMany(`An account belongs to at most ${MAX_ORGANIZATIONS} organisations.`)
  }
  await upsertMember(trx, member)
}
