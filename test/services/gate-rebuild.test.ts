import { readdir, readFile, writeFile } from 'node:fs/promises'
import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { raiseMoneyEpoch } from '#control-plane/db/money-epoch.ts'
import { postBatch } from '#control-plane/services/booking/ingest.ts'
import type { CreditHold } from '#data-plane/payment.ts'
import { systemClock } from '#shared/clock.ts'
import { moneyScripts } from '#shared/contract/money-scripts.ts'
import { moneyKeys } from '#shared/contract/redis-keys.ts'
import { jobEndId } from '#shared/contract/usage-event.ts'
import { AppError } from '#shared/errors.ts'
import { microUsd, ZERO } from '#shared/money.ts'
import type { GateRebuild, GateWorld, Node } from '#test/support/books/gate.ts'
import { eventText, figures, ids, log, reserveRequest, startGateWorld, untilOpen } from '#test/support/books/gate.ts'
import { insertCappedOffer, newAccount } from '#test/support/books/ledger.ts'
import { eventText as anyEventText } from '#test/support/books/usage-events.ts'
import { buildOffer } from '#test/support/bytes/build-market.ts'
import { until } from '#test/support/run/until.ts'

const NOTICED_MS = 7_000
const REBUILT_MS = 12_000

let world: GateWorld

beforeEach(async () => {
  world = await startGateWorld()
})
afterEach(() => world.stop())

const epochText = () => world.redis.get(moneyKeys.epoch)
const epochNow = async () => Number((await epochText())?.split(':')[0])

/** Captures as settle-call does: the journal first, then the gate. */
async function capture(node: Node, hold: CreditHold, used: number) {
  const event = eventText(hold, used, node.id)
  node.journal.capture(hold, event)
  return node.funds.capture(hold, microUsd(used), event)
}

/** Waits until an epoch after the given one is open. Returns the members that its rebuild awaited in vain. */
async function untilRebuilt(before: number): Promise<readonly string[] | undefined> {
  let rebuild: GateRebuild | undefined
  await until('a newer epoch is open', REBUILT_MS, async () => {
    const [epoch, phase] = ((await epochText()) ?? '0:').split(':')
    rebuild = world.rebuilds.find((each) => each.epoch === Number(epoch))
    return Number(epoch) > before && phase === 'open' && rebuild !== undefined
  })
  return rebuild?.missing
}

describe('a gate that lost its data', () => {
  it('opens on an empty Redis once the node is on record', async () => {
    const node = await world.node('n1')
    await untilOpen(node)
    expect(await epochText()).toBe(`${await epochNow()}:open`)
    expect(await world.db.selectFrom('node').select('id').execute()).toEqual([{ id: node.journal.member }])
  })

  it('has the right balances after FLUSHALL, with running calls and unposted captures', async () => {
    const node = await world.node('n1')
    await untilOpen(node)
    const account = await world.account(1_000)
    const keyId = ids.make('key')
    const running = await node.funds.reserve(reserveRequest(account, { want: 300, keyId }))
    const captured = await node.funds.reserve(reserveRequest(account, { want: 200, keyId }))
    await capture(node, captured, 150)
    const released = await node.funds.reserve(reserveRequest(account, { want: 100 }))
    await node.funds.release(released, 'x', '')
    const before = await epochNow()

    await world.redis.flushall()
    await untilRebuilt(before)
    await untilOpen(node)
    expect(await figures(world.gate, account)).toEqual({ p: 1_000, h: 300, u: 150, free: 550 })
    expect(await node.funds.find(account, running.rid)).toMatchObject({ state: 'open', amount: 300n })
    expect(await node.funds.find(account, captured.rid)).toMatchObject({ state: 'captured', used: 150n })
    expect(await world.redis.hget(moneyKeys.keyUse('m00', keyId), 'du')).toBe('450')

    expect(await capture(node, running, 250)).toBe('accepted')
    expect(await figures(world.gate, account)).toEqual({ p: 1_000, h: 0, u: 400, free: 600 })
    const events = await world.gate.unposted(-1_000, 10)
    expect(new Set(events.map((event) => JSON.parse(event).rid))).toEqual(new Set([captured.rid, running.rid]))
  })

  it('grants nothing from the moment it is emptied, although it still has the script', async () => {
    const node = await world.node('n1')
    await untilOpen(node)
    const account = await world.account(1_000)
    await node.funds.reserve(reserveRequest(account, { want: 900 }))
    const before = await epochNow()
    await world.stopRebuilder()
    await world.redis.flushall()
    await world.redis.set(moneyKeys.epoch, `${before}:open`)
    await world.gate.seed([{ account, balanceMicro: microUsd(1_000), version: 1n }])
    const refused = await node.funds.reserve(reserveRequest(account, { want: 900 })).catch((error: unknown) => error)
    expect(refused).toMatchObject({ code: 'service_unavailable' })
    expect(node.funds.isOpen()).toBe(false)
    world.startRebuilder()
    await untilRebuilt(before)
    await untilOpen(node)
    expect(await figures(world.gate, account)).toEqual({ p: 1_000, h: 900, u: 0, free: 100 })
  })

  it('is open again after a restart, for which no member is missing, and runs the commands that waited', async () => {
    const node = await world.node('n1')
    await untilOpen(node)
    const account = await world.account(1_000)
    const running = await node.funds.reserve(reserveRequest(account, { want: 300 }))
    const before = await epochNow()
    const restarting = world.restartRedis()
    await until('the node has noticed', 2_000, () => !node.funds.isOpen())

    expect(await capture(node, running, 120)).toBe('queued')
    const refused = await node.funds.reserve(reserveRequest(account)).catch((error: unknown) => error)
    expect(refused).toBeInstanceOf(AppError)
    expect(refused).toMatchObject({ code: 'service_unavailable', retryAfterSeconds: 1 })

    await restarting
    expect(await untilRebuilt(before)).toEqual([])
    await untilOpen(node)
    expect(await node.funds.drain(2_000)).toBe(true)
    expect(await figures(world.gate, account)).toEqual({ p: 1_000, h: 0, u: 120, free: 880 })
  })

  it('no script of an older epoch runs after a rebuild', async () => {
    const node = await world.node('n1')
    await untilOpen(node)
    const before = await epochNow()
    await world.redis.set(moneyKeys.doubt, before)
    await untilRebuilt(before)
    const shas = Object.values(moneyScripts(before)).map((script) => script.sha)
    expect(await world.redis.script('EXISTS', ...shas)).toEqual(shas.map(() => 0))
  })

  it('takes over unposted captures of a missing node from Redis', async () => {
    const [gone, here] = [await world.node('gone'), await world.node('here')]
    await Promise.all([untilOpen(gone), untilOpen(here)])
    const account = await world.account(1_000)
    const hold = await gone.funds.reserve(reserveRequest(account, { want: 200 }))
    await capture(gone, hold, 70)
    const left = await gone.funds.reserve(reserveRequest(account, { want: 500 }))
    await gone.drop()
    const before = await epochNow()
    await world.redis.set(moneyKeys.doubt, before)
    // The rebuild waits for the node, with a limit.
    expect(await untilRebuilt(before)).toEqual([gone.journal.member])
    expect(await figures(world.gate, account)).toEqual({ p: 1_000, h: 0, u: 70, free: 930 })
    expect(await world.redis.pttl(moneyKeys.hold('m00', left.rid))).toBeGreaterThan(0)
    expect(await world.redis.exists(moneyKeys.unposted('m00', before), moneyKeys.expiring('m00', before))).toBe(0)
    await untilOpen(here)
  })

  it('does not wait for a node that signed off', async () => {
    const [leaver, here] = [await world.node('leaver'), await world.node('here')]
    await Promise.all([untilOpen(leaver), untilOpen(here)])
    await leaver.funds.leave(1_000)
    await until('the node has no membership', 2_000, async () => {
      const rows = await world.db.selectFrom('node').select('id').where('retired_at', 'is', null).execute()
      return rows.length === 1
    })
    const before = await epochNow()
    await world.redis.set(moneyKeys.doubt, before)
    expect(await untilRebuilt(before)).toEqual([])
  })

  it('continues under the next rebuilder when the first one stops', async () => {
    const node = await world.node('n1')
    await untilOpen(node)
    await world.stopRebuilder()
    const before = await epochNow()
    await world.redis.flushall()
    await until('the node has noticed', NOTICED_MS, () => !node.funds.isOpen())
    world.startRebuilder()
    await untilRebuilt(before)
    await untilOpen(node)
  })
})

describe('a rebuild', () => {
  it('under load charges every capture once and loses no hold, through a FLUSHALL and a restart', async () => {
    const [one, two] = [await world.node('one'), await world.node('two')]
    await Promise.all([untilOpen(one), untilOpen(two)])
    const accounts = await Promise.all([1, 2, 3].map(() => world.account(1_000_000)))
    const charged = new Map(accounts.map((account) => [account, 0]))
    let refusals = 0
    let captures = 0
    const stopping = new AbortController()

    async function buyer(node: Node, turn: number): Promise<void> {
      for (let call = turn; !stopping.signal.aborted; call++) {
        const account = accounts[call % accounts.length]!
        const hold = await node.funds.reserve(reserveRequest(account, { want: 50 })).catch(() => undefined)
        if (hold === undefined) {
          refusals += 1
          await new Promise((resolve) => setTimeout(resolve, 10))
        } else if (call % 4 === 0) {
          await node.funds.release(hold, 'x', '')
        } else {
          charged.set(account, (charged.get(account) ?? 0) + 7)
          await capture(node, hold, 7)
          captures += 1
        }
      }
    }

    const buyers = Array.from({ length: 20 }, (_, index) => buyer(index % 2 ? one : two, index))
    for (const disturb of [() => world.redis.flushall(), () => world.restartRedis(), () => world.redis.flushall()]) {
      const [before, enough] = [await epochNow(), captures + 500]
      await until('there is traffic', 10_000, () => captures > enough)
      await disturb()
      expect(await untilRebuilt(before)).toEqual([])
      await Promise.all([untilOpen(one), untilOpen(two)])
    }
    stopping.abort()
    await Promise.all(buyers)
    expect(await Promise.all([one, two].map((node) => node.funds.drain(5_000)))).toEqual([true, true])
    expect(refusals).toBeGreaterThan(0)
    for (const account of accounts) {
      const used = charged.get(account) ?? 0
      expect(await figures(world.gate, account)).toEqual({ p: 1_000_000, h: 0, u: used, free: 1_000_000 - used })
    }
  })

  it('that stopped half way is repeated by the next, which reads the remaining captures', async () => {
    const node = await world.node('n1', { journalDir: `${world.folder}/gone` })
    await untilOpen(node)
    const account = await world.account(1_000)
    const hold = await node.funds.reserve(reserveRequest(account, { want: 200 }))
    // Only Redis has this capture. No journal brings it.
    await node.funds.capture(hold, microUsd(80), eventText(hold, 80, 'n1'))
    await node.funds.capture({ ...hold, rid: jobEndId(hold.rid) }, ZERO, '{"end":true}')
    await world.stopRebuilder()
    const before = await epochNow()
    await node.drop()
    await world.db.updateTable('node').set({ retired_at: new Date() }).execute()
    await world.redis.hdel(moneyKeys.nodes, node.journal.member)

    const raised = await raiseMoneyEpoch(world.db, before)
    await world.keeper.raise({ epoch: raised }, { epoch: before, phase: 'open' })
    await world.keeper.load(raised)
    await expect(world.keeper.open(before)).rejects.toMatchObject({ code: 'conflict' })
    await expect(world.keeper.load(before)).rejects.toMatchObject({ code: 'conflict' })
    world.startRebuilder()
    await untilRebuilt(raised)
    await world.gate.seed([{ account, balanceMicro: microUsd(1_000), version: 1n }])
    expect(await figures(world.gate, account)).toEqual({ p: 1_000, h: 0, u: 80, free: 920 })
    expect(new Set(await world.gate.unposted(-1_000, 10))).toEqual(
      new Set([await world.redis.hget(moneyKeys.hold('m00', hold.rid), 'ev'), '{"end":true}']),
    )
  })

  it('continues when the connection with its lock is cut', async () => {
    const node = await world.node('n1')
    await untilOpen(node)
    await sql`select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory' and pid <> pg_backend_pid()
      and database = (select oid from pg_database where datname = current_database())`.execute(world.db)
    const before = await epochNow()
    await world.redis.flushall()
    await untilRebuilt(before)
    await untilOpen(node)
  })
})

describe('caps after a rebuild', () => {
  it("an offer's cap counts takes, used amounts and calls that run across a rebuild", async () => {
    const node = await world.node('n1')
    await untilOpen(node)
    const caps = node.funds.offerCaps
    const offer = { ...buildOffer({ capDailyMicro: microUsd(1_000) }), id: ids.make('ofr') }
    expect(await caps.take(offer, 'a.1', microUsd(600), 60_000)).toBe(true)
    expect(await caps.take(offer, 'b.1', microUsd(600), 60_000)).toBe(false)
    await caps.settle(offer, 'a.1', microUsd(250))
    expect(await caps.take(offer, 'c.1', microUsd(600), 60_000)).toBe(true)
    expect(await caps.usedToday([offer.id])).toEqual(new Map([[offer.id, 850n]]))

    const before = await epochNow()
    await world.redis.flushall()
    await untilRebuilt(before)
    await untilOpen(node)
    expect(await caps.usedToday([offer.id])).toEqual(new Map([[offer.id, 600n]]))
    await caps.settle(offer, 'c.1', microUsd(0))
    await caps.settle(offer, 'c.1', microUsd(0))
    expect(await caps.usedToday([offer.id])).toEqual(new Map([[offer.id, 0n]]))
  })

  it("an offer's cap counts unposted captures and posted charges, each once", async () => {
    const node = await world.node('n1')
    await untilOpen(node)
    const caps = node.funds.offerCaps
    const offer = { ...buildOffer({ capDailyMicro: microUsd(1_000) }), id: ids.make('ofr') }
    await insertCappedOffer(world.db, offer.id, 1_000)
    const account = await world.account(1_000)
    const sellerAccount = await newAccount(world.db, 'seller_available')
    const serve = async (charge: number) => {
      const hold = await node.funds.reserve(reserveRequest(account, { want: charge }))
      const attempt = `${hold.rid}.0`
      expect(await caps.take(offer, attempt, microUsd(charge), 60_000)).toBe(true)
      const input = { rid: hold.rid, account, sellerAccount, charge, hold: charge, startedAt: Date.now() }
      const event = anyEventText(input, { offer: offer.id })
      const settle = async () => {
        node.journal.capture(hold, event)
        await node.funds.capture(hold, microUsd(charge), event)
      }
      return { attempt, settle, event }
    }
    const posted = await serve(10)
    await caps.settle(offer, posted.attempt, microUsd(10))
    await posted.settle()
    const ports = { ledger: world.ledger, gate: world.gate, clock: systemClock, ids, log }
    expect(await postBatch(ports, { events: [posted.event], source: 'test' })).toMatchObject({ posted: 1 })
    const captured = await serve(200)
    await caps.settle(offer, captured.attempt, microUsd(200))
    await captured.settle()
    const ending = await serve(30)

    const before = await epochNow()
    await world.redis.flushall()
    await until('the node has noticed', 2_000, () => !node.funds.isOpen())
    // This call ends while the gate is shut. Its cap is updated at the opening, or the rebuild has counted it.
    await caps.settle(offer, ending.attempt, microUsd(20))
    await ending.settle()
    await untilRebuilt(before)
    await untilOpen(node)
    expect(await caps.usedToday([offer.id])).toEqual(new Map([[offer.id, 230n]]))
  })

  it('takes of a dead process are dropped when their place is needed', async () => {
    const node = await world.node('n1')
    await untilOpen(node)
    const caps = node.funds.offerCaps
    const offer = { ...buildOffer({ capDailyMicro: microUsd(1_000) }), id: ids.make('ofr') }
    expect(await caps.take(offer, 'a.1', microUsd(1_000), 0)).toBe(true)
    await until('the take is past its deadline', 1_000, () => caps.take(offer, 'b.1', microUsd(1_000), 60_000))
    expect(await caps.usedToday([offer.id])).toEqual(new Map([[offer.id, 1_000n]]))
  })
})

describe('a node that was killed', () => {
  it('is followed by a node that captures running calls at their last progress, and unposted captures as they were', async () => {
    const first = await world.node('first', { journalDir: `${world.folder}/journal` })
    await untilOpen(first)
    const account = await world.account(1_000)
    const captured = await first.funds.reserve(reserveRequest(account, { want: 200 }))
    await capture(first, captured, 90)
    const running = await first.funds.reserve(reserveRequest(account, { want: 300 }))
    for (const charge of [10, 60]) {
      const event = eventText(running, charge, 'first')
      const progress = { hold: running, offer: null, outputTokens: charge, chargeMicro: microUsd(charge), event }
      first.journal.progress(progress)
    }
    const untouched = await first.funds.reserve(reserveRequest(account, { want: 50 }))
    await first.journal.sync()
    await first.drop()
    await markDead(`${world.folder}/journal`)

    const second = await world.node('second', { journalDir: `${world.folder}/journal` })
    await untilOpen(second)
    await until('the other holds are released', NOTICED_MS, async () => (await figures(world.gate, account))?.h === 0)
    expect(await figures(world.gate, account)).toEqual({ p: 1_000, h: 0, u: 150, free: 850 })
    expect(await second.funds.find(account, running.rid)).toMatchObject({ state: 'captured', used: 60n })
    expect(await second.funds.find(account, untouched.rid)).toMatchObject({ state: 'released' })
    await until('the dead node has no membership', NOTICED_MS, async () => {
      const rows = await world.db.selectFrom('node').select('id').where('retired_at', 'is', null).execute()
      return rows.length === 1 && rows[0]?.id === second.journal.member
    })
  })

  it('moves the posted cursor past acknowledged captures, and brings none of them again', async () => {
    const first = await world.node('first', { journalDir: `${world.folder}/journal` })
    await untilOpen(first)
    const account = await world.account(1_000)
    const holds = await Promise.all([1, 2, 3].map(() => first.funds.reserve(reserveRequest(account, { want: 100 }))))
    await Promise.all(holds.map((hold) => capture(first, hold, 10)))
    const [one, two] = holds
    for (const [index, hold] of [one, two].entries()) {
      if (hold === undefined) continue
      const change = { account, balanceMicro: microUsd(990 - index * 10), version: BigInt(2 + index), rid: hold.rid }
      await world.gate.ack([change])
    }
    await until('the cursor has moved', 4_000, () => first.journal.unpostedCount() === 1)
    await first.drop()
    await markDead(`${world.folder}/journal`)
    const second = await world.node('second', { journalDir: `${world.folder}/journal` })
    expect(second.journal.unpostedCount()).toBe(1)
    await untilOpen(second)
    expect(await figures(world.gate, account)).toEqual({ p: 980, h: 0, u: 10, free: 970 })
  })
})

/** Turns the locks of a journal into those of a dead process: its own pid, with another start time. */
async function markDead(root: string): Promise<void> {
  for (const boot of await readdir(root)) {
    const path = `${root}/${boot}/lock.json`
    const text = await readFile(path, 'utf8').catch(() => undefined)
    if (text !== undefined) await writeFile(path, JSON.stringify({ ...JSON.parse(text), startTicks: '1' }))
  }
}
