import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { AskedJob } from '#control-plane/ports/provider/job-probe.ts'
import { createJobs } from '#data-plane/store/jobs.ts'
import { moneyBucket, moneyKeys } from '#shared/contract/redis-keys.ts'
import { jobEndId } from '#shared/contract/usage-event.ts'
import type { AccountId } from '#shared/ids.ts'
import type { TestMarket } from '#test/support/control-plane.ts'
import { startMarket } from '#test/support/control-plane.ts'
import { ids } from '#test/support/gate.ts'
import type { JobDesk } from '#test/support/job-desk.ts'
import { openJobDesk, told } from '#test/support/job-desk.ts'
import { endText, submitText } from '#test/support/job-events.ts'
import { balanceOf } from '#test/support/ledger.ts'
import { listOffer } from '#test/support/offers.ts'

const DAY = 24 * 3_600_000
let market: TestMarket
let jobs: JobDesk
let offer: string

beforeAll(async () => {
  market = await startMarket()
  jobs = await openJobDesk(market)
  offer = (await listOffer(market, (await market.person()).seller)).id
})
afterAll(() => market.stop())

const store = () => createJobs(market.world.redis)
/** Makes the job one that is to be asked about now. */
const wait = async (rid: string) => {
  await sql`update job set poll_at = '2000-01-01' where rid = ${rid}`.execute(market.plane.db)
}
const endIn = async (rid: string) => {
  const { rows } = await sql<{ event: string }>`select event from job_end where rid = ${rid}`.execute(market.plane.db)
  return rows[0]?.event
}

describe('the record of a job that Redis lost', () => {
  const lose = (rid: string) => market.world.redis.del(moneyKeys.job(rid))
  const listed = async ({ account }: { readonly account: AccountId }) => {
    const wish = { kind: 'video', after: undefined, limit: 10, isAscending: false }
    return (await store().list(account, wish)).map(({ job }) => job.rid)
  }
  /** A job whose record a worker has just written, from the ledger. */
  const recorded = async () => {
    const wish = { ...(await jobs.job(10_000)), offer, providerJob: `vid-${ids.ulid()}` }
    const now = market.plane.clock.now()
    await jobs.post(submitText({ ...wish, startedAt: now }, now + DAY))
    await wait(wish.rid)
    await jobs.turn(told('running'))
    return wish
  }
  const again = async (wish: Awaited<ReturnType<typeof recorded>>, answer = told('running')) => {
    await wait(wish.rid)
    await jobs.turn(answer)
    return store().find(wish.rid)
  }

  it('comes back with its place in the list, and not before the gate is open', async () => {
    const wish = await recorded()
    expect(await listed(wish)).toEqual([wish.rid])
    await lose(wish.rid)
    await market.world.redis.del(moneyKeys.jobsOf('video', wish.account))
    const epoch = (await market.world.redis.get(moneyKeys.epoch)) ?? ''
    await market.world.redis.set(moneyKeys.epoch, epoch.replace('open', 'register'))
    const asked: AskedJob[] = []
    await wait(wish.rid)
    await jobs.turn(told('running'), { asked })
    await market.world.redis.set(moneyKeys.epoch, epoch)
    expect(asked.map(({ providerJob }) => providerJob)).not.toContain(wish.providerJob)
    expect([await store().find(wish.rid), await listed(wish)]).toEqual([undefined, []])
    expect(await again(wish)).toMatchObject({ job: { rid: wish.rid }, isWithheld: false, isDeleted: false })
    expect(await listed(wish)).toEqual([wish.rid])
  })

  it('stays hidden when its buyer had deleted it, and stopped when its buyer had stopped it', async () => {
    const wish = await recorded()
    const node = store()
    await node.markStopped(wish.rid)
    await node.markDeleted(wish.rid)
    await lose(wish.rid)
    await node.bringMarks()
    expect(await market.world.redis.pttl(moneyKeys.job(wish.rid))).toBeGreaterThan(DAY)
    expect(await again(wish)).toMatchObject({ isDeleted: true, isStopped: true })
    expect(await listed(wish)).toEqual([])
  })

  it('stays hidden while its payment was not taken', async () => {
    const wish = await recorded()
    const [asset, payer] = ['a', 'b'].map((digit) => `0x${digit.repeat(40)}`)
    await sql`insert into chain_payment (rid, rail, network, asset, payer, nonce, account, amount, due, payload,
        requirement, body_digest, valid_until, serve_until, state)
      values (${wish.rid}, 'x402-exact', 'eip155:8453', ${asset}, ${payer}, ${wish.rid}, ${wish.account}, 10000, 10000,
        '{}', '{}', ${'d'.repeat(64)}, now(), now(), 'written_off')`.execute(market.plane.db)
    await lose(wish.rid)
    expect(await again(wish)).toMatchObject({ isWithheld: true })
    expect(await listed(wish)).toEqual([])
    // The money came after all, and the same request shows the job.
    await store().withhold(wish.rid, false)
    expect([(await again(wish))?.isWithheld, await listed(wish)]).toEqual([false, [wish.rid]])
  })

  it('says of its end what was shown before, when a journal brought that back', async () => {
    const wish = await recorded()
    await lose(wish.rid)
    const shown = endText(wish, 3_000)
    const hold = moneyKeys.hold(moneyBucket(wish.account, 1), jobEndId(wish.rid))
    await market.world.redis.hset(hold, { st: 'captured', ev: shown })
    // Its provider has changed the price since.
    expect((await again(wish, told('succeeded', 9_000)))?.end).toMatchObject({ event: shown, state: 'succeeded' })
    expect(await endIn(wish.rid)).toBe(shown)
    expect(await balanceOf(market.plane.db, wish.account)).toBe(997_000)
    await market.world.redis.del(hold)
  })
})
