import { readdir, writeFile } from 'node:fs/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { retireNodes } from '#control-plane/db/money-epoch.ts'
import { rebuildGate } from '#control-plane/services/gate/gate-rebuild.ts'
import type { CreditHold } from '#data-plane/payment.ts'
import { systemClock } from '#shared/clock.ts'
import { OWNER_DIED } from '#shared/contract/hold.ts'
import { encodeReserve } from '#shared/contract/money-scripts/reserve.ts'
import { moneyScripts, parseMoneyEpoch } from '#shared/contract/money-scripts.ts'
import { moneyKeys } from '#shared/contract/redis-keys.ts'
import type { AccountId } from '#shared/ids.ts'
import { microUsd } from '#shared/money.ts'
import type { GateWorld, Node } from '#test/support/books/gate.ts'
import {
  eventText,
  figures,
  log,
  markDead,
  reserveRequest,
  startGateWorld,
  untilOpen,
} from '#test/support/books/gate.ts'
import { until } from '#test/support/run/until.ts'

let world: GateWorld
beforeEach(async () => {
  world = await startGateWorld()
})
afterEach(() => world.stop())

async function capture(node: Node, hold: CreditHold, used: number, isToldToGate: boolean): Promise<void> {
  const event = eventText(hold, used, node.id)
  node.journal.capture(hold, event)
  if (isToldToGate) await node.funds.capture(hold, microUsd(used), event)
}

describe('the captures of a node that dies', () => {
  it('are brought to the gate by a living node without a restart, which deletes the membership of the dead node', async () => {
    const journalDir = `${world.folder}/journal`
    const [living, dying] = [await world.node('living', { journalDir }), await world.node('dying', { journalDir })]
    await Promise.all([untilOpen(living), untilOpen(dying)])
    const account = await world.account(1_000)
    const told = await dying.funds.reserve(reserveRequest(account, { want: 100 }))
    await capture(dying, told, 70, true)
    const untold = await dying.funds.reserve(reserveRequest(account, { want: 100 }))
    const running = await dying.funds.reserve(reserveRequest(account, { want: 100 }))
    const event = eventText(running, 30, 'dying')
    dying.journal.progress({ hold: running, offer: null, outputTokens: 30, chargeMicro: microUsd(30), event })
    const idle = await dying.funds.reserve(reserveRequest(account, { want: 100 }))
    // The node dies with a capture on the disk that the gate lacks.
    await capture(dying, untold, 80, false)
    await dying.drop()
    expect(await figures(world.gate, account)).toEqual({ p: 1_000, h: 300, u: 70, free: 630 })
    await markDead(journalDir, dying)

    await until('all captures are synced', 10_000, async () => (await figures(world.gate, account))?.u === 180)
    expect(await living.funds.find(account, running.rid)).toMatchObject({ state: 'captured', used: 30n })
    await until('the other holds are released', 5_000, async () => (await figures(world.gate, account))?.h === 0)
    expect(await figures(world.gate, account)).toEqual({ p: 1_000, h: 0, u: 180, free: 820 })
    expect(await living.funds.find(account, idle.rid)).toMatchObject({ state: 'released', reason: OWNER_DIED })
    expect(living.funds.isOpen()).toBe(true)
    await until('the dead node has no membership', 5_000, async () => {
      const rows = await world.db.selectFrom('node').select('id').where('retired_at', 'is', null).execute()
      return rows.length === 1 && rows[0]?.id === living.journal.member
    })
    expect(living.journal.inherited()).toEqual([])
  })
})

describe('the holds of a node that dies', () => {
  const holdOf = (node: Node, account: AccountId) => node.funds.reserve(reserveRequest(account, { want: 100 }))

  it('are released by its heir, and those of living nodes are not', async () => {
    const journalDir = `${world.folder}/journal`
    const [living, dying] = [await world.node('living', { journalDir }), await world.node('dying', { journalDir })]
    await Promise.all([untilOpen(living), untilOpen(dying)])
    const account = await world.account(1_000)
    const lost = await holdOf(dying, account)
    const [kept, elsewhere] = [await holdOf(living, account), await world.node('elsewhere')]
    await untilOpen(elsewhere)
    const other = await holdOf(elsewhere, account)
    await dying.drop()
    await markDead(journalDir, dying)
    await until('the hold is released', 10_000, async () => (await figures(world.gate, account))?.h === 200)
    expect(await living.funds.find(account, lost.rid)).toMatchObject({ state: 'released' })
    for (const { rid } of [kept, other]) expect(await living.funds.find(account, rid)).toMatchObject({ state: 'open' })
    // A capture that was under way is booked late, as after a deadline.
    expect(await living.funds.capture(lost, microUsd(40), eventText(lost, 40, 'dying'))).toBe('accepted')
    expect(await figures(world.gate, account)).toEqual({ p: 1_000, h: 200, u: 40, free: 760 })
  })

  it('are released as well when the command of one was under way at the death', async () => {
    const journalDir = `${world.folder}/journal`
    const [living, dying] = [await world.node('living', { journalDir }), await world.node('dying', { journalDir })]
    await Promise.all([untilOpen(living), untilOpen(dying)])
    const account = await world.account(1_000)
    const hold = await dying.funds.reserve(reserveRequest(account, { want: 100 }))
    await capture(dying, hold, 80, false)
    await dying.drop()
    await markDead(journalDir, dying)
    await until('its capture is brought', 10_000, async () => (await figures(world.gate, account))?.u === 80)
    const epoch = parseMoneyEpoch(await world.redis.get(moneyKeys.epoch))?.epoch ?? 0
    const late = { ...reserveRequest(account), node: dying.journal.member, dailyCapMicro: null, monthlyCapMicro: null }
    const { keys, args } = encodeReserve({ bucket: 'm00', epoch }, [late])
    await world.redis.evalsha(moneyScripts(epoch).reserve.sha, keys.length, ...keys, ...args)
    expect(await figures(world.gate, account)).toMatchObject({ h: 100 })
    await until('the hold is released', 5_000, async () => (await figures(world.gate, account))?.h === 0)
    expect(await figures(world.gate, account)).toMatchObject({ u: 80, free: 920 })
  })

  it('are left to their deadlines where an earlier heir may still have captures of the node', async () => {
    const journalDir = `${world.folder}/journal`
    const dying = await world.node('dying', { journalDir })
    await untilOpen(dying)
    const account = await world.account(1_000)
    await holdOf(dying, account)
    await dying.drop()
    await markDead(journalDir, dying)
    const [left = ''] = await readdir(journalDir)
    await writeFile(`${journalDir}/${left}/finished`, '')
    const heir = await world.node('heir', { journalDir })
    await untilOpen(heir)
    await until('the captures are handed on', 10_000, () => heir.journal.inherited().length === 0)
    expect(await figures(world.gate, account)).toMatchObject({ h: 100 })
  })
})

describe('a capture that the journal never got', () => {
  /** A call with its progress of 30 in the journal, and its capture of 70 in Redis alone. */
  async function captureInRedisAlone(node: Node) {
    const account = await world.account(1_000)
    const hold = await node.funds.reserve(reserveRequest(account, { want: 100 }))
    const event = eventText(hold, 30, node.id)
    node.journal.progress({ hold, offer: null, outputTokens: 30, chargeMicro: microUsd(30), event })
    expect(await node.funds.capture(hold, microUsd(70), eventText(hold, 70, node.id))).toBe('accepted')
    await node.drop()
    return { account, hold }
  }

  it('counts as long as Redis has it, whatever progress an heir brings [I12]', async () => {
    const journalDir = `${world.folder}/journal`
    const dying = await world.node('dying', { journalDir })
    await untilOpen(dying)
    const { account, hold } = await captureInRedisAlone(dying)
    await markDead(journalDir, dying)
    const heir = await world.node('heir', { journalDir })
    await untilOpen(heir)
    expect(await heir.funds.find(account, hold.rid)).toMatchObject({ state: 'captured', used: 70n })
    expect(await figures(world.gate, account)).toMatchObject({ h: 0, u: 70 })
  })

  it('counts when its heir comes before a rebuild has read Redis [I12]', async () => {
    const journalDir = `${world.folder}/journal`
    const dying = await world.node('dying', { journalDir })
    await untilOpen(dying)
    const { account, hold } = await captureInRedisAlone(dying)
    await markDead(journalDir, dying)
    await world.stopRebuilder()
    await retireNodes(world.db, [dying.journal.member])
    const { keeper } = world
    const heirs: Node[] = []
    const slow = {
      ...keeper,
      async harvest(epoch: number, older: number) {
        if (heirs.length === 0) heirs.push(await world.node('heir', { journalDir }))
        // The heir reads the epoch ten times a second.
        await new Promise((resolve) => setTimeout(resolve, 400))
        return keeper.harvest(epoch, older)
      },
    }
    await rebuildGate({ ledger: world.ledger, keeper: slow, clock: systemClock, log }, await keeper.view())
    expect(heirs).toHaveLength(1)
    for (const heir of heirs) {
      expect(await heir.funds.find(account, hold.rid)).toMatchObject({ state: 'captured', used: 70n })
    }
  })

  it("is replaced by the call's last progress, which is never more, once Redis has lost it, too", async () => {
    const journalDir = `${world.folder}/journal`
    const dying = await world.node('dying', { journalDir })
    await untilOpen(dying)
    const { account, hold } = await captureInRedisAlone(dying)
    await markDead(journalDir, dying)
    await retireNodes(world.db, [dying.journal.member])
    await world.redis.flushall()
    const heir = await world.node('heir', { journalDir })
    await untilOpen(heir)
    expect(await heir.funds.find(account, hold.rid)).toMatchObject({ state: 'captured', used: 30n })
    await world.gate.seed([{ account, balanceMicro: microUsd(1_000), version: 1n }])
    expect(await figures(world.gate, account)).toMatchObject({ h: 0, u: 30 })
  })
})
