import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { SessionActor } from '#control-plane/operation/actor.ts'
import { machineOperator } from '#control-plane/operation/actor.ts'
import { invoke } from '#control-plane/operation/invoke.ts'
import { listOrganizationAudit } from '#control-plane/services/audit/audit.ts'
import { reverseTransaction } from '#control-plane/services/ledger/reversal.ts'
import { setMemberBudget, setWorkspaceBudget } from '#control-plane/services/organizations/budgets.ts'
import { removeMember } from '#control-plane/services/organizations/members.ts'
import { utcMonth } from '#shared/clock.ts'
import { moneyKeys } from '#shared/contract/redis-keys.ts'
import { microUsd } from '#shared/money.ts'
import { untilOpen } from '#test/support/books/gate.ts'
import { endText, submitText } from '#test/support/books/job-events.ts'
import { refusalOf } from '#test/support/bytes/refusal.ts'
import type { BudgetDesk } from '#test/support/doors/budget-desk.ts'
import { openBudgetDesk } from '#test/support/doors/budget-desk.ts'
import type { TestMarket } from '#test/support/doors/control-plane.ts'
import { startMarket } from '#test/support/doors/control-plane.ts'
import { until } from '#test/support/run/until.ts'

let market: TestMarket
let desk: BudgetDesk

beforeAll(async () => {
  market = await startMarket()
  desk = await openBudgetDesk(market)
})
afterAll(() => market?.stop())

describe('the budget of a workspace', () => {
  it('counts all calls of the month in it, also earlier ones and those that run, and refuses the rest', async () => {
    const team = await desk.teams.team()
    const member = await desk.teams.join(team, 'developer')
    const [main, other] = [await desk.open(team, 'Main'), await desk.open(team, 'Other')]
    const [first, second, elsewhere] = [
      await desk.caller(team, team.owner, main),
      await desk.caller(team, member, main),
      await desk.caller(team, member, other),
    ]
    await desk.spend(first, 300)
    const running = await desk.reserve(second, 1_000)
    expect(await desk.ofWorkspace(team, main, 0.001)).toEqual({ of: main.id, limitUsdc: '1000', spentUsdc: '300' })
    const [budget] = await desk.budgetsOf(first)
    expect(budget).toMatchObject({ of: main.id, limitMicro: 1_000n })
    expect([await desk.budgetsOf(second), await desk.budgetsOf(elsewhere)]).toEqual([[budget], []])
    expect(await desk.counted(budget)).toBe(300)

    const ended = await desk.capture(running, 400)
    await desk.post(ended)
    await desk.post(ended)
    expect(await desk.counted(budget)).toBe(700)
    const refused = await refusalOf(desk.reserve(first, 301))
    expect([refused.code, refused.detail['spent_usdc'], refused.detail['budget_of']]).toEqual([
      'budget_reached',
      '700',
      main.id,
    ])
    await desk.spend(second, 300)
    await desk.spend(elsewhere, 5_000)
    const { month, workspaces } = await desk.list(team)
    expect(month).toBe(utcMonth(market.plane.clock.now()))
    expect(workspaces).toEqual([
      { of: main.id, limitUsdc: '1000', spentUsdc: '1000' },
      { of: other.id, limitUsdc: null, spentUsdc: '5000' },
    ])
  })

  it('is counted again from the ledger after a rebuild of the gate', async () => {
    const team = await desk.teams.team()
    const main = await desk.open(team, 'Main')
    const key = await desk.caller(team, team.owner, main)
    await desk.ofWorkspace(team, main, 0.01)
    const posted = await desk.spend(key, 250)
    const waiting = await desk.capture(await desk.reserve(key, 90), 40)
    const running = await desk.reserve(key, 7)
    const [budget] = await desk.budgetsOf(key)
    const before = Number((await market.world.redis.get(moneyKeys.epoch))?.split(':')[0])
    await market.world.redis.del(moneyKeys.epoch, moneyKeys.budget(budget?.id ?? ''))
    await until('a newer epoch is open', 20_000, async () => {
      const [epoch, phase] = ((await market.world.redis.get(moneyKeys.epoch)) ?? '0:').split(':')
      return Number(epoch) > before && phase === 'open'
    })
    await untilOpen(desk.node)
    // The process may bring the posted call again, until the gate hears of its posting.
    await desk.post(posted)
    expect(await desk.counted(budget)).toBe(297)
    await desk.post(waiting)
    await desk.node.funds.release(running, 'x', '')
    expect(await desk.counted(budget)).toBe(290)
    expect((await refusalOf(desk.reserve(key, 9_711))).code).toBe('budget_reached')
  })

  it('counts a job with its quote, and a call that an operator refunds', async () => {
    const team = await desk.teams.team()
    const main = await desk.open(team, 'Main')
    const key = await desk.caller(team, team.owner, main)
    await desk.ofWorkspace(team, main, 0.01)
    const [budget] = await desk.budgetsOf(key)
    const hold = await desk.reserve(key, 600)
    const input = { rid: hold.rid, account: key.account, sellerAccount: desk.seller, quote: 600 }
    const submit = JSON.stringify({ ...JSON.parse(submitText(input)), keyId: key.keyId, budgets: hold.budgets })
    await desk.node.funds.capture(hold, microUsd(600), submit)
    await desk.post(submit)
    expect([await desk.counted(budget), (await desk.list(team)).workspaces[0]?.spentUsdc]).toEqual([600, '600'])
    await desk.post(JSON.stringify({ ...JSON.parse(endText(input, 450)), keyId: key.keyId }))
    expect((await desk.list(team)).workspaces[0]?.spentUsdc).toBe('450')

    const { rid } = JSON.parse(await desk.spend(key, 100))
    await invoke(market.plane, machineOperator('test'), reverseTransaction, { key: rid, reason: 'a mistake' })
    expect([await desk.counted(budget), (await desk.list(team)).workspaces[0]?.spentUsdc]).toEqual([700, '550'])
  })

  it('ends with null, and counts the calls in between when it is set again', async () => {
    const team = await desk.teams.team()
    const main = await desk.open(team, 'Main')
    const key = await desk.caller(team, team.owner, main)
    await desk.ofWorkspace(team, main, 0.0001)
    await desk.spend(key, 100)
    const [former] = await desk.budgetsOf(key)
    expect((await refusalOf(desk.reserve(key, 1))).code).toBe('budget_reached')
    expect(await desk.ofWorkspace(team, main, null)).toEqual({ of: main.id, limitUsdc: null, spentUsdc: '100' })
    expect(await desk.budgetsOf(key)).toEqual([])
    await desk.spend(key, 50)
    await desk.ofWorkspace(team, main, 0.0003)
    const [budget] = await desk.budgetsOf(key)
    expect(budget?.id).not.toBe(former?.id)
    expect(await desk.counted(budget)).toBe(150)
    // A raise keeps the counter.
    await desk.ofWorkspace(team, main, 0.001)
    expect(await desk.budgetsOf(key)).toEqual([{ ...budget, limitMicro: 1_000n }])
  })
})

describe('the budget of a member', () => {
  it('counts the calls of the member in all workspaces of the organisation, and no other calls', async () => {
    const [team, stranger] = [await desk.teams.team(), await desk.teams.team()]
    const member = await desk.teams.join(team, 'developer')
    const [main, other] = [await desk.open(team, 'Main'), await desk.open(team, 'Other')]
    const keys = [await desk.caller(team, member, main), await desk.caller(team, member, other)] as const
    const colleague = await desk.caller(team, team.owner, main)
    const strange = await desk.open(stranger, 'Main')
    const own = await desk.caller(stranger, stranger.owner, strange)
    await desk.teams.join(stranger, 'developer', member)
    await desk.ofMember(team, member, 0.001)
    await desk.ofMember(stranger, stranger.owner, 0.5)
    const away = await desk.caller(stranger, member, strange)
    await desk.spend(keys[0], 600)
    await desk.spend(keys[1], 100)
    await desk.spend(colleague, 5_000)
    expect((await refusalOf(desk.reserve(keys[1], 301))).message).toContain('You have a budget in this organisation')
    expect(await desk.budgetsOf(colleague)).toEqual([])
    expect([await desk.budgetsOf(own), await desk.budgetsOf(away)]).toMatchObject([[{ of: stranger.owner.user }], []])
    const [budget] = await desk.budgetsOf(keys[0])
    expect([await desk.budgetsOf(keys[1]), await desk.counted(budget)]).toEqual([[budget], 700])
    const { members } = await desk.list(team)
    expect(members).toEqual([
      { of: team.owner.user, limitUsdc: null, spentUsdc: '5000' },
      { of: member.user, limitUsdc: '1000', spentUsdc: '700' },
    ])
    // A call counts for the workspace and the member.
    await desk.ofWorkspace(team, main, 0.0061)
    expect(await desk.budgetsOf(keys[0])).toHaveLength(2)
    expect((await refusalOf(desk.reserve(keys[0], 550))).detail['limit_source']).toBe('member_budget')
    await desk.ofMember(team, member, 0.01)
    expect((await refusalOf(desk.reserve(keys[0], 550))).detail['limit_source']).toBe('workspace_budget')
  })

  it('is set by owners and admins, is in the audit, and ends with the membership', async () => {
    const team = await desk.teams.team()
    const { organization } = team
    const [admin, developer] = [await desk.teams.join(team, 'admin'), await desk.teams.join(team, 'developer')]
    const set = (by: SessionActor) =>
      invoke(market.plane, by, setMemberBudget, { organization, member: developer.user, limitUsd: 12.5 })
    expect((await refusalOf(set(developer))).code).toBe('forbidden')
    expect((await refusalOf(set((await desk.teams.team()).owner))).code).toBe('not_found')
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
    expect((await desk.list(team)).members.map(({ of }) => of)).toEqual([team.owner.user, admin.user])
  })

  it('needs the gate: a budget that could not be counted is counted by a repeat', async () => {
    const team = await desk.teams.team()
    const main = await desk.open(team, 'Main')
    const key = await desk.caller(team, team.owner, main)
    await desk.spend(key, 80)
    const away = { ...market.plane.gate, markUse: () => Promise.reject(new Error('away')) }
    const input = { organization: team.organization, workspace: main.id, limitUsd: 1 }
    await expect(invoke({ ...market.plane, gate: away }, team.owner, setWorkspaceBudget, input)).rejects.toThrow()
    await desk.ofWorkspace(team, main, 1)
    expect(await desk.counted((await desk.budgetsOf(key))[0])).toBe(80)
  })
})
