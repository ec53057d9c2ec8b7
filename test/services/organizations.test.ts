import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Actor } from '#control-plane/operation/actor.ts'
import { invoke } from '#control-plane/operation/invoke.ts'
import { listOrganizationAudit } from '#control-plane/services/audit/audit.ts'
import { createBuyerKey, createSellerKey, listSellerKeys, revokeSellerKey } from '#control-plane/services/keys/keys.ts'
import { deleteOffer } from '#control-plane/services/offers/change.ts'
import { createOffer } from '#control-plane/services/offers/create.ts'
import { listOffers } from '#control-plane/services/offers/read.ts'
import {
  acceptInvitation,
  createInvitation,
  declineInvitation,
  listOrganizationInvitations,
  listOwnInvitations,
  withdrawInvitation,
} from '#control-plane/services/organizations/invitations.ts'
import { listOrganizationMembers, removeMember, updateMember } from '#control-plane/services/organizations/members.ts'
import type { Right } from '#control-plane/services/organizations/organization-access.ts'
import { RIGHTS } from '#control-plane/services/organizations/organization-access.ts'
import {
  createOrganizationKey,
  listManagementKeys,
  revokeOrganizationKey,
} from '#control-plane/services/organizations/organization-keys.ts'
import { listOrganizations, updateOrganization } from '#control-plane/services/organizations/organizations.ts'
import {
  createWorkspaceKey,
  listWorkspaceKeys,
  revokeWorkspaceKey,
} from '#control-plane/services/organizations/workspace-keys.ts'
import {
  createWorkspace,
  enterWorkspace,
  listOrganizationWorkspaces,
} from '#control-plane/services/organizations/workspaces.ts'
import { authenticate } from '#control-plane/services/sign-in/authenticate.ts'
import { hashApiKey } from '#shared/api-key.ts'
import { DAY } from '#shared/clock.ts'
import { KeyRecordSchema } from '#shared/contract/key-record.ts'
import { cacheKeys } from '#shared/contract/redis-keys.ts'
import type { AppError } from '#shared/errors.ts'
import type { TestMarket } from '#test/support/doors/control-plane.ts'
import { startMarket } from '#test/support/doors/control-plane.ts'
import type { Team } from '#test/support/doors/team.ts'
import { createTeams } from '#test/support/doors/team.ts'

let market: TestMarket

beforeAll(async () => {
  market = await startMarket()
})
afterAll(() => market?.stop())

const idem = () => ({ idempotencyKey: market.plane.ids.ulid() })
const codeOf = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => 'accepted',
    (error: AppError) => error.code,
  )

const somebody = () => createTeams(market).somebody()
const team = () => createTeams(market).team()
const join = (home: Team, role: string) => createTeams(market).join(home, role)

describe('roles', () => {
  it('decide the rights of a member one by one', async () => {
    const { organization, owner } = await team()
    const { id: workspace } = await invoke(market.plane, owner, createWorkspace, { organization, name: 'Main' })
    let count = 0
    const attempts: { readonly [Key in Right]: (actor: Actor) => Promise<unknown> } = {
      'organization.read': (actor) => invoke(market.plane, actor, listOrganizationMembers, { organization }),
      'organization.change': (actor) =>
        invoke(market.plane, actor, updateOrganization, { organization, name: `Team ${++count}` }),
      'people.change': (actor) => invoke(market.plane, actor, listOrganizationInvitations, { organization }),
      'workspace.change': (actor) =>
        invoke(market.plane, actor, createWorkspace, { organization, name: `Another ${++count}` }),
      'workspace.use': (actor) =>
        invoke(
          market.plane,
          actor,
          createWorkspaceKey,
          { organization, workspace, keyType: 'seller', label: 'x' },
          idem(),
        ),
      'management-key.change': (actor) =>
        invoke(market.plane, actor, createOrganizationKey, { organization, role: 'viewer', label: 'x' }, idem()),
      'audit.read': (actor) => invoke(market.plane, actor, listOrganizationAudit, { organization }),
    }
    const members: Record<string, Actor> = { owner }
    for (const role of ['admin', 'developer', 'billing', 'viewer']) {
      members[role] = await join({ organization, owner }, role)
    }
    const stranger = await somebody()
    for (const [right, attempt] of Object.entries(attempts)) {
      for (const [role, member] of Object.entries(members)) {
        const may = Object.entries(RIGHTS).some(([key, roles]) => key === right && roles.some((name) => name === role))
        expect(await codeOf(attempt(member)), `${role} ${right}`).toBe(may ? 'accepted' : 'forbidden')
      }
      expect(await codeOf(attempt(stranger)), right).toBe('not_found')
      expect(await codeOf(attempt({ kind: 'nobody' })), right).toBe('authentication_required')
    }
  })

  it('of owners are granted and removed by owners only, and one owner always stays', async () => {
    const { organization, owner } = await team()
    const admin = await join({ organization, owner }, 'admin')
    const other = await join({ organization, owner }, 'viewer')
    const change = (actor: Actor, member: string, role: string) =>
      codeOf(invoke(market.plane, actor, updateMember, { organization, member, role }))
    const remove = (actor: Actor, member: string) =>
      codeOf(invoke(market.plane, actor, removeMember, { organization, member }))
    expect(await change(admin, other.user, 'owner')).toBe('forbidden')
    expect(await change(admin, owner.user, 'viewer')).toBe('forbidden')
    expect(await remove(admin, owner.user)).toBe('forbidden')
    const wallet = (await somebody()).wallet
    const invitation = { organization, wallet, role: 'owner' }
    expect(await codeOf(invoke(market.plane, admin, createInvitation, invitation))).toBe('forbidden')
    expect(await change(owner, owner.user, 'admin')).toBe('conflict')
    expect(await remove(owner, owner.user)).toBe('conflict')
    expect(await change(owner, admin.user, 'owner')).toBe('accepted')
    const both = await Promise.all([remove(owner, owner.user), remove(admin, admin.user)])
    expect(both.sort()).toEqual(['accepted', 'conflict'])
    expect(await change(owner, 'usr_none', 'viewer')).toMatch(/not_found/)
  })
})

describe('an invitation', () => {
  it('is for one wallet, once, for seven days', async () => {
    const { organization, owner } = await team()
    const guest = await somebody()
    const invite = () =>
      invoke(market.plane, owner, createInvitation, {
        organization,
        wallet: guest.wallet?.toUpperCase().replace('0X', '0x'),
        role: 'viewer',
      })
    const first = await invite()
    const second = await invite()
    const own = async () => (await invoke(market.plane, guest, listOwnInvitations, {})).invitations.map(({ id }) => id)
    expect(await own()).toEqual([second.id])
    const answer = (actor: Actor, invitation: string) =>
      codeOf(invoke(market.plane, actor, acceptInvitation, { invitation }))
    expect(await answer(guest, first.id)).toBe('not_found')
    expect(await answer(await somebody(), second.id)).toBe('not_found')
    expect(await codeOf(invoke(market.plane, guest, declineInvitation, { invitation: second.id }))).toBe('accepted')
    expect(await answer(guest, second.id)).toBe('not_found')
    const third = await invite()
    await invoke(market.plane, owner, withdrawInvitation, { organization, invitation: third.id })
    expect(await answer(guest, third.id)).toBe('not_found')
    const fourth = await invite()
    market.advance(7 * DAY)
    expect(await answer(guest, fourth.id)).toBe('not_found')
    const fifth = await invite()
    const answers = await Promise.all([answer(guest, fifth.id), answer(guest, fifth.id)])
    expect(answers.sort()).toEqual(['accepted', 'not_found'])
    expect((await invoke(market.plane, guest, listOrganizations, {})).organizations).toMatchObject([
      { id: organization, role: 'viewer' },
    ])
    expect(await codeOf(invite())).toBe('conflict')
  })
})

describe('a workspace', () => {
  const offer = (label: string) => ({
    model: 'gpt-test',
    apiKey: `sk-workspace-${label}`,
    sellerBaseUrl: market.provider.url,
    discount: 30,
  })

  it('has accounts of its own, which its keys use and personal keys do not see', async () => {
    const { organization, owner } = await team()
    const dev = await join({ organization, owner }, 'developer')
    const workspace = await invoke(market.plane, owner, createWorkspace, { organization, name: 'Main' })
    const named = { organization, workspace: workspace.id }
    const make = (keyType: string) =>
      invoke(market.plane, dev, createWorkspaceKey, { ...named, keyType, label: keyType }, idem())
    const [selling, buying] = [await make('seller'), await make('buyer')]
    const seller = await authenticate(market.plane, selling.secret?.reveal())
    const buyer = await authenticate(market.plane, buying.secret?.reveal())
    expect(seller).toMatchObject({ kind: 'seller', account: workspace.sellerAccount, user: dev.user })
    expect(buyer).toMatchObject({ kind: 'buyer', account: workspace.buyerAccount })
    const hash = hashApiKey(buying.secret?.reveal() ?? '', market.plane.settings.keyPepper)
    const record = KeyRecordSchema.parse(JSON.parse((await market.world.redis.hget(cacheKeys.keys, hash)) ?? ''))
    expect(record).toMatchObject({ account: workspace.buyerAccount, wallet: dev.wallet })

    const { id } = await invoke(market.plane, seller, createOffer, offer('main'), idem())
    const offersOf = async (actor: Actor) =>
      (await invoke(market.plane, actor, listOffers, {})).items.map((item) => item.id)
    expect(await offersOf(seller)).toEqual([id])
    expect(await offersOf(dev)).toEqual([])
    expect(await codeOf(invoke(market.plane, dev, deleteOffer, { id }))).toBe('not_found')
    expect(await offersOf(await enterWorkspace(market.plane, owner, workspace.id))).toEqual([id])
    const duplicate = invoke(market.plane, await somebody(), createOffer, offer('main'), idem())
    expect(await codeOf(duplicate)).toBe('duplicate_offer_for_credential')

    // Records that a workspace's key creates or sees stay in that workspace.
    const another = await invoke(market.plane, seller, createSellerKey, { label: 'another' }, idem())
    expect(await authenticate(market.plane, another.secret?.reveal())).toMatchObject({
      account: workspace.sellerAccount,
    })
    const personal = await invoke(market.plane, dev, createSellerKey, { label: 'personal' }, idem())
    const ids = async (actor: Actor) =>
      new Set((await invoke(market.plane, actor, listSellerKeys, {})).keys.map((key) => key.id))
    expect(await ids(seller)).toEqual(new Set([selling.id, another.id]))
    expect((await ids(dev)).has(selling.id)).toBe(false)
    expect(await codeOf(invoke(market.plane, seller, revokeSellerKey, { id: personal.id }))).toBe('not_found')
    expect(await codeOf(invoke(market.plane, dev, revokeSellerKey, { id: selling.id }))).toBe('not_found')
    const { keys } = await invoke(market.plane, owner, listWorkspaceKeys, named)
    expect(new Set(keys.map((key) => key.id))).toEqual(new Set([selling.id, another.id, buying.id]))
    expect(JSON.stringify(keys)).not.toContain(selling.secret?.reveal().slice(selling.keyPrefix.length))
  })

  it('is visible to members without the right to change it, who can change nothing', async () => {
    const { organization, owner } = await team()
    const viewer = await join({ organization, owner }, 'viewer')
    const { id } = await invoke(market.plane, owner, createWorkspace, { organization, name: 'Main' })
    const looking = await enterWorkspace(market.plane, viewer, id)
    expect((await invoke(market.plane, looking, listOffers, {})).items).toEqual([])
    expect(await codeOf(invoke(market.plane, looking, createOffer, offer('viewer'), idem()))).toBe('forbidden')
    expect(await codeOf(invoke(market.plane, looking, createBuyerKey, { label: 'x' }, idem()))).toBe('forbidden')
    expect(await codeOf(enterWorkspace(market.plane, await somebody(), id))).toBe('not_found')
    expect(await codeOf(enterWorkspace(market.plane, viewer, 'wsp_none'))).toBe('not_found')
    expect(await codeOf(invoke(market.plane, owner, createWorkspace, { organization, name: 'Main' }))).toBe('conflict')
  })

  it('has idempotency keys of its own', async () => {
    const { organization, owner } = await team()
    const { id } = await invoke(market.plane, owner, createWorkspace, { organization, name: 'Main' })
    const once = idem()
    const inside = await enterWorkspace(market.plane, owner, id)
    const first = await invoke(market.plane, owner, createSellerKey, { label: 'x' }, once)
    const second = await invoke(market.plane, inside, createSellerKey, { label: 'x' }, once)
    expect(second.id).not.toBe(first.id)
    expect((await invoke(market.plane, inside, createSellerKey, { label: 'x' }, once)).id).toBe(second.id)
  })
})

describe('keys of an organisation', () => {
  it('have their role there and nowhere else, and make no member an operator', async () => {
    const { organization, owner } = await team()
    const elsewhere = await team()
    const make = (actor: Actor, role: string) =>
      invoke(market.plane, actor, createOrganizationKey, { organization, role, label: role }, idem())
    const made = await make(owner, 'admin')
    const admin = await authenticate(market.plane, made.secret?.reveal())
    expect(admin).toMatchObject({ kind: 'org', organization, role: 'admin' })
    expect(await codeOf(invoke(market.plane, admin, createWorkspace, { organization, name: 'By key' }))).toBe(
      'accepted',
    )
    const foreign = { organization: elsewhere.organization }
    expect(await codeOf(invoke(market.plane, admin, listOrganizationMembers, foreign))).toBe('not_found')
    expect((await invoke(market.plane, admin, listOrganizations, {})).organizations).toMatchObject([
      { id: organization },
    ])
    expect(await codeOf(invoke(market.plane, admin, listOffers, {}))).toBe('wrong_key_type')
    const owned = { organization, member: owner.user, role: 'viewer' }
    expect(await codeOf(invoke(market.plane, admin, updateMember, owned))).toBe('forbidden')
    expect(await codeOf(make(owner, 'owner'))).toBe('invalid_request')
    const viewer = await authenticate(market.plane, (await make(admin, 'viewer')).secret?.reveal())
    expect(await codeOf(make(viewer, 'viewer'))).toBe('forbidden')
    const revoked = await invoke(market.plane, owner, revokeOrganizationKey, { organization, key: made.id })
    expect(revoked.revokedAt).not.toBeNull()
    expect(await codeOf(authenticate(market.plane, made.secret?.reveal()))).toBe('invalid_api_key')
    const wrong = { organization: elsewhere.organization, key: made.id }
    expect(await codeOf(invoke(market.plane, elsewhere.owner, revokeOrganizationKey, wrong))).toBe('not_found')
    const { keys } = await invoke(market.plane, owner, listManagementKeys, { organization })
    expect(keys.map(({ role }) => role)).toEqual(['viewer', 'admin'])
  })

  it("end with the membership of the member who created them, or with that member's right to create keys", async () => {
    const { organization, owner } = await team()
    const admin = await join({ organization, owner }, 'admin')
    const { id: workspace } = await invoke(market.plane, owner, createWorkspace, { organization, name: 'Main' })
    const management = await invoke(
      market.plane,
      admin,
      createOrganizationKey,
      { organization, role: 'admin', label: 'x' },
      idem(),
    )
    const input = { organization, workspace, keyType: 'buyer', label: 'x' }
    const working = await invoke(market.plane, admin, createWorkspaceKey, input, idem())
    const personal = await invoke(market.plane, admin, createBuyerKey, { label: 'personal' }, idem())
    const state = async () => [
      await codeOf(authenticate(market.plane, management.secret?.reveal())),
      await codeOf(authenticate(market.plane, working.secret?.reveal())),
      await codeOf(authenticate(market.plane, personal.secret?.reveal())),
    ]
    expect(await state()).toEqual(['accepted', 'accepted', 'accepted'])
    await invoke(market.plane, owner, updateMember, { organization, member: admin.user, role: 'developer' })
    expect(await state()).toEqual(['invalid_api_key', 'accepted', 'accepted'])
    await invoke(market.plane, admin, removeMember, { organization, member: admin.user })
    expect(await state()).toEqual(['invalid_api_key', 'invalid_api_key', 'accepted'])
    const hash = hashApiKey(working.secret?.reveal() ?? '', market.plane.settings.keyPepper)
    expect(JSON.parse((await market.world.redis.hget(cacheKeys.keys, hash)) ?? '')).toMatchObject({ isRevoked: true })
    const key = { organization, workspace, key: working.id }
    expect(await codeOf(invoke(market.plane, admin, revokeWorkspaceKey, key))).toBe('not_found')
  })
})

describe('the log of an organisation', () => {
  it('shows who changed what, before and after, without a secret, and cannot be changed', async () => {
    const { organization, owner } = await team()
    const { id: workspace } = await invoke(market.plane, owner, createWorkspace, { organization, name: 'Main' })
    const input = { organization, workspace, keyType: 'seller', label: 'x' }
    const made = await invoke(market.plane, owner, createWorkspaceKey, input, idem())
    const seller = await authenticate(market.plane, made.secret?.reveal())
    const apiKey = 'sk-never-in-a-log'
    const body = { model: 'gpt-test', apiKey, sellerBaseUrl: market.provider.url, discount: 5 }
    const { id: offer } = await invoke(market.plane, seller, createOffer, body, idem())
    await invoke(market.plane, owner, updateOrganization, { organization, name: 'Renamed' })
    const page = await invoke(market.plane, owner, listOrganizationAudit, { organization })
    expect(page.items.map((entry) => [entry.operation, entry.actor, entry.subject])).toEqual([
      ['organization.update', owner.user, organization],
      ['offer.create', owner.user, offer],
      ['workspace-key.create', owner.user, made.id],
      ['workspace.create', owner.user, workspace],
      ['organization.create', owner.user, organization],
    ])
    expect(page.items[0]).toMatchObject({
      before: { name: 'Team' },
      after: { name: 'Renamed' },
      wallet: owner.wallet,
      actorKind: 'session',
    })
    expect(page.items[1]).toMatchObject({ keyId: made.id, actorKind: 'seller' })
    const text = JSON.stringify(page)
    expect(text).not.toContain(apiKey)
    expect(text).not.toContain(made.secret?.reveal().slice(made.keyPrefix.length))
    const two = await invoke(market.plane, owner, listOrganizationAudit, { organization, maxItems: 2 })
    const rest = { organization, maxItems: 100, nextToken: two.nextToken }
    expect([...two.items, ...(await invoke(market.plane, owner, listOrganizationAudit, rest)).items]).toEqual(
      page.items,
    )
    const wrong = { organization, nextToken: 'aud_x; drop' }
    expect(await codeOf(invoke(market.plane, owner, listOrganizationAudit, wrong))).toBe('invalid_request')
    const forged = sql`update audit_log set actor = 'usr_other' where organization = ${organization}`
    await expect(forged.execute(market.plane.db)).rejects.toThrow()
    await expect(sql`delete from audit_log`.execute(market.plane.db)).rejects.toThrow()
    expect((await invoke(market.plane, owner, listOrganizationWorkspaces, { organization })).workspaces).toHaveLength(1)
  })
})
