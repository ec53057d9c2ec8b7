import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { transact } from '#control-plane/db/database.ts'
import type { DatabaseIdentity } from '#control-plane/db/money-epoch.ts'
import { retireNodes } from '#control-plane/db/money-epoch.ts'
import type { RunCtx } from '#control-plane/operation/operation.ts'
import { postBatch } from '#control-plane/services/booking/ingest.ts'
import { sweepHolds } from '#control-plane/services/booking/sweep.ts'
import { rebuildGate } from '#control-plane/services/gate/gate-rebuild.ts'
import { answerSeedRequests } from '#control-plane/services/gate/gate-watch.ts'
import { askForRepost, watchVersions } from '#control-plane/services/gate/ledger-restores.ts'
import { HOUR, MINUTE, SECOND, systemClock } from '#shared/clock.ts'
import { parseMoneyEpoch } from '#shared/contract/money-scripts.ts'
import { moneyKeys } from '#shared/contract/redis-keys.ts'
import type { AccountId } from '#shared/ids.ts'
import { microUsd } from '#shared/money.ts'
import type { GateWorld, Node } from '#test/support/books/gate.ts'
import { figures, ids, log, markDead, reserveRequest, startGateWorld, untilOpen } from '#test/support/books/gate.ts'
import { newAccount } from '#test/support/books/ledger.ts'
import { eventText } from '#test/support/books/usage-events.ts'
import { until } from '#test/support/run/until.ts'

let world: GateWorld
let sellerAccount: AccountId
beforeEach(async () => {
  world = await startGateWorld({ watchesVersions: true })
  sellerAccount = await newAccount(world.db, 'seller_available')
})
afterEach(() => world.stop())

const parts = () => ({ ledger: world.ledger, gate: world.gate, clock: systemClock, ids, log })

/** Makes a call that is charged, posted and acknowledged, with the product's own code. */
async function serve(node: Node, account: AccountId, charge: number): Promise<string> {
  const hold = await node.funds.reserve(reserveRequest(account, { want: 100 }))
  const input = { rid: hold.rid, account, sellerAccount, charge, hold: 100, startedAt: Date.now() }
  const event = eventText(input, { endedAt: Date.now() })
  node.journal.capture(hold, event)
  await node.funds.capture(hold, microUsd(charge), event)
  expect(await postBatch(parts(), { events: [event], source: 'test' })).toMatchObject({ posted: 1 })
  return hold.rid
}

/**
 * A buyer whom the gate knows. A backup cuts every connection of the ledger, and a call waits at most a quarter of a
 * second for the ledger to send the gate an account.
 */
async function buyer(): Promise<AccountId> {
  const account = await world.account(1_000)
  await world.gate.seed([{ account, balanceMicro: microUsd(1_000), version: 1n }])
  return account
}

async function settled(rid: string): Promise<boolean> {
  return (await world.ledger.findSettled([rid])).has(rid)
}

const epoch = async () => parseMoneyEpoch(await world.redis.get(moneyKeys.epoch))

/** Waits for the epoch in which the captures are registered again, and books them. */
async function untilBookedAgain(node: Node, before: number): Promise<void> {
  await until('a newer epoch is open', 20_000, async () => {
    const now = await epoch()
    return now !== undefined && now.epoch > before && now.phase === 'open' && now.restore !== undefined
  })
  await untilOpen(node)
  await sweepHolds(parts(), 0)
}

/** Waits for a beat that is later than all events before this call. A copy that is made now shows the beat's time. */
async function untilBeat(): Promise<void> {
  const { beat } = await world.ledger.readEpoch()
  await until('two beats', 10_000, async () => Number(await world.redis.get(moneyKeys.beat)) >= beat + 2)
}

describe('a ledger that is restored from a backup', () => {
  it('is noticed by its beat, and later postings are booked again from the journal', async () => {
    const node = await world.node('n1')
    await untilOpen(node)
    const account = await buyer()
    const kept = await serve(node, account, 10)
    await untilBeat()
    const restore = await world.backUpLedger()
    const lost = await serve(node, account, 20)
    await until('the journal has moved on', 10_000, () => node.journal.unpostedCount() === 0)
    await untilBeat()
    const before = (await epoch())?.epoch ?? 0
    const copiedAt = Date.now()
    await restore()
    expect(await settled(lost)).toBe(false)
    await untilBookedAgain(node, before)
    // Clocks differ, so the nodes go a minute further back than the copy.
    expect((await epoch())?.restore?.to).toBeLessThan(copiedAt - MINUTE)
    expect([await settled(kept), await settled(lost)]).toEqual([true, true])
    expect(await figures(world.gate, account)).toEqual({ p: 970, h: 0, u: 0, free: 970 })
    expect(await world.ledger.findBalances([account])).toMatchObject([{ balance: 970n }])
  })

  it('gets all lost bookings again each time that the same backup is restored', async () => {
    const node = await world.node('n1')
    await untilOpen(node)
    const account = await buyer()
    await untilBeat()
    const restore = await world.backUpLedger()
    const lost: string[] = []
    for (const charge of [20, 30]) {
      lost.push(await serve(node, account, charge))
      await until('the journal has moved on', 10_000, () => node.journal.unpostedCount() === 0)
      await untilBeat()
      const before = (await epoch())?.epoch ?? 0
      await restore()
      await untilBookedAgain(node, before)
      for (const rid of lost) expect(await settled(rid)).toBe(true)
    }
    expect(await figures(world.gate, account)).toEqual({ p: 950, h: 0, u: 0, free: 950 })
  })

  it('is noticed by the version of an account where no beat shows it', async () => {
    const node = await world.node('n1')
    await untilOpen(node)
    const account = await buyer()
    const restore = await world.backUpLedger()
    const lost = [await serve(node, account, 20), await serve(node, account, 30)]
    await world.stopRebuilder()
    const before = (await epoch())?.epoch ?? 0
    await restore()
    await world.redis.del(moneyKeys.beat)
    world.startRebuilder()
    const next = await serve(node, account, 5)
    await untilBookedAgain(node, before)
    for (const rid of [...lost, next]) expect(await settled(rid)).toBe(true)
    expect(await figures(world.gate, account)).toEqual({ p: 945, h: 0, u: 0, free: 945 })
  })

  it('refuses no call of an account that the gate has to load while a connection breaks', async () => {
    const node = await world.node('n1')
    await untilOpen(node)
    await world.stopRebuilder()
    let breaks = 2
    const ledger: GateWorld['ledger'] = {
      ...world.ledger,
      findBalances(accounts) {
        breaks -= 1
        const broken = Object.assign(new Error('terminating connection due to administrator command'), {
          code: '57P01',
        })
        return breaks < 0 ? world.ledger.findBalances(accounts) : Promise.reject(broken)
      },
    }
    const stopping = new AbortController()
    const answering = answerSeedRequests({ ...world, ...parts(), ledger }, stopping.signal)
    const account = await world.account(1_000)
    expect((await node.funds.reserve(reserveRequest(account, { want: 100 }))).grantedMicro).toBe(100n)
    stopping.abort()
    await answering
  })

  it.each([
    ['timeline', (here: DatabaseIdentity) => ({ ...here, timeline: here.timeline + 1 })],
    ['cluster', (here: DatabaseIdentity) => ({ ...here, systemId: `${here.systemId}1` })],
  ])('is noticed where a %s answers that differs from the recorded one', async (_what, other) => {
    const node = await world.node('n1')
    await untilOpen(node)
    const account = await buyer()
    await until('the database is on record', 5_000, async () => (await world.ledger.readIdentity()).known !== undefined)
    const { here } = await world.ledger.readIdentity()
    const restore = await world.backUpLedger()
    const lost = await serve(node, account, 20)
    await world.stopRebuilder()
    const before = (await epoch())?.epoch ?? 0
    await restore()
    await world.redis.del(moneyKeys.beat)
    // A backup of a cluster that went on elsewhere has the same effect.
    await world.ledger.noteIdentity(other(here))
    world.startRebuilder()
    await untilBookedAgain(node, before)
    expect(await settled(lost)).toBe(true)
    expect((await epoch())?.restore?.to).toBeLessThan(Date.now() - MINUTE)
    expect((await world.ledger.readIdentity()).known).toEqual(here)
  })

  it('is rebuilt once where another database answers with a lower beat', async () => {
    const node = await world.node('n1')
    await untilOpen(node)
    await until('the database is on record', 5_000, async () => (await world.ledger.readIdentity()).known !== undefined)
    const { here } = await world.ledger.readIdentity()
    await world.stopRebuilder()
    const before = (await epoch())?.epoch ?? 0
    const inGate = (await world.ledger.readEpoch()).beat + 1_000
    await world.redis.set(moneyKeys.beat, inGate)
    await world.ledger.noteIdentity({ ...here, timeline: here.timeline + 1 })
    world.startRebuilder()
    await untilBookedAgain(node, before)
    // A beat is published only once no restore is left to notice.
    await until(
      'a beat after those of the gate',
      20_000,
      async () => Number(await world.redis.get(moneyKeys.beat)) > inGate,
    )
    expect((await epoch())?.epoch).toBe(before + 1)
  })

  it('is noticed when a balance is sent alone, and not when an older balance arrives late', async () => {
    const account = await world.account(1_000)
    const told = (version: bigint) => world.gate.seed([{ account, balanceMicro: microUsd(1_000), version }])
    let looks = 0
    const ledger: GateWorld['ledger'] = {
      ...world.ledger,
      findBalances(accounts) {
        looks += 1
        return world.ledger.findBalances(accounts)
      },
    }
    const known = () =>
      told(1n).then(
        () => true,
        () => false,
      )
    await until('the gate has an epoch', 10_000, known)
    await world.stopRebuilder()
    const note = watchVersions(() => ({ ...parts(), ledger }))
    // A check begins when the previous one is over.
    await until('a check is over', 2_000, () => {
      note([account])
      return looks > 1
    })
    expect((await world.ledger.readEpoch()).restore).toBeUndefined()
    await told(2n)
    await told(1n)
    await until('the restore is noticed', 2_000, async () => (await world.ledger.readEpoch()).isRestoreNew)
  })

  it('is not noticed again by older balances while the gate is rebuilt for it', async () => {
    const account = await world.account(1_000)
    const told = () => world.gate.seed([{ account, balanceMicro: microUsd(1_000), version: 2n }])
    await until('the gate has an epoch', 10_000, () =>
      told().then(
        () => true,
        () => false,
      ),
    )
    await world.stopRebuilder()
    let looks = 0
    const ledger: GateWorld['ledger'] = {
      ...world.ledger,
      readEpoch() {
        looks += 1
        return world.ledger.readEpoch()
      },
    }
    await world.ledger.markRestored(Date.now() - MINUTE)
    const { epoch: before, restore } = await world.ledger.readEpoch()
    await world.ledger.raiseEpoch(before)
    const note = watchVersions(() => ({ ...parts(), ledger }))
    await until('a check is over', 2_000, () => {
      note([account])
      return looks > 1
    })
    expect((await world.ledger.readEpoch()).restore).toEqual(restore)
    await world.ledger.markHarvested(before)
    await until('the next restore is noticed', 2_000, async () => {
      note([account])
      return (await world.ledger.readEpoch()).isRestoreNew
    })
  })

  it('is recorded with the earliest time, above every beat and document version that was published', async () => {
    await world.stopRebuilder()
    const versions = () => sql<{ at: bigint }>`select last_value as at from snapshot_version`.execute(world.db)
    const [before, now] = [(await versions()).rows[0]?.at, Date.now()]
    await world.ledger.markRestored(now - HOUR, 5_000)
    const first = await world.ledger.readEpoch()
    expect(first).toMatchObject({ beat: 5_001, restore: { to: now - HOUR }, isRestoreNew: true })
    await world.ledger.markRestored(now - MINUTE)
    const second = await world.ledger.readEpoch()
    expect(second).toMatchObject({ beat: 5_002, restore: { to: now - HOUR } })
    expect(second.restore?.at).toBeGreaterThan(first.restore?.at ?? 0)
    expect(Number((await versions()).rows[0]?.at) - Number(before)).toBeGreaterThan(1_000_000_000)
  })

  it('gives its nodes two minutes to read their journals; a rebuild without a restore gives ten seconds', async () => {
    await world.stopRebuilder()
    await world.ledger.insertNewNodes(['silent'])
    let at = 0
    const sleep = async () => {
      at += SECOND
    }
    const clock = { ...systemClock, monotonic: () => at, sleep }
    const timed = async () => {
      const began = at
      await rebuildGate({ ledger: world.ledger, keeper: world.keeper, clock, log }, await world.keeper.view())
      return at - began
    }
    expect(await timed()).toBe(10 * SECOND)
    await world.ledger.markRestored(Date.now() - HOUR)
    expect(await timed()).toBe(120 * SECOND)
  })

  it('lets no account spend money that its restored balance lacks', async () => {
    const node = await world.node('n1')
    await untilOpen(node)
    const account = await world.account(0)
    await untilBeat()
    const restore = await world.backUpLedger()
    await world.db.updateTable('account').set({ balance: 500n, version: 2n }).where('id', '=', account).execute()
    await world.gate.seed([{ account, balanceMicro: microUsd(500), version: 2n }])
    expect((await node.funds.reserve(reserveRequest(account, { want: 100 }))).grantedMicro).toBe(100n)
    await untilBeat()
    const before = (await epoch())?.epoch ?? 0
    await restore()
    await untilBookedAgain(node, before)
    await world.gate.seed([{ account, balanceMicro: microUsd(0), version: 1n }])
    await expect(node.funds.reserve(reserveRequest(account, { want: 100 }))).rejects.toMatchObject({
      code: 'insufficient_balance',
    })
  })

  it('gets the bookings of a dead process from the process that took over its journal', async () => {
    const journalDir = `${world.folder}/journal`
    const dying = await world.node('dying', { journalDir })
    await untilOpen(dying)
    const account = await buyer()
    await untilBeat()
    const restore = await world.backUpLedger()
    const lost = await serve(dying, account, 20)
    await until('the journal has moved on', 10_000, () => dying.journal.unpostedCount() === 0)
    await untilBeat()
    await dying.drop()
    await markDead(journalDir, dying)
    await retireNodes(world.db, [dying.journal.member])
    const before = (await epoch())?.epoch ?? 0
    const heir = await world.node('heir', { journalDir })
    await untilOpen(heir)
    expect(heir.journal.unpostedCount()).toBe(0)
    await restore()
    await untilBookedAgain(heir, before)
    expect(await settled(lost)).toBe(true)
    // A later heir finds every event booked.
    await until('the journal has moved on', 10_000, () => heir.journal.unpostedCount() === 0)
    await heir.drop()
    await markDead(journalDir, heir)
    const later = await world.node('later', { journalDir })
    await untilOpen(later)
    expect(later.journal.unpostedCount()).toBe(0)
  })

  it('is repaired by hand when no process noticed it', async () => {
    const node = await world.node('n1')
    await untilOpen(node)
    const account = await buyer()
    const restore = await world.backUpLedger()
    const lost = await serve(node, account, 20)
    await until('the journal has moved on', 10_000, () => node.journal.unpostedCount() === 0)
    await world.stopRebuilder()
    const before = (await epoch())?.epoch ?? 0
    await restore()
    await world.redis.del(moneyKeys.beat)
    world.startRebuilder()
    const change: RunCtx['change'] = (run) => transact(world.db, run)
    const ctx = { ...parts(), change }
    const since = (ago: number) => new Date(Date.now() - ago)
    for (const ago of [-MINUTE, 49 * HOUR]) {
      await expect(askForRepost(ctx, since(ago), 'a test')).rejects.toMatchObject({ code: 'invalid_request' })
    }
    await askForRepost(ctx, since(MINUTE), 'a test')
    await untilBookedAgain(node, before)
    expect(await settled(lost)).toBe(true)
  })
})
