import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Actor, SessionActor } from '#control-plane/operation/actor.ts'
import { invoke } from '#control-plane/operation/invoke.ts'
import { listOrganizationAudit } from '#control-plane/services/audit/audit.ts'
import { acceptInvitation, createInvitation } from '#control-plane/services/organizations/invitations.ts'
import {
  createInviteLink,
  listInviteLinks,
  revokeInviteLink,
} from '#control-plane/services/organizations/invite-links.ts'
import { acceptInviteLink, openInviteLink } from '#control-plane/services/organizations/join-by-link.ts'
import { listOrganizationMembers, removeMember, updateMember } from '#control-plane/services/organizations/members.ts'
import {
  createOrganizationKey,
  revokeOrganizationKey,
} from '#control-plane/services/organizations/organization-keys.ts'
import { authenticate } from '#control-plane/services/sign-in/authenticate.ts'
import { DAY, MINUTE } from '#shared/clock.ts'
import type { AppError } from '#shared/errors.ts'
import type { TestMarket } from '#test/support/doors/control-plane.ts'
import { startMarket } from '#test/support/doors/control-plane.ts'
import type { Team } from '#test/support/doors/team.ts'
import { createTeams } from '#test/support/doors/team.ts'

let market: TestMarket
let teams: ReturnType<typeof createTeams>

beforeAll(async () => {
  market = await startMarket()
  teams = createTeams(market)
})
afterAll(() => market?.stop())

const refusalOf = (call: Promise<unknown>) =>
  call.then(
    () => ({ code: 'accepted', message: '' }),
    ({ code, message }: AppError) => ({ code: String(code), message }),
  )
const codeOf = async (call: Promise<unknown>) => (await refusalOf(call)).code

/** A person who signs in with a passkey and has no wallet. */
const newcomer = async (): Promise<SessionActor> => ({ ...(await teams.somebody()), wallet: null })

async function makeLink(actor: Actor, organization: string, terms: object = {}) {
  const { url, ...link } = await invoke(market.plane, actor, createInviteLink, {
    organization,
    role: 'developer',
    ...terms,
  })
  const { pathname, search, hash } = new URL(url.reveal())
  expect([pathname, search]).toEqual(['/join', ''])
  return { ...link, secret: hash.slice(1) }
}

const open = (actor: Actor, secret: string) => invoke(market.plane, actor, openInviteLink, { secret })
const join = (actor: Actor, secret: string) => invoke(market.plane, actor, acceptInviteLink, { secret })

async function rolesOf({ organization, owner }: Team) {
  const { members } = await invoke(market.plane, owner, listOrganizationMembers, { organization })
  return new Map(members.map(({ id, role }) => [id, role]))
}

const linksOf = async ({ organization, owner }: Team) =>
  (await invoke(market.plane, owner, listInviteLinks, { organization })).inviteLinks

describe('an invite link', () => {
  it('makes an account without a wallet a member, once, with its role', async () => {
    const team = await teams.team()
    const { secret, id } = await makeLink(team.owner, team.organization)
    const [guest, late] = [await newcomer(), await newcomer()]
    const shown = await open(guest, secret)
    expect(shown).toMatchObject({ organizationName: 'Team', role: 'developer', isMember: false })
    expect((await rolesOf(team)).size).toBe(1)
    expect(await linksOf(team)).toMatchObject([{ id, uses: 0, maxUses: 1 }])
    expect(await join(guest, secret)).toMatchObject({ organization: team.organization, isMember: true })
    expect((await rolesOf(team)).get(guest.user)).toBe('developer')
    expect(await linksOf(team)).toEqual([])
    expect(await codeOf(join(late, secret))).toBe('not_found')
    expect(await codeOf(open(late, secret))).toBe('not_found')
    // A replay by the member himself finds the link used up as well.
    expect(await codeOf(join(guest, secret))).toBe('not_found')
    expect((await rolesOf(team)).size).toBe(2)
  })

  it('admits as many people as it allows; of two who join at once by the last use, one becomes a member', async () => {
    const team = await teams.team()
    const { secret } = await makeLink(team.owner, team.organization, { maxUses: 3 })
    await join(await newcomer(), secret)
    const racers = await Promise.all(Array.from({ length: 4 }, newcomer))
    const codes = await Promise.all(racers.map((racer) => codeOf(join(racer, secret))))
    expect(codes.sort()).toEqual(['accepted', 'accepted', 'not_found', 'not_found'])
    expect((await rolesOf(team)).size).toBe(4)
  })

  it('takes one use for one person, also where the person joins twice at once', async () => {
    const team = await teams.team()
    const { secret } = await makeLink(team.owner, team.organization, { maxUses: 5 })
    const guest = await newcomer()
    const codes = await Promise.all([codeOf(join(guest, secret)), codeOf(join(guest, secret))])
    expect(codes.sort()).toEqual(['accepted', 'conflict'])
    expect(await linksOf(team)).toMatchObject([{ uses: 1 }])
  })

  it('changes nothing for a member: no role, and no use of the link', async () => {
    const team = await teams.team()
    const { secret } = await makeLink(team.owner, team.organization, { role: 'viewer' })
    expect(await open(team.owner, secret)).toMatchObject({ isMember: true })
    expect(await refusalOf(join(team.owner, secret))).toEqual({
      code: 'conflict',
      message: 'You are already a member of Team.',
    })
    expect((await rolesOf(team)).get(team.owner.user)).toBe('owner')
    expect(await linksOf(team)).toMatchObject([{ uses: 0 }])
  })

  it('leaves an older invitation of the wallet without effect: a member keeps the role', async () => {
    const team = await teams.team()
    const { organization, owner } = team
    const person = await teams.somebody()
    const wallet = person.wallet ?? expect.fail('no wallet')
    const invitation = await invoke(market.plane, owner, createInvitation, { organization, wallet, role: 'viewer' })
    await join(person, (await makeLink(owner, organization, { role: 'admin' })).secret)
    await invoke(market.plane, owner, updateMember, { organization, member: person.user, role: 'owner' })
    const accept = invoke(market.plane, person, acceptInvitation, { invitation: invitation.id })
    expect(await refusalOf(accept)).toEqual({ code: 'conflict', message: 'You are already a member of Team.' })
    expect((await rolesOf(team)).get(person.user)).toBe('owner')
  })

  it('ends at its time, when it is revoked, and with the rights of its maker, always in the same words', async () => {
    const team = await teams.team()
    const guest = await newcomer()
    const refusals = [await refusalOf(open(guest, 'nothing')), await refusalOf(join(guest, 'a'.repeat(43)))]
    const revoked = await makeLink(team.owner, team.organization)
    const named = { organization: team.organization, link: revoked.id }
    await invoke(market.plane, team.owner, revokeInviteLink, named)
    expect(await codeOf(invoke(market.plane, team.owner, revokeInviteLink, named))).toBe('not_found')
    refusals.push(await refusalOf(join(guest, revoked.secret)))

    const admin = await teams.join(team, 'admin')
    const [ofDemoted, ofRemoved] = [await makeLink(admin, team.organization), await makeLink(admin, team.organization)]
    const who = { organization: team.organization, member: admin.user }
    await invoke(market.plane, team.owner, updateMember, { ...who, role: 'developer' })
    refusals.push(await refusalOf(join(guest, ofDemoted.secret)))
    await invoke(market.plane, team.owner, removeMember, who)
    // A member who was removed cannot come back by an own link.
    refusals.push(await refusalOf(join(admin, ofRemoved.secret)))

    const key = { organization: team.organization, role: 'admin', label: 'ci' }
    const made = await invoke(market.plane, team.owner, createOrganizationKey, key, {
      idempotencyKey: market.plane.ids.ulid(),
    })
    const byKey = await makeLink(await authenticate(market.plane, made.secret?.reveal()), team.organization)
    expect(await open(guest, byKey.secret)).toMatchObject({ role: 'developer' })
    await invoke(market.plane, team.owner, revokeOrganizationKey, { organization: team.organization, key: made.id })
    refusals.push(await refusalOf(join(guest, byKey.secret)))

    const expired = await makeLink(team.owner, team.organization, { expiresInDays: 2 })
    market.advance(2 * DAY - MINUTE)
    expect(await open(guest, expired.secret)).toMatchObject({ role: 'developer' })
    market.advance(MINUTE)
    refusals.push(await refusalOf(join(guest, expired.secret)), await refusalOf(open(guest, expired.secret)))
    expect(new Set(refusals.map(({ code }) => code))).toEqual(new Set(['not_found']))
    expect(new Set(refusals.map(({ message }) => message)).size).toBe(1)
    expect((await rolesOf(team)).has(guest.user)).toBe(false)
    expect(await linksOf(team)).toEqual([])
  })

  it('is made, listed and revoked by owners and admins of its own organisation only', async () => {
    const [team, elsewhere] = [await teams.team(), await teams.team()]
    const { organization } = team
    const { id } = await makeLink(team.owner, organization)
    const attempts = (actor: Actor) => [
      invoke(market.plane, actor, createInviteLink, { organization, role: 'viewer' }),
      invoke(market.plane, actor, listInviteLinks, { organization }),
      invoke(market.plane, actor, revokeInviteLink, { organization, link: id }),
    ]
    const codes = (actor: Actor) => Promise.all(attempts(actor).map(codeOf))
    for (const role of ['developer', 'billing', 'viewer']) {
      expect(await codes(await teams.join(team, role)), role).toEqual(['forbidden', 'forbidden', 'forbidden'])
    }
    expect(await codes(elsewhere.owner)).toEqual(['not_found', 'not_found', 'not_found'])
    const foreign = { organization: elsewhere.organization, link: id }
    expect(await codeOf(invoke(market.plane, elsewhere.owner, revokeInviteLink, foreign))).toBe('not_found')
    expect(await codes(await teams.join(team, 'admin'))).toEqual(['accepted', 'accepted', 'accepted'])
    const owning = { organization, role: 'owner' }
    expect(await codeOf(invoke(market.plane, team.owner, createInviteLink, owning))).toBe('invalid_request')
    for (const terms of [{ maxUses: 0 }, { maxUses: 101 }, { expiresInDays: 31 }, { expiresInDays: 0 }]) {
      const input = { organization, role: 'viewer', ...terms }
      expect(await codeOf(invoke(market.plane, team.owner, createInviteLink, input))).toBe('invalid_request')
    }
  })

  it('lets accounts join, and no key and no stranger', async () => {
    const team = await teams.team()
    const { secret } = await makeLink(team.owner, team.organization)
    const { buyer, seller } = await market.person()
    for (const actor of [buyer, seller]) expect(await codeOf(join(actor, secret))).toBe('wrong_key_type')
    expect(await codeOf(join({ kind: 'nobody' }, secret))).toBe('authentication_required')
    expect(await codeOf(open({ kind: 'nobody' }, secret))).toBe('authentication_required')
  })

  it('leaves its secret in no table, no list and no audit, which name the new members', async () => {
    const team = await teams.team()
    const { organization, owner } = team
    const { secret, id } = await makeLink(owner, organization, { maxUses: 2 })
    const guest = await newcomer()
    await join(guest, secret)
    const stored = await market.plane.db.selectFrom('invite_link').selectAll().execute()
    const log = await invoke(market.plane, owner, listOrganizationAudit, { organization })
    const told = JSON.stringify([stored, log, await linksOf(team)])
    expect(told).toContain(id)
    expect(told).not.toContain(secret)
    expect(log.items.filter(({ subject }) => subject === id)).toMatchObject([
      { operation: 'invite-link.accept', actor: guest.user, after: { joined: guest.user, role: 'developer', uses: 1 } },
      { operation: 'invite-link.create', actor: owner.user },
    ])
  })
})
