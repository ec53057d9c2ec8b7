import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { retireNodes } from '#control-plane/db/money-epoch.ts'
import { postBatch } from '#control-plane/services/booking/ingest.ts'
import { sweepHolds } from '#control-plane/services/booking/sweep.ts'
import { rebuildGate } from '#control-plane/services/gate/gate-rebuild.ts'
import { DAY, systemClock } from '#shared/clock.ts'
import { moneyScripts } from '#shared/contract/money-scripts.ts'
import { moneyKeys } from '#shared/contract/redis-keys.ts'
import { microUsd } from '#shared/money.ts'
import type { GateWorld, Node } from '#test/support/books/gate.ts'
import { ids, log, markDead, reserveRequest, startGateWorld, untilOpen } from '#test/support/books/gate.ts'
import { insertCappedOffer, newAccount } from '#test/support/books/ledger.ts'
import { eventText as anyEventText } from '#test/support/books/usage-events.ts'
import { buildOffer } from '#test/support/bytes/build-market.ts'
import { until } from '#test/support/run/until.ts'

const WALLET = `0x${'12'.repeat(20)}`
let world: GateWorld
beforeEach(async () => {
  world = await startGateWorld()
})
afterEach(() => world.stop())

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
      const input = { rid: hold.rid, account, sellerAccount, hold: 300, startedAt: Date.now() }
      const eventOf = (charge: number) => anyEventText({ ...input, charge }, { offer: offer.id, endedAt: Date.now() })
      return { hold, eventOf }
    }
    const serve = async (charge: number, isTakeSettled: boolean) => {
      const { hold, eventOf } = await begin()
      if (isTakeSettled) await caps.settle(offer, `${hold.rid}.0`, microUsd(charge))
      const event = eventOf(charge)
      node.journal.capture(hold, event)
      return { hold, event }
    }
    /** A call with its capture in the gate, and its progress in the journal alone. */
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

  it('counts calls that wallets pay for before their settlement, also after Redis lost its data', async () => {
    const offer = ids.make('ofr')
    await insertCappedOffer(world.db, offer, 1_000)
    const [rid, account] = [ids.ulid(), await newAccount(world.db, 'buyer_credit')]
    const event = anyEventText({ rid, account, sellerAccount: null, charge: 700 }, { rail: 'x402-upto', offer })
    await sql`insert into chain_payment (rid, rail, network, asset, payer, nonce, account, amount, due, charge, event,
        state, payload, requirement, body_digest, valid_until, serve_until)
      values (${rid}, 'x402-upto', 'eip155:8453', ${WALLET}, ${WALLET}, '7', ${account}, 5000, 1000, 700, ${event},
        'due', '{}', '{}', ${'ab'.repeat(32)}, now(), now())`.execute(world.db)
    const uses = await world.ledger.readOfferUses(Date.now(), { rids: [rid], offers: [offer] })
    expect(uses.totals.get(offer)).toBe(700n)
    expect([...uses.posted]).toEqual([rid])
  })

  it('counts calls of a dead process at their captured amounts, once its heir has brought them', async () => {
    const journalDir = `${world.folder}/journal`
    const [living, dying] = [await world.node('living', { journalDir }), await world.node('dying', { journalDir })]
    await Promise.all([untilOpen(living), untilOpen(dying)])
    const { serve, usedBy } = await capped(dying)
    await serve(70, false)
    await serve(20, true)
    expect(await usedBy(living)).toBe(320n)
    await dying.drop()
    await markDead(journalDir, dying)
    await until('all captures are synced', 10_000, async () => (await usedBy(living)) === 90n)
    await until('the captures are handed on', 5_000, () => living.journal.inherited().length === 0)
    expect(await usedBy(living)).toBe(90n)
  })

  it('counts the capture of a call whose journal has progress alone [I18]', async () => {
    const journalDir = `${world.folder}/journal`
    const [living, dying] = [await world.node('living', { journalDir }), await world.node('dying', { journalDir })]
    await Promise.all([untilOpen(living), untilOpen(dying)])
    const { serveAhead, usedBy } = await capped(dying)
    await serveAhead(30, 70)
    await dying.drop()
    await markDead(journalDir, dying)
    await until('the event is brought', 10_000, async () => (await usedBy(living)) !== 300n)
    expect(await usedBy(living)).toBe(70n)
  })

  it('has no take of the day before after a rebuild, for a running or an ended call [I18]', async () => {
    let ahead = -DAY
    const node = await world.node('n1', { clock: { ...systemClock, now: () => Date.now() + ahead } })
    await untilOpen(node)
    const caps = capsOf(node)
    const offer = { ...buildOffer({ capDailyMicro: microUsd(1_000) }), id: ids.make('ofr') }
    expect(await caps.take(offer, 'a.1', microUsd(600), 60_000)).toBe(true)
    expect(await caps.take(offer, 'b.1', microUsd(400), 60_000)).toBe(true)

    ahead = 0
    const before = await world.redis.get(moneyKeys.epoch)
    await world.redis.flushall()
    await caps.settle(offer, 'b.1', microUsd(300))
    await until('a newer epoch is open', 12_000, async () => {
      const epoch = await world.redis.get(moneyKeys.epoch)
      return epoch !== before && epoch?.includes(':open') === true
    })
    await untilOpen(node)
    expect(await caps.usedToday([offer.id])).toEqual(new Map([[offer.id, 0n]]))
    await caps.settle(offer, 'a.1', microUsd(500))
    expect(await caps.take(offer, 'c.1', microUsd(1_000), 60_000)).toBe(true)
    expect(await caps.usedToday([offer.id])).toEqual(new Map([[offer.id, 1_000n]]))
  })

  it('allows nothing on a server that was emptied and still has the script [I18]', async () => {
    const node = await world.node('n1')
    await untilOpen(node)
    await world.stopRebuilder()
    await world.redis.flushall()
    const offer = { ...buildOffer({ capDailyMicro: microUsd(1_000) }), id: ids.make('ofr') }
    expect(await capsOf(node).take(offer, `${ids.requestId()}.0`, microUsd(300), 60_000)).toBe(false)
    expect(node.funds.isOpen()).toBe(false)
  })

  it('counts a late capture once after a rebuild without it, however often it is brought', async () => {
    const journalDir = `${world.folder}/journal`
    const dying = await world.node('dying', { journalDir })
    await untilOpen(dying)
    const { serve, usedBy } = await capped(dying)
    await serve(70, false)
    await serve(20, true)
    await dying.drop()
    await markDead(journalDir, dying)
    // The rebuild does not wait for a node without a recorded membership.
    await world.stopRebuilder()
    await retireNodes(world.db, [dying.journal.member])
    await world.redis.flushall()
    world.startRebuilder()
    for (const name of ['first heir', 'second heir']) {
      const heir = await world.node(name, { journalDir })
      await untilOpen(heir)
      await until('all captures are brought', 10_000, async () => (await usedBy(heir)) === 90n)
      await until('the captures are handed on', 10_000, () => heir.journal.inherited().length === 0)
      expect(await usedBy(heir)).toBe(90n)
      await heir.drop()
      await markDead(journalDir, heir)
    }
  })

  it('counts the captures that an heir brings during a rebuild', async () => {
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
        await until('the event is in the gate', 10_000, async () =>
          (await keeper.ready(epoch)).has(heir.journal.member),
        )
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
          await until('the event is in the gate', 10_000, async () =>
            (await keeper.ready(epoch)).has(dying.journal.member),
          )
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
      await until(
        'the call is captured',
        10_000,
        async () => (await heir.funds.find(account, rid))?.state === 'captured',
      )
      await until('the captures are handed on', 10_000, () => heir.journal.inherited().length === 0)
      expect(await usedBy(heir)).toBe(70n)
    })
  }

  it('counts a call of a process that dies before it has brought its take into an epoch [I18]', async () => {
    const journalDir = `${world.folder}/journal`
    const dying = await world.node('dying', { journalDir })
    await untilOpen(dying)
    const { running, usedBy } = await capped(dying)
    const { end } = await running(70)
    await world.stopRebuilder()
    await world.redis.flushall()
    const { connection } = dying.funds.gate
    const { run } = connection
    const view = await world.keeper.view()
    const next = (await world.ledger.readEpoch()).epoch + 1
    const isTake = (sha: string) => sha === moneyScripts(next).capTake.sha
    let failed = 0
    const failing: typeof run = (script, batch) => {
      if (!isTake(script.sha)) return run(script, batch)
      failed += 1
      return Promise.reject(new Error('the connection broke'))
    }
    Object.assign(connection, { run: failing })
    const { keeper } = world
    const dies = {
      ...keeper,
      async startRegistering(epoch: number) {
        await keeper.startRegistering(epoch)
        await until('the process has tried', 5_000, () => failed > 0)
        await end(false)
        await dying.drop()
        await markDead(journalDir, dying)
        await retireNodes(world.db, [dying.journal.member])
      },
    }
    await rebuildGate({ ledger: world.ledger, keeper: dies, clock: systemClock, log }, view)
    world.startRebuilder()
    const heir = await world.node('heir', { journalDir })
    await untilOpen(heir)
    await until('the captures are handed on', 10_000, () => heir.journal.inherited().length === 0)
    expect(await usedBy(heir)).toBe(70n)
  })

  it('counts a call of the ledger once after its acknowledgement', async () => {
    const journalDir = `${world.folder}/journal`
    const dying = await world.node('dying', { journalDir })
    await untilOpen(dying)
    const { serve, usedBy } = await capped(dying)
    const { hold, event } = await serve(70, true)
    const ports = { ledger: world.ledger, gate: world.gate, clock: systemClock, ids, log }
    // The event is posted and never acknowledged, so its journal still has it.
    const away = { ...world.gate, ack: () => Promise.reject(new Error('the gate is away')) }
    await expect(postBatch({ ...ports, gate: away }, { events: [event], source: 'test' })).rejects.toThrow('away')
    await dying.funds.capture(hold, microUsd(70), event)
    await dying.drop()
    await markDead(journalDir, dying)
    await retireNodes(world.db, [dying.journal.member])
    await world.redis.flushall()
    // The rebuild counts the call from the ledger. Its heir comes later and does not know.
    await until('the gate is open again', 10_000, () => world.gate.isOpen())
    const heir = await world.node('heir', { journalDir })
    await untilOpen(heir)
    await until('the captures are handed on', 10_000, () => heir.journal.inherited().length === 0)
    expect(await usedBy(heir)).toBe(140n)
    await sweepHolds(ports, 0)
    expect(await usedBy(heir)).toBe(70n)
  })
})
