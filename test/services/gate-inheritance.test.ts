import { readdir, readFile, writeFile } from 'node:fs/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { retireNodes } from '#control-plane/db/money-epoch.ts'
import { rebuildGate } from '#control-plane/services/money/gate-rebuild.ts'
import { postBatch } from '#control-plane/services/money/ingest.ts'
import { sweepHolds } from '#control-plane/services/money/sweep.ts'
import type { CreditHold } from '#data-plane/payment.ts'
import { systemClock } from '#shared/clock.ts'
import { OWNER_DIED } from '#shared/contract/hold.ts'
import type { AccountId } from '#shared/ids.ts'
import { microUsd } from '#shared/money.ts'
import { buildOffer } from '#test/support/build-market.ts'
import type { GateWorld, Node } from '#test/support/gate.ts'
import { eventText, figures, ids, log, reserveRequest, startGateWorld, untilOpen } from '#test/support/gate.ts'
import { insertCappedOffer, newAccount } from '#test/support/ledger.ts'
import { until } from '#test/support/until.ts'
import { eventText as anyEventText } from '#test/support/usage-events.ts'

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
  it('are brought to the gate by one that lives, which takes it off the record, without any restart', async () => {
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
    // It dies with a capture on the disk that the gate does not have.
    await capture(dying, untold, 80, false)
    await dying.drop()
    expect(await figures(world.gate, account)).toEqual({ p: 1_000, h: 300, u: 70, free: 630 })
    await markDead(journalDir, dying)

    await until('all of it is captured', 10_000, async () => (await figures(world.gate, account))?.u === 180)
    expect(await living.funds.find(account, running.rid)).toMatchObject({ state: 'captured', used: 30n })
    await until('the rest is given back', 5_000, async () => (await figures(world.gate, account))?.h === 0)
    expect(await figures(world.gate, account)).toEqual({ p: 1_000, h: 0, u: 180, free: 820 })
    expect(await living.funds.find(account, idle.rid)).toMatchObject({ state: 'released', reason: OWNER_DIED })
    expect(living.funds.isOpen()).toBe(true)
    await until('the dead one is off the record', 5_000, async () => {
      const rows = await world.db.selectFrom('node').select('id').where('retired_at', 'is', null).execute()
      return rows.length === 1 && rows[0]?.id === living.journal.member
    })
    expect(living.journal.inherited()).toEqual([])
  })
})

describe('the holds of a node that dies', () => {
  const holdOf = (node: Node, account: AccountId) => node.funds.reserve(reserveRequest(account, { want: 100 }))

  it('are given back by its heir, and those of the living are not', async () => {
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
    await until('it is given back', 10_000, async () => (await figures(world.gate, account))?.h === 200)
    expect(await living.funds.find(account, lost.rid)).toMatchObject({ state: 'released' })
    for (const { rid } of [kept, other]) expect(await living.funds.find(account, rid)).toMatchObject({ state: 'open' })
    // A capture that was under way is booked late, as after a deadline.
    expect(await living.funds.capture(lost, microUsd(40), eventText(lost, 40, 'dying'))).toBe('accepted')
    expect(await figures(world.gate, account)).toEqual({ p: 1_000, h: 200, u: 40, free: 760 })
  })

  it('are left to their deadlines where an earlier heir may still have captures of it', async () => {
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
    await until('it is handed on', 10_000, () => heir.journal.inherited().length === 0)
    expect(await figures(world.gate, account)).toMatchObject({ h: 100 })
  })
})

describe('a capture that its journal had no time to write', () => {
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

  it('stands as long as Redis has it, whatever the progress says that an heir brings [I12]', async () => {
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

  it('is charged as of its last progress, which is never more, once Redis has lost it as well', async () => {
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

describe('the daily cap of an offer', () => {
  const capsOf = (node: Node) => node.funds.offerCaps

  /** An offer with calls of a node: takes of 300, and smaller captures in the journal alone. */
  async function capped(node: Node) {
    const caps = capsOf(node)
    const offer = { ...buildOffer({ capDailyMicro: microUsd(1_000) }), id: ids.make('ofr') }
    await insertCappedOffer(world.db, offer.id, 1_000)
    const account = await world.account(10_000)
    const sellerAccount = await newAccount(world.db, 'seller_available')
    const begin = async () => {
      const hold = await node.funds.reserve(reserveRequest(account, { want: 300 }))
      expect(await caps.take(offer, `${hold.rid}.0`, microUsd(300), 60_000)).toBe(true)
      const wish = { rid: hold.rid, account, sellerAccount, hold: 300, startedAt: Date.now() }
      const eventOf = (charge: number) => anyEventText({ ...wish, charge }, { offer: offer.id, endedAt: Date.now() })
      return { hold, eventOf }
    }
    const serve = async (charge: number, isTakeSettled: boolean) => {
      const { hold, eventOf } = await begin()
      if (isTakeSettled) await caps.settle(offer, `${hold.rid}.0`, microUsd(charge))
      const event = eventOf(charge)
      node.journal.capture(hold, event)
      return { hold, event }
    }
    /** A call whose capture is in the gate, and whose progress alone is in the journal. */
    const serveAhead = async (progress: number, charge: number) => {
      const { hold, eventOf } = await begin()
      const event = eventOf(progress)
      node.journal.progress({ hold, offer: offer.id, outputTokens: 1, chargeMicro: microUsd(progress), event })
      expect(await node.funds.capture(hold, microUsd(charge), eventOf(charge))).toBe('accepted')
    }
    /** A running call and its end. The capture is in the journal, and in the gate once its take is settled. */
    const running = async (charge: number) => {
      const { hold, eventOf } = await begin()
      const end = async (isTakeSettled: boolean) => {
        const event = eventOf(charge)
        node.journal.capture(hold, event)
        if (!isTakeSettled) return
        await node.funds.capture(hold, microUsd(charge), event)
        await node.funds.offerCaps.settle(offer, `${hold.rid}.0`, microUsd(charge))
      }
      return { account, rid: hold.rid, end }
    }
    const usedBy = async (asked: Node) => (await capsOf(asked).usedToday([offer.id])).get(offer.id)
    return { serve, serveAhead, running, usedBy }
  }

  it('counts what a dead process took at what it came to, once that is brought', async () => {
    const journalDir = `${world.folder}/journal`
    const [living, dying] = [await world.node('living', { journalDir }), await world.node('dying', { journalDir })]
    await Promise.all([untilOpen(living), untilOpen(dying)])
    const { serve, usedBy } = await capped(dying)
    await serve(70, false)
    await serve(20, true)
    expect(await usedBy(living)).toBe(320n)
    await dying.drop()
    await markDead(journalDir, dying)
    await until('all of it is captured', 10_000, async () => (await usedBy(living)) === 90n)
    await until('it is handed on', 5_000, () => living.journal.inherited().length === 0)
    expect(await usedBy(living)).toBe(90n)
  })

  it('counts what stands of a call of which its journal knows less [I18]', async () => {
    const journalDir = `${world.folder}/journal`
    const [living, dying] = [await world.node('living', { journalDir }), await world.node('dying', { journalDir })]
    await Promise.all([untilOpen(living), untilOpen(dying)])
    const { serveAhead, usedBy } = await capped(dying)
    await serveAhead(30, 70)
    await dying.drop()
    await markDead(journalDir, dying)
    await until('it is brought', 10_000, async () => (await usedBy(living)) !== 300n)
    expect(await usedBy(living)).toBe(70n)
  })

  it('gives nothing on a server that was emptied and still knows the script [I18]', async () => {
    const node = await world.node('n1')
    await untilOpen(node)
    await world.stopRebuilder()
    await world.redis.flushall()
    const offer = { ...buildOffer({ capDailyMicro: microUsd(1_000) }), id: ids.make('ofr') }
    expect(await capsOf(node).take(offer, `${ids.requestId()}.0`, microUsd(300), 60_000)).toBe(false)
    expect(node.funds.isOpen()).toBe(false)
  })

  it('counts once what comes after the gate was rebuilt without it, however often it is brought', async () => {
    const journalDir = `${world.folder}/journal`
    const dying = await world.node('dying', { journalDir })
    await untilOpen(dying)
    const { serve, usedBy } = await capped(dying)
    await serve(70, false)
    await serve(20, true)
    await dying.drop()
    await markDead(journalDir, dying)
    // A node that is off the record is not waited for.
    await world.stopRebuilder()
    await retireNodes(world.db, [dying.journal.member])
    await world.redis.flushall()
    world.startRebuilder()
    for (const name of ['first heir', 'second heir']) {
      const heir = await world.node(name, { journalDir })
      await untilOpen(heir)
      await until('all of it is brought', 10_000, async () => (await usedBy(heir)) === 90n)
      await until('it is handed on', 10_000, () => heir.journal.inherited().length === 0)
      expect(await usedBy(heir)).toBe(90n)
      await heir.drop()
      await markDead(journalDir, heir)
    }
  })

  it('counts what an heir brings in the instant in which a rebuild counts without it', async () => {
    const journalDir = `${world.folder}/journal`
    const dying = await world.node('dying', { journalDir })
    await untilOpen(dying)
    const { serve, usedBy } = await capped(dying)
    await serve(70, true)
    await dying.drop()
    await markDead(journalDir, dying)
    await world.stopRebuilder()
    await retireNodes(world.db, [dying.journal.member])
    await world.redis.flushall()
    const heirs: Node[] = []
    const { keeper } = world
    const slow = {
      ...keeper,
      async unpostedUses(epoch: number) {
        const uses = await keeper.unpostedUses(epoch)
        const heir = await world.node('heir', { journalDir })
        await until('it is in', 10_000, async () => (await keeper.ready(epoch)).has(heir.journal.member))
        heirs.push(heir)
        return uses
      },
    }
    const view = await keeper.view()
    await rebuildGate({ ledger: world.ledger, keeper: slow, clock: systemClock, log }, view)
    for (const heir of heirs) expect(await usedBy(heir)).toBe(70n)
    expect(heirs).toHaveLength(1)
  })

  for (const isTakeSettled of [false, true]) {
    const state = isTakeSettled ? 'has ended' : 'still runs'
    it(`counts a call that ${state} in a process that dies between its registration and the opening [I18]`, async () => {
      const journalDir = `${world.folder}/journal`
      const dying = await world.node('dying', { journalDir })
      await untilOpen(dying)
      const { running, usedBy } = await capped(dying)
      const { account, rid, end } = await running(70)
      await world.stopRebuilder()
      await world.redis.flushall()
      const { keeper } = world
      const dies = {
        ...keeper,
        async unpostedUses(epoch: number) {
          const uses = await keeper.unpostedUses(epoch)
          await until('it is in', 10_000, async () => (await keeper.ready(epoch)).has(dying.journal.member))
          await end(isTakeSettled)
          await dying.drop()
          await markDead(journalDir, dying)
          return uses
        },
      }
      await rebuildGate({ ledger: world.ledger, keeper: dies, clock: systemClock, log }, await keeper.view())
      world.startRebuilder()
      const heir = await world.node('heir', { journalDir })
      await untilOpen(heir)
      await until('it is captured', 10_000, async () => (await heir.funds.find(account, rid))?.state === 'captured')
      await until('it is handed on', 10_000, () => heir.journal.inherited().length === 0)
      expect(await usedBy(heir)).toBe(70n)
    })
  }

  it('has what the ledger had already once only, as soon as that is acknowledged', async () => {
    const journalDir = `${world.folder}/journal`
    const dying = await world.node('dying', { journalDir })
    await untilOpen(dying)
    const { serve, usedBy } = await capped(dying)
    const { hold, event } = await serve(70, true)
    const ports = { ledger: world.ledger, gate: world.gate, clock: systemClock, log }
    // It is posted and never acknowledged, so that its journal does not know.
    const away = { ...world.gate, ack: () => Promise.reject(new Error('the gate is away')) }
    await expect(postBatch({ ...ports, gate: away }, { events: [event], source: 'test' })).rejects.toThrow('away')
    await dying.funds.capture(hold, microUsd(70), event)
    await dying.drop()
    await markDead(journalDir, dying)
    await retireNodes(world.db, [dying.journal.member])
    await world.redis.flushall()
    // The rebuild counts the call from the ledger. Its heir comes later and cannot know that.
    await until('the gate is open again', 10_000, () => world.gate.isOpen())
    const heir = await world.node('heir', { journalDir })
    await untilOpen(heir)
    await until('it is handed on', 10_000, () => heir.journal.inherited().length === 0)
    expect(await usedBy(heir)).toBe(140n)
    await sweepHolds(ports, 0)
    expect(await usedBy(heir)).toBe(70n)
  })
})

/** Turns a lock into that of a dead process: its own pid, with another start time. */
async function markDead(root: string, node: Node): Promise<void> {
  const boot = (await readdir(root)).find((name) => node.journal.member.endsWith(name)) ?? ''
  const path = `${root}/${boot}/lock.json`
  await writeFile(path, JSON.stringify({ ...JSON.parse(await readFile(path, 'utf8')), startTicks: '1' }))
}
