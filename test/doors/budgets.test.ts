import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { SessionActor } from '#control-plane/operation/actor.ts'
import { machineOperator } from '#control-plane/operation/actor.ts'
import { invoke } from '#control-plane/operation/invoke.ts'
import { listOrganizationAudit } from '#control-plane/services/audit/audit.ts'
import { postBatch } from '#control-plane/services/booking/ingest.ts'
import { drainAccountChanges } from '#control-plane/services/ledger/ledger.ts'
import { reverseTransaction } from '#control-plane/services/ledger/reversal.ts'
import {
  listOrganizationBudgets,
  setMemberBudget,
  setWorkspaceBudget,
} from '#control-plane/services/organizations/budgets.ts'
import { removeMember } from '#control-plane/services/organizations/members.ts'
import { createWorkspaceKey } from '#control-plane/services/organizations/workspace-keys.ts'
import type { WorkspaceView } from '#control-plane/services/organizations/workspaces.ts'
import { createWorkspace } from '#control-plane/services/organizations/workspaces.ts'
import type { CreditHold } from '#data-plane/payment.ts'
import { hashApiKey } from '#shared/api-key.ts'
import { utcMonth } from '#shared/clock.ts'
import type { KeyBudget } from '#shared/contract/key-record.ts'
import { KeyRecordSchema } from '#shared/contract/key-record.ts'
import { cacheKeys, moneyKeys } from '#shared/contract/redis-keys.ts'
import type { AccountId, KeyId } from '#shared/ids.ts'
import { isId } from '#shared/ids.ts'
import { microUsd } from '#shared/money.ts'
import type { Node } from '#test/support/books/gate.ts'
import { eventText, reserveRequest, untilOpen } from '#test/support/books/gate.ts'
import { endText, submitText } from '#test/support/books/job-events.ts'
import { grant, newAccount } from '#test/support/books/ledger.ts'
import { refusalOf } from '#test/support/bytes/refusal.ts'
import type { TestMarket } from '#test/support/doors/control-plane.ts'
import { startMarket } from '#test/support/doors/control-plane.ts'
import type { Team } from '#test/support/doors/team.ts'
import { createTeams } from '#test/support/doors/team.ts'
import { until } from '#test/support/run/until.ts'

let market: TestMarket
let teams: ReturnType<typeof createTeams>
let node: Node
let seller: AccountId

beforeAll(async () => {
  market = await startMarket()
  teams = createTeams(market)
  node = await market.world.node('n1')
  await untilOpen(node)
  seller = await newAccount(market.plane.db, 'seller_available')
})
afterAll(() => market?.stop())

type Caller = { readonly keyId: KeyId; readonly secret: string; readonly account: AccountId }

async function open({ organization, owner }: Team, name: string): Promise<WorkspaceView> {
  const workspace = await invoke(market.plane, owner, createWorkspace, { organization, name })
  if (!isId('acc', workspace.buyerAccount)) throw new Error('not an account')
  await grant(market.plane.db, workspace.buyerAccount, 10_000_000)
  await drainAccountChanges(market.plane)
  return workspace
}

/** A key with which a member calls in a workspace. */
async function caller({ organization }: Team, member: SessionActor, workspace: WorkspaceView): Promise<Caller> {
  const input = { organization, workspace: workspace.id, keyType: 'buyer' as const, label: 'app' }
  const made = await invoke(market.plane, member, createWorkspaceKey, input)
  if (!isId('key', made.id) || !isId('acc', workspace.buyerAccount)) throw new Error('not a key')
  return { keyId: made.id, secret: made.secret?.reveal() ?? '', account: workspace.buyerAccount }
}

/** The budgets of a key as data planes read them. */
async function budgetsOf({ secret }: Caller): Promise<readonly KeyBudget[]> {
  const hash = hashApiKey(secret, market.plane.settings.keyPepper)
  const text = await market.world.redis.hget(cacheKeys.keys, hash)
  return KeyRecordSchema.parse(JSON.parse(text ?? 'null')).budgets ?? []
}

async function reserve(of: Caller, want: number): Promise<CreditHold> {
  const budgets = await budgetsOf(of)
  const input = { want, keyId: of.keyId, ...(budgets.length > 0 && { budgets }) }
  return node.funds.reserve(reserveRequest(of.account, input))
}

async function capture(hold: CreditHold, cost: number): Promise<string> {
  const event = JSON.stringify({ ...JSON.parse(eventText(hold, cost, 'n1')), sellerAccount: seller })
  node.journal.capture(hold, event)
  await node.funds.capture(hold, microUsd(cost), event)
  return event
}

const post = (...events: string[]) => postBatch(market.plane, { events, source: 'test' })
async function spend(of: Caller, cost: number): Promise<string> {
  const event = await capture(await reserve(of, cost), cost)
  await post(event)
  return event
}

const list = ({ organization, owner }: Team) => invoke(market.plane, owner, listOrganizationBudgets, { organization })
const ofMember = ({ organization, owner }: Team, member: SessionActor, limitUsd: number | null) =>
  invoke(market.plane, owner, setMemberBudget, { organization, member: member.user, limitUsd })
const ofWorkspace = ({ organization, owner }: Team, { id: workspace }: WorkspaceView, limitUsd: number | null) =>
  invoke(market.plane, owner, setWorkspaceBudget, { organization, workspace, limitUsd })
const counted = async (budget: KeyBudget | undefined) =>
  Number(await market.world.redis.hget(moneyKeys.budget(budget?.id ?? ''), 'mu'))

describe('the budget of a workspace', () => {
  it('counts all calls of the month in it, also earlier ones and those that run, and refuses the rest', async () => {
    const team = await teams.team()
    const member = await teams.join(team, 'developer')
    const [main, other] = [await open(team, 'Main'), await open(team, 'Other')]
    const [first, second, elsewhere] = [
      await caller(team, team.owner, main),
      await caller(team, member, main),
      await caller(team, member, other),
    ]
    await spend(first, 300)
    const running = await reserve(second, 1_000)
    expect(await ofWorkspace(team, main, 0.001)).toEqual({ of: main.id, limitUsdc: '1000', spentUsdc: '300' })
    const [budget] = await budgetsOf(first)
    expect(budget).toMatchObject({ of: main.id, limitMicro: 1_000n })
    expect([await budgetsOf(second), await budgetsOf(elsewhere)]).toEqual([[budget], []])
    expect(await counted(budget)).toBe(300)

    const ended = await capture(running, 400)
    await post(ended)
    await post(ended)
    expect(await counted(budget)).toBe(700)
    const refused = await refusalOf(reserve(first, 301))
    expect([refused.code, refused.detail['spent_usdc'], refused.detail['budget_of']]).toEqual([
      'budget_reached',
      '700',
      main.id,
    ])
    await spend(second, 300)
    await spend(elsewhere, 5_000)
    const { month, workspaces } = await list(team)
    expect(month).toBe(utcMonth(market.plane.clock.now()))
    expect(workspaces).toEqual([
      { of: main.id, limitUsdc: '1000', spentUsdc: '1000' },
      { of: other.id, limitUsdc: null, spentUsdc: '5000' },
    ])
  })

  it('is counted again from the ledger after a rebuild of the gate', async () => {
    const team = await teams.team()
    const main = await open(team, 'Main')
    const key = await caller(team, team.owner, main)
    await ofWorkspace(team, main, 0.01)
    const posted = await spend(key, 250)
    const waiting = await capture(await reserve(key, 90), 40)
    const running = await reserve(key, 7)
    const [budget] = await budgetsOf(key)
    const before = Number((await market.world.redis.get(moneyKeys.epoch))?.split(':')[0])
    await market.world.redis.del(moneyKeys.epoch, moneyKeys.budget(budget?.id ?? ''))
    await until('a newer epoch is open', 20_000, async () => {
      const [epoch, phase] = ((await market.world.redis.get(moneyKeys.epoch)) ?? '0:').split(':')
      return Number(epoch) > before && phase === 'open'
    })
    await untilOpen(node)
    // The process may bring the posted call again, until the gate hears of its posting.
    await post(posted)
    expect(await counted(budget)).toBe(297)
    await post(waiting)
    await node.funds.release(running, 'x', '')
    expect(await counted(budget)).toBe(290)
    expect((await refusalOf(reserve(key, 9_711))).code).toBe('budget_reached')
  })

  it('counts a job with its quote, and a call that an operator refunds', async () => {
    const team = await teams.team()
    const main = await open(team, 'Main')
    const key = await caller(team, team.owner, main)
    await ofWorkspace(team, main, 0.01)
    const [budget] = await budgetsOf(key)
    const hold = await reserve(key, 600)
    const input = { rid: hold.rid, account: key.account, sellerAccount: seller, quote: 600 }
    const submit = JSON.stringify({ ...JSON.parse(submitText(input)), keyId: key.keyId, budgets: hold.budgets })
    await node.funds.capture(hold, microUsd(600), submit)
    await post(submit)
    expect([await counted(budget), (await list(team)).workspaces[0]?.spentUsdc]).toEqual([600, '600'])
    await post(JSON.stringify({ ...JSON.parse(endText(input, 450)), keyId: key.keyId }))
    expect((await list(team)).workspaces[0]?.spentUsdc).toBe('450')

    const { rid } = JSON.parse(await spend(key, 100))
    await invoke(market.plane, machineOperator('test'), reverseTransaction, { key: rid, reason: 'a mistake' })
    expect([await counted(budget), (await list(team)).workspaces[0]?.spentUsdc]).toEqual([700, '550'])
  })

  it('ends with null, and counts the calls in between when it is set again', async () => {
    const team = await teams.team()
    const main = await open(team, 'Main')
    const key = await caller(team, team.owner, main)
    await ofWorkspace(team, main, 0.0001)
    await spend(key, 100)
    const [former] = await budgetsOf(key)
    expect((await refusalOf(reserve(key, 1))).code).toBe('budget_reached')
    expect(await ofWorkspace(team, main, null)).toEqual({ of: main.id, limitUsdc: null, spentUsdc: '100' })
    expect(await budgetsOf(key)).toEqual([])
    await spend(key, 50)
    await ofWorkspace(team, main, 0.0003)
    const [budget] = await budgetsOf(key)
    expect(budget?.id).not.toBe(former?.id)
    expect(await counted(budget)).toBe(150)
    // A raise keeps the counter.
    await ofWorkspace(team, main, 0.001)
    expect(await budgetsOf(key)).toEqual([{ ...budget, limitMicro: 1_000n }])
  })
})

describe('the budget of a member', () => {
  it('counts the calls of the member in all workspaces of the organisation, and no other calls', async () => {
    const [team, stranger] = [await teams.team(), await teams.team()]
    const member = await teams.join(team, 'developer')
    const [main, other] = [await open(team, 'Main'), await open(team, 'Other')]
    const keys = [await caller(team, member, main), await caller(team, member, other)] as const
    const colleague = await caller(team, team.owner, main)
    const strange = await open(stranger, 'Main')
    const own = await caller(stranger, stranger.owner, strange)
    await teams.join(stranger, 'developer', member)
    await ofMember(team, member, 0.001)
    await ofMember(stranger, stranger.owner, 0.5)
    const away = await caller(stranger, member, strange)
    await spend(keys[0], 600)
    await spend(keys[1], 100)
    await spend(colleague, 5_000)
    expect((await refusalOf(reserve(keys[1], 301))).message).toContain('You have a budget in this organisation')
    expect(await budgetsOf(colleague)).toEqual([])
    expect([await budgetsOf(own), await budgetsOf(away)]).toMatchObject([[{ of: stranger.owner.user }], []])
    const [budget] = await budgetsOf(keys[0])
    expect([await budgetsOf(keys[1]), await counted(budget)]).toEqual([[budget], 700])
    const { members } = await list(team)
    expect(members).toEqual([
      { of: team.owner.user, limitUsdc: null, spentUsdc: '5000' },
      { of: member.user, limitUsdc: '1000', spentUsdc: '700' },
    ])
    // A call counts for the workspace and the member.
    await ofWorkspace(team, main, 0.0061)
    expect(await budgetsOf(keys[0])).toHaveLength(2)
    expect((await refusalOf(reserve(keys[0], 550))).detail['limit_source']).toBe('member_budget')
    await ofMember(team, member, 0.01)
    expect((await refusalOf(reserve(keys[0], 550))).detail['limit_source']).toBe('workspace_budget')
  })

  it('is set by owners and admins, is in the audit, and ends with the membership', async () => {
    const team = await teams.team()
    const { organization } = team
    const [admin, developer] = [await teams.join(team, 'admin'), await teams.join(team, 'developer')]
    const set = (by: SessionActor) =>
      invoke(market.plane, by, setMemberBudget, { organization, member: developer.user, limitUsd: 12.5 })
    expect((await refusalOf(set(developer))).code).toBe('forbidden')
    expect((await refusalOf(set((await teams.team()).owner))).code).toBe('not_found')
    expect(await set(admin)).toMatchObject({ limitUsdc: '12500000' })
    const nobody = { organization, member: 'usr_nobody', limitUsd: 1 }
    expect((await refusalOf(invoke(market.plane, admin, setMemberBudget, nobody))).code).toBe('not_found')
    const nothing = { organization, member: developer.user, limitUsd: 0 }
    expect((await refusalOf(invoke(market.plane, admin, setMemberBudget, nothing))).code).toBe('invalid_request')
    const { items } = await invoke(market.plane, team.owner, listOrganizationAudit, { organization })
    expect(items.find(({ operation }) => operation === 'budget.set-member')).toMatchObject({
      subject: developer.user,
      before: { limitUsdc: null },
      after: { limitUsdc: '12500000' },
    })
    await invoke(market.plane, admin, removeMember, { organization, member: developer.user })
    expect((await list(team)).members.map(({ of }) => of)).toEqual([team.owner.user, admin.user])
  })

  it('needs the gate: a budget that could not be counted is counted by a repeat', async () => {
    const team = await teams.team()
    const main = await open(team, 'Main')
    const key = await caller(team, team.owner, main)
    await spend(key, 80)
    const away = { ...market.plane.gate, markUse: () => Promise.reject(new Error('away')) }
    const input = { organization: team.organization, workspace: main.id, limitUsd: 1 }
    await expect(invoke({ ...market.plane, gate: away }, team.owner, setWorkspaceBudget, input)).rejects.toThrow()
    await ofWorkspace(team, main, 1)
    expect(await counted((await budgetsOf(key))[0])).toBe(80)
  })
})
