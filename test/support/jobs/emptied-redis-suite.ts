import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { invoke } from '#control-plane/operation/invoke.ts'
import type { JobAnswer, JobProbe } from '#control-plane/ports/provider/job-probe.ts'
import { createLostEnds } from '#control-plane/services/jobs/find-lost-ends.ts'
import { cancelOwnJob } from '#control-plane/services/jobs/jobs.ts'
import { noteJobMarks } from '#control-plane/services/jobs/restore-jobs.ts'
import { tellEndedJobs } from '#control-plane/services/webhooks/job-alerts.ts'
import { DAY } from '#shared/clock.ts'
import { moneyBucket, moneyKeys } from '#shared/contract/redis-keys.ts'
import { jobEndId } from '#shared/contract/usage-event.ts'
import type { AccountId } from '#shared/ids.ts'
import { ids } from '#test/support/books/gate.ts'
import { endText, submitText } from '#test/support/books/job-events.ts'
import { balanceOf } from '#test/support/books/ledger.ts'
import { until } from '#test/support/run/until.ts'
import { openFileNode } from './file-node.ts'
import { SILENT, told } from './job-desk.ts'
import type { LostJobDesk } from './lost-job-desk.ts'

/** Redis is emptied while jobs run, and while the ends of jobs are unseen by their buyers. */
export function emptiedRedisSuite(desk: LostJobDesk): void {
  const { market, jobs, offer, restore, orCode, store, listed, recorded, again, lose, giveUpPayment } = desk
  const { emptyRedis, shownIn } = desk

  describe('a job whose end Redis lost before its buyer saw it', () => {
    /** A job that its provider has finished. Its end is booked, and Redis is emptied before the buyer sees it. */
    const forgotten = async () => {
      const newJob = await recorded()
      await again(newJob, told('succeeded'))
      const before = await store().find(newJob.rid)
      await emptyRedis()
      return { newJob, before }
    }
    /** Polls providers again about lost ends. */
    const lostEnds = (answer: JobAnswer, asked: string[] = []) => {
      const askJob: JobProbe = async ({ providerJob }) => {
        asked.push(providerJob)
        return answer
      }
      return createLostEnds({ ...market.plane, askJob })
    }

    it('comes back with the files that its provider names again, with the booked bill, and is announced then', async () => {
      const { newJob, before } = await forgotten()
      await tellEndedJobs(market.plane)
      expect(await shownIn(newJob.rid)).toBeNull()
      await restore()
      const found = await store().find(newJob.rid)
      expect(found).toMatchObject({ end: undefined, lostEnd: before?.end?.event, isBooked: true })
      const home = await mkdtemp(join(tmpdir(), 'lost-jobs-'))
      const node = openFileNode(home, store())
      const { url } = node.artifacts.link({ rid: newJob.rid, index: 0 }, market.plane.clock.now() + DAY)
      expect(await node.open(url)).toBe('service_unavailable')
      await node.close()
      await rm(home, { recursive: true })
      await tellEndedJobs(market.plane)
      expect(await shownIn(newJob.rid)).toBeNull()
      expect(await lostEnds(told('running')).turn()).toBe(0)
      // The provider has changed its price since.
      expect(await lostEnds(told('succeeded', 9_000)).turn()).toBe(1)
      const end = { ...before?.end, endedAt: expect.any(Number) }
      expect(await store().find(newJob.rid)).toMatchObject({ end, isBooked: true })
      await tellEndedJobs(market.plane)
      expect(await shownIn(newJob.rid)).toBeTruthy()
      await emptyRedis()
      await restore()
      expect(await store().find(newJob.rid)).toMatchObject({ end, lostEnd: undefined })
      expect(await balanceOf(market.plane.db, newJob.account)).toBe(994_000)
    })

    it('is polled less and less often, and finally shown without files', async () => {
      const { newJob } = await forgotten()
      await restore()
      const asked: string[] = []
      const ends = lostEnds(SILENT, asked)
      const questions = () => asked.filter((job) => job === newJob.providerJob).length
      for (let minute = 0; minute < 20 && questions() < 10; minute++) {
        const before = questions()
        await ends.turn()
        await ends.turn()
        expect(questions()).toBeLessThanOrEqual(before + 1)
        market.advance(60_000)
      }
      market.advance(-20 * 60_000)
      expect(questions()).toBe(10)
      expect((await store().find(newJob.rid))?.end).toMatchObject({ state: 'succeeded', artifacts: [] })
    })

    it('comes back at once when it made no files, with the reason', async () => {
      const newJob = await recorded()
      await again(newJob, told('failed'))
      await emptyRedis()
      await restore()
      const end = { state: 'failed', error: 'The provider could not finish the job.', artifacts: [] }
      expect(await store().find(newJob.rid)).toMatchObject({ end, isBooked: true, lostEnd: undefined })
    })

    it('is known by its bill when a journal brings the end after its record was rebuilt', async () => {
      const newJob = await recorded()
      await emptyRedis()
      await restore()
      const shown = endText(newJob, 3_000)
      await jobs.post(shown)
      await tellEndedJobs(market.plane)
      expect(await store().find(newJob.rid)).toMatchObject({ end: undefined, lostEnd: shown })
      await lostEnds(told('succeeded')).turn()
      expect((await store().find(newJob.rid))?.end).toMatchObject({ event: shown, artifacts: [{}] })
    })

    it('comes back when a process brings the whole job after the records of other jobs were rebuilt', async () => {
      await emptyRedis()
      await restore()
      const newJob = { ...(await jobs.job(10_000)), offer, providerJob: `vid-${ids.ulid()}` }
      const now = market.plane.clock.now()
      const shown = endText(newJob, 3_000)
      await jobs.post(submitText({ ...newJob, startedAt: now }, now + DAY), shown)
      expect(await store().find(newJob.rid)).toBeUndefined()
      await tellEndedJobs(market.plane)
      expect(await store().find(newJob.rid)).toMatchObject({ lostEnd: shown })
      await lostEnds(told('succeeded')).turn()
      await tellEndedJobs(market.plane)
      expect(await shownIn(newJob.rid)).toBeTruthy()
    })

    it('shows no file while its payment is not taken, though its record cannot be rebuilt', async () => {
      const home = await mkdtemp(join(tmpdir(), 'lost-jobs-'))
      const [paid, unpaid] = [await recorded(), await recorded()]
      for (const newJob of [paid, unpaid]) await again(newJob, told('succeeded'))
      await giveUpPayment(unpaid)
      const node = openFileNode(home, store())
      const links = await Promise.all([paid, unpaid].map(({ rid, account }) => node.store(rid, account)))
      const opened = () => Promise.all(links.map(node.open))
      await emptyRedis()
      await restore()
      expect(await opened()).toEqual([4, 'not_found'])
      await Promise.all([paid, unpaid].map(({ rid, account }) => node.store(rid, account)))
      const { rids, offers } = { rids: [paid.rid, unpaid.rid], offers: 'ofr_gone' }
      await sql`update job set offer = ${offers} where rid = any(${rids}::text[])`.execute(market.plane.db)
      for (const isTold of [false, true]) {
        await emptyRedis()
        await restore()
        expect(await opened(), `announced: ${isTold}`).toEqual([4, 'not_found'])
        await node.store(unpaid.rid, unpaid.account)
        await tellEndedJobs(market.plane)
      }
      await node.close()
      await rm(home, { recursive: true })
    })
  })

  describe('jobs that run while Redis is emptied', () => {
    it('come back before any buyer sees them as unknown, though no worker polls them', async () => {
      const [newJob, stopped] = [await recorded(), await recorded()]
      await store().markStopped(stopped.rid)
      await noteJobMarks(market.plane)
      await emptyRedis()
      await restore()
      expect(await store().find(newJob.rid)).toMatchObject({
        job: { rid: newJob.rid },
        end: undefined,
        isBooked: false,
      })
      expect(await listed(newJob)).toEqual([newJob.rid])
      expect(await store().find(stopped.rid)).toMatchObject({ isStopped: true })
    })

    it('are booked first when only a process knew them', async () => {
      const newJob = { ...(await jobs.job(10_000)), offer, providerJob: `vid-${ids.ulid()}` }
      const ended = await recorded()
      await emptyRedis()
      const now = market.plane.clock.now()
      const shown = endText(ended, 3_000)
      const brought = [
        [newJob, newJob.rid, submitText({ ...newJob, startedAt: now }, now + DAY)],
        [ended, jobEndId(ended.rid), shown],
      ] as const
      const epoch = Number((await market.world.redis.get(moneyKeys.epoch))?.split(':')[0])
      for (const [{ account }, rid, ev] of brought) {
        const bucket = moneyBucket(account, 1)
        await market.world.redis.hset(moneyKeys.hold(bucket, rid), { st: 'captured', ev })
        await market.world.redis.zadd(moneyKeys.unposted(bucket, epoch), 0, rid)
      }
      await restore()
      expect(await store().find(newJob.rid)).toMatchObject({ job: { rid: newJob.rid } })
      expect(await store().find(ended.rid)).toMatchObject({ lostEnd: shown })
    })

    it('are searched for again in a new epoch, because Redis may lack its last writes', async () => {
      const newJob = await recorded()
      await restore()
      await lose(newJob.rid)
      expect(await store().find(newJob.rid)).toBeUndefined()
      // A node notices at once that the server was restarted, and Redis does not have that yet.
      const isSure = false
      const unsure = [orCode(store(isSure).find(newJob.rid)), orCode(listed(newJob, isSure))]
      expect(await Promise.all(unsure)).toEqual(Array(2).fill('service_unavailable'))
      const { redis } = market.world
      const epoch = (await redis.get(moneyKeys.epoch))?.split(':')[0] ?? ''
      await redis.set(moneyKeys.doubt, epoch)
      await until(
        'the epoch is another',
        20_000,
        async () => !(await redis.get(moneyKeys.epoch))?.startsWith(`${epoch}:`),
      )
      expect(await orCode(store().find(newJob.rid))).toBe('service_unavailable')
      await until('the gate is open', 20_000, () => market.plane.gate.isOpen())
      await restore()
      expect(await store().find(newJob.rid)).toMatchObject({ job: { rid: newJob.rid } })
    })

    it('are stopped for good by a buyer whose job has lost its record', async () => {
      const speak = (apiFormat: string) =>
        sql`update offer set api_format = ${apiFormat} where id = ${offer}`.execute(market.plane.db)
      await speak('falqueue')
      const newJob = await recorded()
      await lose(newJob.rid)
      const ctx = { ...market.plane, askJob: async () => told('running') }
      const buyerOf = ({ account }: { readonly account: AccountId }) =>
        ({ kind: 'buyer', keyId: 'key_t', user: 'usr_t', account, wallet: '0x0' }) as const
      const actor = buyerOf(newJob)
      expect(await invoke(ctx, actor, cancelOwnJob, { id: newJob.rid })).toMatchObject({ state: 'running' })
      expect(await store().find(newJob.rid)).toMatchObject({ isStopped: true })
      expect((await again(newJob, told('failed')))?.end).toMatchObject({ state: 'cancelled' })
      const other = await recorded()
      await lose(other.rid)
      const closed = { ...ctx, gate: { ...market.plane.gate, isOpen: async () => false } }
      const refused = invoke(closed, buyerOf(other), cancelOwnJob, { id: other.rid })
      await expect(refused).rejects.toMatchObject({ code: 'service_unavailable', retryAfterSeconds: 1 })
      expect(await again(other)).toMatchObject({ isStopped: true })
      await noteJobMarks(market.plane)
      await speak('openai')
    })
  })
}
