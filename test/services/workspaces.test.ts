import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { transact } from '#control-plane/db/database.ts'
import { findWorkspace, lockWorkspaceUse, updateWorkspaceClosed } from '#control-plane/db/workspaces.ts'
import type { SellerActor, SessionActor } from '#control-plane/operation/actor.ts'
import { sideOf } from '#control-plane/operation/actor.ts'
import { invoke } from '#control-plane/operation/invoke.ts'
import { listOrganizationAudit } from '#control-plane/services/audit/audit.ts'
import { getEarnings } from '#control-plane/services/earnings/earnings.ts'
import { deleteOffer, updateOffer } from '#control-plane/services/offers/change.ts'
import { listOffers } from '#control-plane/services/offers/read.ts'
import { closeWorkspace } from '#control-plane/services/organizations/close-workspace.ts'
import { removeMember } from '#control-plane/services/organizations/members.ts'
import { createWorkspaceKey, revokeWorkspaceKey } from '#control-plane/services/organizations/workspace-keys.ts'
import type { WorkspaceView } from '#control-plane/services/organizations/workspaces.ts'
import {
  createWorkspace,
  enterWorkspace,
  listOrganizationWorkspaces,
  updateWorkspace,
} from '#control-plane/services/organizations/workspaces.ts'
import { authenticate } from '#control-plane/services/sign-in/authenticate.ts'
import { isId } from '#shared/ids.ts'
import { grant } from '#test/support/books/ledger.ts'
import { refusalOf } from '#test/support/bytes/refusal.ts'
import type { TestMarket } from '#test/support/doors/control-plane.ts'
import { startMarket } from '#test/support/doors/control-plane.ts'
import { listOffer, newProviderKey } from '#test/support/doors/offers.ts'
import type { Team } from '#test/support/doors/team.ts'
import { createTeams } from '#test/support/doors/team.ts'

let market: TestMarket
let teams: ReturnType<typeof createTeams>

beforeAll(async () => {
  market = await startMarket()
  teams = createTeams(market)
})
afterAll(() => market?.stop())

const idem = () => ({ idempotencyKey: market.plane.ids.ulid() })
const open = ({ organization, owner }: Team, name: string) =>
  invoke(market.plane, owner, createWorkspace, { organization, name })
const close = ({ organization, owner }: Team, { id: workspace }: WorkspaceView) =>
  invoke(market.plane, owner, closeWorkspace, { organization, workspace })

/** A member as a seller of a workspace. */
async function sellerIn(member: SessionActor, { id }: WorkspaceView): Promise<SellerActor> {
  return sideOf(await enterWorkspace(market.plane, member, id), 'seller')
}

describe('one provider key backs one active offer', () => {
  const DUPLICATE = 'duplicate_offer_for_credential'

  it('across the workspaces of one wallet and its own account', async () => {
    const home = await teams.team()
    const places = [
      sideOf(home.owner, 'seller'),
      await sellerIn(home.owner, await open(home, 'A')),
      await sellerIn(home.owner, await open(home, 'B')),
    ]
    for (const place of places) {
      const apiKey = newProviderKey()
      const { id } = await listOffer(market, place, { apiKey })
      const own = await refusalOf(listOffer(market, place, { apiKey }))
      expect([own.code, own.detail['existing_offer_id']]).toEqual([DUPLICATE, id])
      for (const other of places.filter((seller) => seller !== place)) {
        // The wallet is the same and the owner another, so the refusal does not show the other offer.
        const refused = await refusalOf(listOffer(market, other, { apiKey }))
        expect([refused.code, refused.detail]).toEqual([DUPLICATE, {}])
      }
      await invoke(market.plane, place, deleteOffer, { id })
      const [next] = places.filter((seller) => seller !== place)
      if (next === undefined) throw new Error('there is only one place')
      await listOffer(market, next, { apiKey })
      const back = await refusalOf(invoke(market.plane, place, updateOffer, { id, status: 'active' }))
      expect([back.code, back.detail]).toEqual([DUPLICATE, {}])
    }
  })

  it('across organisations, and by a member who moved from one to the other', async () => {
    const [first, second] = [await teams.team(), await teams.team()]
    const [left, right] = [await open(first, 'Main'), await open(second, 'Main')]
    const member = await teams.join(first, 'developer')
    const apiKey = newProviderKey()
    const { id } = await listOffer(market, await sellerIn(member, left), { apiKey })
    const rival = await sellerIn(second.owner, right)
    expect((await refusalOf(listOffer(market, rival, { apiKey }))).code).toBe(DUPLICATE)

    const { organization } = first
    await invoke(market.plane, first.owner, removeMember, { organization, member: member.user })
    await teams.join(second, 'developer', member)
    const moved = await sellerIn(member, right)
    expect((await refusalOf(sellerIn(member, left))).code).toBe('not_found')
    // The sales for the first organisation still belong to it.
    const refused = await refusalOf(listOffer(market, moved, { apiKey }))
    expect([refused.code, refused.detail]).toEqual([DUPLICATE, {}])
    expect((await refusalOf(invoke(market.plane, moved, deleteOffer, { id }))).code).toBe('not_found')
    await invoke(market.plane, await sellerIn(first.owner, left), deleteOffer, { id })
    expect((await listOffer(market, moved, { apiKey })).status).toBe('active')
  })

  it('however many workspaces ask at once', async () => {
    const home = await teams.team()
    const sellers = []
    for (const name of ['A', 'B', 'C', 'D']) sellers.push(await sellerIn(home.owner, await open(home, name)))
    const apiKey = newProviderKey()
    const codes = await Promise.all(
      sellers.map((seller) =>
        listOffer(market, seller, { apiKey }).then(
          () => 'active',
          (error: { code: string }) => error.code,
        ),
      ),
    )
    expect(codes.sort()).toEqual(['active', DUPLICATE, DUPLICATE, DUPLICATE])
  })
})

describe('a workspace', () => {
  it('is closed when no work is under way in it, and not before', async () => {
    const home = await teams.team()
    const workspace = await open(home, 'Main')
    const named = { organization: home.organization, workspace: workspace.id }
    const seller = await sellerIn(home.owner, workspace)
    const { id } = await listOffer(market, seller)
    const key = { ...named, keyType: 'buyer', label: 'app' }
    const { id: keyId } = await invoke(market.plane, home.owner, createWorkspaceKey, key, idem())
    if (!isId('acc', workspace.buyerAccount)) throw new Error('the id is not an account')
    await grant(market.world.db, workspace.buyerAccount, 5)
    const inTheWay = async () => {
      const { code, status, detail } = await refusalOf(close(home, workspace))
      return { code, status, ...detail }
    }
    expect(await inTheWay()).toEqual({
      code: 'workspace_in_use',
      status: 409,
      offers: 1,
      keys: 1,
      balance_usdc: '5',
    })
    await invoke(market.plane, seller, updateOffer, { id, status: 'paused' })
    expect(await inTheWay()).toMatchObject({ offers: 1 })
    await invoke(market.plane, seller, deleteOffer, { id })
    await invoke(market.plane, home.owner, revokeWorkspaceKey, { ...named, key: keyId })
    expect(await inTheWay()).toMatchObject({ offers: 0, keys: 0, balance_usdc: '5' })
    await grant(market.world.db, workspace.buyerAccount, -5)
    const closed = await close(home, workspace)
    expect(closed).toEqual({ ...workspace, closedAt: expect.any(Number) })
    expect(await close(home, workspace)).toEqual(closed)
    const { items } = await invoke(market.plane, home.owner, listOrganizationAudit, { organization: home.organization })
    expect(items.filter(({ operation }) => operation === 'workspace.close').at(-1)).toMatchObject({
      actor: home.owner.user,
      subject: workspace.id,
      before: workspace,
      after: closed,
    })
  })

  it('that is closed can be read by its id and from inside, and cannot be changed', async () => {
    const home = await teams.team()
    const workspace = await open(home, 'Main')
    const named = { organization: home.organization, workspace: workspace.id }
    const { id } = await listOffer(market, await sellerIn(home.owner, workspace))
    await invoke(market.plane, await sellerIn(home.owner, workspace), deleteOffer, { id })
    const key = { ...named, keyType: 'seller', label: 'app' }
    const made = await invoke(market.plane, home.owner, createWorkspaceKey, key, idem())
    await invoke(market.plane, home.owner, revokeWorkspaceKey, { ...named, key: made.id })
    await close(home, workspace)

    const inside = await sellerIn(home.owner, workspace)
    expect((await invoke(market.plane, inside, listOffers, {})).items.map((offer) => offer.id)).toEqual([id])
    const earnings = await invoke(market.plane, home.owner, getEarnings, { workspaceId: workspace.id })
    expect(earnings.pendingUsdc).toBe('0')
    expect((await refusalOf(listOffer(market, inside))).code).toBe('forbidden')
    const back = invoke(market.plane, inside, updateOffer, { id, status: 'active' })
    expect((await refusalOf(back)).code).toBe('forbidden')
    const another = invoke(market.plane, home.owner, createWorkspaceKey, key, idem())
    expect((await refusalOf(another)).code).toBe('conflict')
    const renamed = invoke(market.plane, home.owner, updateWorkspace, { ...named, name: 'Other' })
    expect((await refusalOf(renamed)).code).toBe('conflict')
    expect((await refusalOf(authenticate(market.plane, made.secret?.reveal()))).code).toBe('invalid_api_key')

    const again = await open(home, 'Main')
    const { workspaces } = await invoke(market.plane, home.owner, listOrganizationWorkspaces, {
      organization: home.organization,
    })
    expect(workspaces.map((each) => [each.id, each.closedAt === null])).toEqual([
      [again.id, true],
      [workspace.id, false],
    ])
  })

  it('that is being closed accepts no offer and no key, even when the request began before', async () => {
    const home = await teams.team()
    const workspace = await open(home, 'Main')
    const seller = await sellerIn(home.owner, workspace)
    const { id } = await listOffer(market, seller)
    await invoke(market.plane, seller, deleteOffer, { id })
    const { plane } = market
    const row = isId('org', home.organization)
      ? await findWorkspace(plane.db, home.organization, workspace.id)
      : undefined
    if (row === undefined) throw new Error('there is no workspace')
    const late: Promise<unknown>[] = []
    await transact(plane.db, async (trx) => {
      await lockWorkspaceUse(trx, row, plane.clock.now())
      // Changes that were admitted before still write while the workspace is being closed.
      late.push(
        refusalOf(listOffer(market, seller)),
        refusalOf(invoke(plane, seller, updateOffer, { id, status: 'active' })),
      )
      await sql`select pg_sleep(0.2)`.execute(trx)
      await updateWorkspaceClosed(trx, row.id, new Date(plane.clock.now()))
    })
    expect(await Promise.all(late)).toMatchObject([{ code: 'service_unavailable' }, { code: 'service_unavailable' }])
    expect((await invoke(plane, seller, listOffers, { status: 'active' })).items).toEqual([])
    const reopened = sql`update workspace set closed_at = null where id = ${row.id}`.execute(plane.db)
    await expect(reopened).rejects.toThrow('stays as it is')
  })

  it('is closed by members with that right, of their own organisation only', async () => {
    const [home, elsewhere] = [await teams.team(), await teams.team()]
    const workspace = await open(home, 'Main')
    const input = { organization: home.organization, workspace: workspace.id }
    for (const role of ['developer', 'billing', 'viewer']) {
      const member = await teams.join(home, role)
      expect((await refusalOf(invoke(market.plane, member, closeWorkspace, input))).code).toBe('forbidden')
    }
    expect((await refusalOf(invoke(market.plane, elsewhere.owner, closeWorkspace, input))).code).toBe('not_found')
    const wrong = { ...input, organization: elsewhere.organization }
    expect((await refusalOf(invoke(market.plane, elsewhere.owner, closeWorkspace, wrong))).code).toBe('not_found')
    const admin = await teams.join(home, 'admin')
    expect((await invoke(market.plane, admin, closeWorkspace, input)).closedAt).not.toBeNull()
  })
})
