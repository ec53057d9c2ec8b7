import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { SessionActor } from '#control-plane/operation/actor.ts'
import { sideOf } from '#control-plane/operation/actor.ts'
import { invoke } from '#control-plane/operation/invoke.ts'
import { listCaps } from '#control-plane/services/keys/key-caps.ts'
import { updateBuyerKey } from '#control-plane/services/keys/key-limits.ts'
import { createBuyerKey } from '#control-plane/services/keys/keys.ts'
import { drainAccountChanges } from '#control-plane/services/ledger/ledger.ts'
import { removeMember } from '#control-plane/services/organizations/members.ts'
import { findAlerts } from '#control-plane/services/webhooks/webhook-alerts.ts'
import { createWebhook } from '#control-plane/services/webhooks/webhooks.ts'
import { nextUtcMonth } from '#shared/clock.ts'
import { moneyKeys } from '#shared/contract/redis-keys.ts'
import { isId } from '#shared/ids.ts'
import { reserveRequest } from '#test/support/books/gate.ts'
import { grant } from '#test/support/books/ledger.ts'
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

/** Adds a webhook for budgets to the own account of a user. */
async function listen(user: SessionActor): Promise<string> {
  const input = { url: 'https://hooks.example.com/budgets', events: ['budget.reached' as const] }
  return (await invoke(market.plane, sideOf(user, 'buyer'), createWebhook, input)).id
}

type Sent = { readonly webhook: string; readonly body: { readonly type: string; readonly data: object } }

/** Looks for alerts once. Returns the webhooks and bodies of the new deliveries. */
async function look(): Promise<Sent[]> {
  const ids = await findAlerts(market.plane)
  const { rows } = await sql<{ webhook: string; body: string }>`select webhook_id as webhook, body from webhook_delivery
    where id = any(${ids}::text[]) order by id`.execute(market.plane.db)
  return rows.map(({ webhook, body }) => ({ webhook, body: JSON.parse(body) }))
}

const percents = async () =>
  (await look()).map(({ webhook, body }) => [webhook, 'percent' in body.data && body.data.percent])

describe('alerts of a budget', () => {
  it('report each part of it once a month from booked spend, to those who set it and to its member', async () => {
    const team = await desk.teams.team()
    const [member, other] = [await desk.teams.join(team, 'developer'), await desk.teams.join(team, 'developer')]
    const [billing, stranger] = [await desk.teams.join(team, 'billing'), (await desk.teams.team()).owner]
    const hooks: string[] = []
    for (const user of [team.owner, billing, member]) hooks.push(await listen(user))
    for (const user of [other, stranger]) await listen(user)
    const main = await desk.open(team, 'Main')
    const key = await desk.caller(team, member, main)
    await desk.ofMember(team, member, 0.001)
    await desk.spend(key, 499)
    const running = await desk.reserve(key, 400)
    expect(await percents()).toEqual([])
    await desk.post(await desk.capture(running, 1))
    expect(await look()).toEqual(
      hooks.map((webhook) => ({
        webhook,
        body: expect.objectContaining({
          type: 'budget.reached',
          data: {
            organization_id: team.organization,
            organization_name: 'Team',
            budget_of: member.user,
            name: member.wallet,
            percent: 50,
            refusing: false,
            limit_usdc: '1000',
            used_usdc: '500',
            resets_at: nextUtcMonth(market.plane.clock.now()),
          },
        }),
      })),
    )
    expect(await look()).toEqual([])
    await invoke(market.plane, team.owner, removeMember, { organization: team.organization, member: member.user })
    expect(await look()).toEqual([])
  })

  it('report a refusal, and a changed budget anew', async () => {
    const team = await desk.teams.team()
    const hook = await listen(team.owner)
    const main = await desk.open(team, 'Main')
    const key = await desk.caller(team, team.owner, main)
    await desk.ofWorkspace(team, main, 0.001)
    await desk.spend(key, 600)
    expect(await percents()).toEqual([[hook, 50]])
    const [budget] = await desk.budgetsOf(key)
    expect((await refusalOf(desk.reserve(key, 500))).code).toBe('budget_reached')
    await until('the refusal is recorded', 5_000, async () =>
      Boolean(await market.world.redis.exists(moneyKeys.budgetFull(budget?.id ?? ''))),
    )
    const [sent, ...more] = await look()
    expect([sent?.body.data, more]).toMatchObject([
      { name: 'Main', budget_of: main.id, percent: 100, refusing: true },
      [],
    ])
    await desk.ofWorkspace(team, main, 0.0011)
    const [again, ...others] = await look()
    expect([again?.body.data, others]).toMatchObject([{ percent: 50, refusing: false, limit_usdc: '1100' }, []])
    await desk.ofWorkspace(team, main, null)
    expect(await look()).toEqual([])
  })
})

it('a raised cap of a key refuses no longer', async () => {
  const { buyer } = await market.person()
  await grant(market.world.db, buyer.account, 100_000)
  await drainAccountChanges(market.plane)
  const input = { label: 'capped', capDailyUsd: 0.001 }
  const { id } = await invoke(market.plane, buyer, createBuyerKey, input, { idempotencyKey: 'capped' })
  if (!isId('key', id)) throw new Error('not a key')
  const call = { want: 2_000, keyId: id, daily: 1_000 }
  expect((await refusalOf(desk.node.funds.reserve(reserveRequest(buyer.account, call)))).code).toBe('key_cap_reached')
  const isRefusing = async () => (await invoke(market.plane, buyer, listCaps, {})).keys[0]?.daily?.isRefusing
  await until('the refusal is recorded', 5_000, async () => (await isRefusing()) === true)
  await invoke(market.plane, buyer, updateBuyerKey, { id, capDailyUsd: 0.01 })
  expect(await isRefusing()).toBe(false)
})
