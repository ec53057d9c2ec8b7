import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { CreditHold } from '#data-plane/payment.ts'
import { DAY, utcMonth } from '#shared/clock.ts'
import type { KeyBudget } from '#shared/contract/key-record.ts'
import { moneyKeys } from '#shared/contract/redis-keys.ts'
import { AppError } from '#shared/errors.ts'
import type { AccountId } from '#shared/ids.ts'
import { createIds } from '#shared/ids.ts'
import { microUsd } from '#shared/money.ts'
import type { GateWorld, Node } from '#test/support/books/gate.ts'
import { eventText, ids, reserveRequest, startGateWorld, untilOpen } from '#test/support/books/gate.ts'
import { until } from '#test/support/run/until.ts'

let world: GateWorld
let nodes: readonly [Node, Node]

beforeAll(async () => {
  world = await startGateWorld()
  nodes = [await world.node('n1'), await world.node('n2')]
  for (const node of nodes) await untilOpen(node)
})
afterAll(() => world.stop())

const budgetOf = (of: 'usr' | 'wsp', limit: number): KeyBudget => ({
  id: ids.make('bdg'),
  of: `${of}_1`,
  limitMicro: microUsd(limit),
})
const spent = async ({ id }: KeyBudget) => Number(await world.redis.hget(moneyKeys.budget(id), 'mu'))
const reserve = (account: AccountId, input: Parameters<typeof reserveRequest>[1]) =>
  nodes[0].funds.reserve(reserveRequest(account, input))
const capture = (hold: CreditHold, used: number, node = nodes[0]) =>
  node.funds.capture(hold, microUsd(used), eventText(hold, used, node.id))
const refusal = (promise: Promise<unknown>) =>
  promise.then(
    () => undefined,
    (error: unknown) => (error instanceof AppError ? error : undefined),
  )
const posted = (account: AccountId, hold: CreditHold, budgets: readonly KeyBudget[], postedAt: number) => ({
  account,
  balanceMicro: microUsd(1_000),
  version: 1n,
  rid: hold.rid,
  postedAt,
  budgets: budgets.map(({ id }) => id),
})

describe('a monthly budget', () => {
  it('counts held amounts, and used amounts in the end, over accounts and keys', async () => {
    const [first, second] = [await world.account(10_000), await world.account(10_000)]
    const member = budgetOf('usr', 500)
    const workspace = budgetOf('wsp', 450)
    const hold = await reserve(first, { want: 300, keyId: ids.make('key'), budgets: [member, workspace] })
    const elsewhere = await reserve(second, { want: 300, min: 100, keyId: ids.make('key'), budgets: [member] })
    expect(elsewhere.grantedMicro).toBe(200n)
    expect([await spent(member), await spent(workspace)]).toEqual([500, 300])

    await capture(hold, 120)
    await capture(hold, 120)
    await nodes[0].funds.release(elsewhere, 'x', '')
    await nodes[0].funds.release(elsewhere, 'x', '')
    expect([await spent(member), await spent(workspace)]).toEqual([120, 120])
    expect((await reserve(second, { want: 900, min: 1, budgets: [member] })).grantedMicro).toBe(380n)
  })

  it('refuses a call that would exceed it, and says whose it is and what to do', async () => {
    const account = await world.account(10_000_000)
    const member = budgetOf('usr', 5_000_000)
    const workspace = budgetOf('wsp', 1_500_000)
    await capture(await reserve(account, { want: 1_000_000, budgets: [member, workspace] }), 1_000_000)
    const byWorkspace = await refusal(reserve(account, { want: 600_000, budgets: [member, workspace] }))
    expect(byWorkspace?.code).toBe('budget_reached')
    expect(byWorkspace?.message).toMatch(/^This workspace has a budget of 1\.50 USD for \d{4}-\d\d, .*owner or admin/)
    expect(byWorkspace?.detail).toMatchObject({
      limit_source: 'workspace_budget',
      limit_scope: 'workspace',
      budget_of: 'wsp_1',
      limit_usdc: '1500000',
      spent_usdc: '1000000',
      required_usdc: '600000',
    })
    const resetsAt = new Date(Number(byWorkspace?.detail['resets_at']) * 1_000)
    expect([resetsAt.getUTCDate(), resetsAt.getUTCHours(), resetsAt.getTime() > Date.now()]).toEqual([1, 0, true])
    const byMember = await refusal(reserve(account, { want: 4_000_001, budgets: [member] }))
    expect(byMember?.message).toMatch(/^You have a budget in this organisation of 5\.00 USD/)
    expect(byMember?.detail).toMatchObject({ limit_source: 'member_budget', budget_of: 'usr_1' })
    // A refusal counts nothing.
    expect([await spent(member), await spent(workspace)]).toEqual([1_000_000, 1_000_000])
  })

  it('gets the amount of an expired hold back, and counts its late capture', async () => {
    const account = await world.account(1_000)
    const budget = budgetOf('wsp', 800)
    const hold = await reserve(account, { want: 400, ttlMs: 0, budgets: [budget] })
    await until('the hold is past its deadline', 1_000, async () => (await world.gate.expireHolds(10)) === 1)
    expect(await spent(budget)).toBe(0)
    await capture(hold, 70)
    await capture(hold, 70)
    expect(await spent(budget)).toBe(70)
  })

  it('belongs to the month of the hold: a call of an older month leaves this month alone', async () => {
    const account = await world.account(1_000)
    const budget = budgetOf('usr', 800)
    const hold = await reserve(account, { want: 400, budgets: [budget] })
    await world.redis.hset(moneyKeys.budget(budget.id), { m: '2099-01', mu: '5' })
    await capture(hold, 100)
    expect(await spent(budget)).toBe(5)

    const other = budgetOf('usr', 800)
    const lastMonth = createIds({ now: () => Date.now() - 32 * DAY }).requestId()
    const old = { rid: lastMonth, account, keyId: null, grantedMicro: microUsd(60), budgets: [other.id] }
    await capture(old, 60)
    expect(await world.redis.hmget(moneyKeys.budget(other.id), 'm', 'mu')).toEqual([
      utcMonth(Date.now() - 32 * DAY),
      '60',
    ])
    // A counter that an older call opened turns to the month of the next call.
    await capture(await reserve(account, { want: 50, budgets: [other] }), 20)
    expect(await world.redis.hmget(moneyKeys.budget(other.id), 'm', 'mu')).toEqual([utcMonth(Date.now()), '20'])
  })

  it('is filled from the ledger once, with every call of the month counted once', async () => {
    const account = await world.account(10_000)
    const budget = budgetOf('wsp', 5_000)
    const counted = async (used: number) => {
      const hold = await reserve(account, { want: used + 50, budgets: [budget] })
      await capture(hold, used)
      return hold
    }
    const uncounted = async (used: number) => {
      const hold = await reserve(account, { want: used + 50 })
      await capture(hold, used)
      return hold
    }
    const horizon = Date.now() + 60_000
    const [early, inSeed, later] = [await counted(1), await counted(20), await counted(300)]
    const [oldInSeed, oldLater] = [await uncounted(4_000), await uncounted(500)]
    await world.gate.ack([posted(account, early, [budget], horizon - 2)])
    const mark = await world.gate.markUse({ budgetId: budget.id }, horizon)
    expect(mark?.postedBefore).toBe(horizon)
    await world.gate.ack([
      posted(account, inSeed, [budget], horizon - 1),
      posted(account, oldInSeed, [budget], horizon - 1),
    ])
    const month = utcMonth(mark?.now ?? 0)
    const seed = {
      postedBefore: horizon,
      day: `${month}-01`,
      dayMicro: microUsd(0),
      month,
      monthMicro: microUsd(4_021),
    }
    await world.gate.seedUse({ budgetId: budget.id }, seed)
    await world.gate.seedUse({ budgetId: budget.id }, seed)
    expect(await spent(budget)).toBe(4_321)
    // The call that began before its budget counts once the ledger has it.
    const after = [posted(account, later, [budget], horizon), posted(account, oldLater, [budget], horizon)]
    await world.gate.ack([...after, ...after])
    expect(await spent(budget)).toBe(4_821)
    // A call that the seed contains and a process brings afterwards counts until its acknowledgement comes again.
    const brought = { ...early, rid: ids.requestId(), budgets: [budget.id] }
    await capture(brought, 20)
    expect(await spent(budget)).toBe(4_841)
    await world.gate.ack([posted(account, brought, [budget], horizon - 1)])
    expect(await spent(budget)).toBe(4_821)
  })

  it('leaves calls without it as they are', async () => {
    const account = await world.account(1_000)
    const hold = await reserve(account, { want: 400 })
    await capture(hold, 100)
    expect(await world.redis.hexists(moneyKeys.hold('m00', hold.rid), 'bg')).toBe(0)
    expect(hold).not.toHaveProperty('budgets')
  })
})

/** A call: its amount, the used part of its hold, its end, and the budgets that count it. */
const calls = fc.array(
  fc.record({
    want: fc.integer({ min: 1, max: 200 }),
    usedPart: fc.double({ min: 0, max: 1, noNaN: true }),
    end: fc.constantFrom('captured', 'twice', 'released'),
    isMembers: fc.boolean(),
    isSecond: fc.boolean(),
  }),
  { minLength: 100, maxLength: 200 },
)

describe('two processes on two budgets', () => {
  it('never exceed either, and count each call once', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 8_000 }), calls, async (limit, inputs) => {
        const accounts = [await world.account(1_000_000), await world.account(1_000_000)]
        const [member, workspace] = [budgetOf('usr', limit), budgetOf('wsp', limit * 2)]
        const sums = { member: 0, workspace: 0 }
        await Promise.all(
          inputs.map(async ({ want, usedPart, end, isMembers, isSecond }, index) => {
            const node = nodes[index % 2] ?? nodes[0]
            const account = accounts[isSecond ? 1 : 0] ?? ids.make('acc')
            const budgets = isMembers ? [member, workspace] : [workspace]
            const request = reserveRequest(account, { want, min: 0, budgets })
            const hold = await node.funds.reserve(request).catch((error: unknown) => {
              if (error instanceof AppError && error.code === 'budget_reached') return undefined
              throw error
            })
            if (hold === undefined) return
            if (end === 'released') return node.funds.release(hold, 'x', '{}')
            const used = Math.floor(Number(hold.grantedMicro) * usedPart)
            if (isMembers) sums.member += used
            sums.workspace += used
            await capture(hold, used, node)
            if (end === 'twice') await capture(hold, used, node)
          }),
        )
        expect(sums.member).toBeLessThanOrEqual(limit)
        expect(sums.workspace).toBeLessThanOrEqual(limit * 2)
        if (inputs.some(({ isMembers }) => isMembers)) expect(await spent(member)).toBe(sums.member)
        expect(await spent(workspace)).toBe(sums.workspace)
      }),
      { numRuns: 8, endOnFailure: true },
    )
  })
})
