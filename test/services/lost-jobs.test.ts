import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { sql } from 'kysely'
import { afterAll, describe, expect, it } from 'vitest'
import { invoke } from '#control-plane/operation/invoke.ts'
import type { JobBook } from '#control-plane/ports/jobs/job-book.ts'
import type { ProbedJob } from '#control-plane/ports/provider/job-probe.ts'
import { JOB_POLLS } from '#control-plane/services/booking/job-schedule.ts'
import { createLostEnds } from '#control-plane/services/jobs/find-lost-ends.ts'
import { forgetOldJobs, noteJobMarks } from '#control-plane/services/jobs/restore-jobs.ts'
import { createOwnProvider, removeOwnProvider } from '#control-plane/services/routing/own-providers.ts'
import { tellEndedJobs } from '#control-plane/services/webhooks/job-alerts.ts'
import { createJobs } from '#data-plane/store/jobs.ts'
import { DAY, systemClock } from '#shared/clock.ts'
import type { JobEnd } from '#shared/contract/job-record.ts'
import { moneyBucket, moneyKeys } from '#shared/contract/redis-keys.ts'
import { jobEndId } from '#shared/contract/usage-event.ts'
import type { RequestId } from '#shared/ids.ts'
import { parseRequestId, ulidFloor } from '#shared/ids.ts'
import { ids } from '#test/support/books/gate.ts'
import { endText, submitText } from '#test/support/books/job-events.ts'
import { balanceOf } from '#test/support/books/ledger.ts'
import { newProviderKey } from '#test/support/doors/offers.ts'
import { emptiedRedisSuite } from '#test/support/jobs/emptied-redis-suite.ts'
import { openFileNode } from '#test/support/jobs/file-node.ts'
import { told } from '#test/support/jobs/job-desk.ts'
import { openLostJobDesk } from '#test/support/jobs/lost-job-desk.ts'

const desk = await openLostJobDesk()
const { market, jobs, offer, restore, orCode, store, wait, endIn, lose, listed, recorded, again } = desk
const { giveUpPayment, emptyRedis, shownIn } = desk
afterAll(() => market.stop())

emptiedRedisSuite(desk)

describe('the record of a job that Redis lost', () => {
  it('comes back at its place in the list, and not before the gate is open', async () => {
    const newJob = await recorded()
    expect(await listed(newJob)).toEqual([newJob.rid])
    await lose(newJob.rid)
    await market.world.redis.del(moneyKeys.jobsOf('video', newJob.account))
    const asked: ProbedJob[] = []
    await wait(newJob.rid)
    await jobs.turn(told('running'), { asked, isGateClosed: true })
    expect(asked.map(({ providerJob }) => providerJob)).not.toContain(newJob.providerJob)
    expect([await store().find(newJob.rid), await listed(newJob)]).toEqual([undefined, []])
    expect(await again(newJob)).toMatchObject({ job: { rid: newJob.rid }, isWithheld: false, isDeleted: false })
    expect(await listed(newJob)).toEqual([newJob.rid])
  })

  it('stays hidden when its buyer had deleted it, and stopped when its buyer had stopped it', async () => {
    const newJob = await recorded()
    const node = store()
    await node.markStopped(newJob.rid)
    await node.markDeleted(newJob.rid)
    await lose(newJob.rid)
    await node.bringMarks()
    expect(await market.world.redis.pttl(moneyKeys.job(newJob.rid))).toBeGreaterThan(DAY)
    expect(await again(newJob)).toMatchObject({ isDeleted: true, isStopped: true })
    expect(await listed(newJob)).toEqual([])
  })

  it('stays hidden while its payment was not taken', async () => {
    const newJob = await recorded()
    await giveUpPayment(newJob)
    await lose(newJob.rid)
    expect(await again(newJob)).toMatchObject({ isWithheld: true })
    expect(await listed(newJob)).toEqual([])
    // The money arrived after all, and the same request shows the job.
    await store().withhold(newJob.rid, false)
    expect([(await again(newJob))?.isWithheld, await listed(newJob)]).toEqual([false, [newJob.rid]])
  })

  it('shows the end that was shown before, when a journal brings that end back', async () => {
    const newJob = await recorded()
    await lose(newJob.rid)
    const shown = endText(newJob, 3_000)
    const hold = moneyKeys.hold(moneyBucket(newJob.account, 1), jobEndId(newJob.rid))
    await market.world.redis.hset(hold, { st: 'captured', ev: shown })
    // The provider of the job has changed the price since.
    expect((await again(newJob, told('succeeded', 9_000)))?.end).toMatchObject({ event: shown, state: 'succeeded' })
    expect(await endIn(newJob.rid)).toBe(shown)
    expect(await balanceOf(market.plane.db, newJob.account)).toBe(997_000)
    await market.world.redis.del(hold)
  })
})

describe('a finished job, after Redis was emptied', () => {
  const asked = { seconds: 4, size: '1280x720' }
  /** A job that its provider has finished. Its end is booked and shown. */
  const done = async () => {
    const newJob = await recorded()
    const key = moneyKeys.job(newJob.rid)
    const record = JSON.parse((await market.world.redis.hget(key, 'job')) ?? '')
    await market.world.redis.hset(key, 'job', JSON.stringify({ ...record, asked, adaptedParams: ['seed'] }))
    await again(newJob, told('succeeded'))
    await tellEndedJobs(market.plane)
    return newJob
  }

  it('comes back as it was shown, at its place in the list, and once', async () => {
    const newJob = await done()
    const before = await store().find(newJob.rid)
    expect(before).toMatchObject({ job: { asked }, isBooked: true, end: { state: 'succeeded', artifacts: [{}] } })
    expect(await shownIn(newJob.rid)).not.toContain('files.example')
    await emptyRedis()
    // No process reports the job as unknown meanwhile: its buyer would take the money for lost.
    const refused = [orCode(store().find(newJob.rid)), orCode(listed(newJob)), orCode(store().find(ids.requestId()))]
    expect(await Promise.all(refused)).toEqual(Array(3).fill('service_unavailable'))
    await expect(store().find(newJob.rid)).rejects.toMatchObject({ retryAfterSeconds: 2 })
    expect(await restore()).toBeGreaterThan(0)
    expect(await store().find(ids.requestId())).toBeUndefined()
    expect([await store().find(newJob.rid), await listed(newJob)]).toEqual([before, [newJob.rid]])
    expect(await market.world.redis.pttl(moneyKeys.job(newJob.rid))).toBeGreaterThan(DAY)
    expect(await restore()).toBe(0)
  })

  it('stays deleted, though the process that deleted it is gone too', async () => {
    const newJob = await done()
    await store().markDeleted(newJob.rid)
    expect(await noteJobMarks(market.plane)).toBeGreaterThan(0)
    expect([await market.plane.jobBook.readMarks(9), await shownIn(newJob.rid)]).toEqual([[], ''])
    await emptyRedis()
    await restore()
    const found = [await store().find(newJob.rid), await store().standingOf(newJob.rid), await listed(newJob)]
    expect(found).toEqual([undefined, 'hidden', []])
  })

  it('stays deleted when its end is shown only after that', async () => {
    const newJob = await recorded()
    await again(newJob, told('succeeded'))
    await store().markDeleted(newJob.rid)
    await noteJobMarks(market.plane)
    await tellEndedJobs(market.plane)
    expect(await shownIn(newJob.rid)).toBe('')
  })

  it('stays hidden while its payment was not taken', async () => {
    const newJob = await done()
    await giveUpPayment(newJob)
    await emptyRedis()
    await restore()
    expect(await store().find(newJob.rid)).toMatchObject({ isWithheld: true, isBooked: true })
    expect(await listed(newJob)).toEqual([])
  })

  it('comes back when Redis is lost again in between', async () => {
    const newJob = await done()
    await emptyRedis()
    const { jobBook } = market.plane
    const losing: JobBook = {
      ...jobBook,
      noteRestored: async (to) => {
        await market.world.redis.del(moneyKeys.jobsRestored, moneyKeys.job(newJob.rid))
        return jobBook.noteRestored(to)
      },
    }
    await restore({ ...market.plane, jobBook: losing })
    expect(await orCode(store().find(newJob.rid))).toBe('service_unavailable')
    await restore()
    expect(await store().find(newJob.rid)).toMatchObject({ isBooked: true })
  })

  it('waits for the records of processes while the gate is closed', async () => {
    const newJob = await done()
    await emptyRedis()
    const { gate } = market.plane
    const closed = { ...market.plane, gate: { ...gate, isOpen: async () => false } }
    expect([await restore(closed), await orCode(store().find(newJob.rid))]).toEqual([0, 'service_unavailable'])
    await restore()
    expect(await store().find(newJob.rid)).toBeDefined()
  })

  it('comes back among many, of which few are written at a time', async () => {
    const newJob = await done()
    const rids = Array.from({ length: 60 }, () => ids.requestId())
    await sql`insert into job (rid, account, seller_account, escrow_account, offer, provider_job, quote, paid, event,
        payload_hash, deadline_at, provider, ended_at, told_at, deleted_at, shown)
      select copy.rid, account, seller_account, escrow_account, offer, provider_job, 0, 0, event, payload_hash,
        deadline_at, provider, ended_at, told_at, now(), ''
      from job, unnest(${rids}::text[]) copy (rid) where job.rid = ${newJob.rid}`.execute(market.plane.db)
    await emptyRedis()
    const { jobBook } = market.plane
    const writing = { now: 0, most: 0 }
    const hide: JobBook['hide'] = async (...given) => {
      writing.most = Math.max(writing.most, ++writing.now)
      await jobBook.hide(...given)
      writing.now--
    }
    await restore({ ...market.plane, jobBook: { ...jobBook, hide } })
    expect(new Set(await Promise.all(rids.map((rid) => store().standingOf(rid))))).toEqual(new Set(['hidden']))
    expect(await store().standingOf(newJob.rid)).toBe('open')
    // Redis does not answer other clients while this process writes the record.
    expect([writing.now, writing.most]).toEqual([0, 25])
  })

  it('serves its file by a link, and the file of a deleted job to no caller, at every node', async () => {
    const home = await mkdtemp(join(tmpdir(), 'lost-jobs-'))
    const [kept, gone] = [await done(), await done()]
    const nodes = ['a', 'b'].map((name) => openFileNode(join(home, name), store()))
    const links = await Promise.all(
      nodes.flatMap(({ store: keep }) => [kept, gone].map(({ rid, account }) => keep(rid, account))),
    )
    const [first, second] = nodes
    if (first === undefined || second === undefined) throw new Error('there are no two nodes')
    expect(await Promise.all(links.map((link, at) => (at < 2 ? first : second).open(link)))).toEqual(links.map(() => 4))
    await first.jobs.markDeleted(gone.rid)
    await noteJobMarks(market.plane)
    const opened = async (node: typeof first) => [await node.open(links[0] ?? ''), await node.open(links[1] ?? '')]
    expect(await opened(second)).toEqual([4, 'not_found'])
    expect(await second.artifacts.open({ rid: gone.rid, index: 0 })).toBeUndefined()
    // The first node is restarted. It still has a copy of the deleted file.
    const anew = openFileNode(join(home, 'a'), store())
    await anew.store(gone.rid, gone.account)
    const picture = await anew.store(ids.requestId(), 'acc_1', { isOfAnswer: true })
    const lost = await anew.store(ids.requestId(), 'acc_1')
    const elsewhere = anew.artifacts.link({ rid: kept.rid, index: 1 }, systemClock.now() + DAY).url
    await emptyRedis()
    // The owner of each file is still unknown, and a picture in an answer belongs to no job.
    expect(await opened(anew)).toEqual(['service_unavailable', 'service_unavailable'])
    expect([await anew.open(picture), await anew.open(elsewhere)]).toEqual([4, 'service_unavailable'])
    // A page came back that ends between both jobs. The newer job has its record again, or has lost it.
    await market.plane.jobBook.beginRestore(gone.rid)
    expect(await opened(anew)).toEqual(['service_unavailable', 4])
    await market.world.redis.del(moneyKeys.jobsRestored)
    await restore()
    expect(await opened(anew)).toEqual([4, 'not_found'])
    // The job of this file has no record, and will get none.
    expect([await anew.open(lost), await anew.open(picture), await anew.open(elsewhere)]).toEqual([4, 4, 'not_found'])
    const away = new Redis(1, { lazyConnect: true, enableOfflineQueue: false, retryStrategy: () => null })
    away.on('error', () => undefined)
    const blind = openFileNode(join(home, 'a'), createJobs({ redis: away, isSure: () => true }))
    expect(await blind.open(links[0] ?? '')).toBe('service_unavailable')
    await Promise.all([...nodes, anew, blind].map((node) => node.close()))
    await rm(home, { recursive: true })
  })

  it('is removed when no buyer may poll it any more', async () => {
    const newJob = await done()
    await forgetOldJobs(market.plane)
    expect(await shownIn(newJob.rid)).toBeTruthy()
    market.advance(2 * DAY + 1)
    expect(await forgetOldJobs(market.plane)).toBeGreaterThan(0)
    expect(await shownIn(newJob.rid)).toBeNull()
    market.advance(-(2 * DAY + 1))
  })
})

describe('a job that can no longer be polled', () => {
  const KEYLESS = 'The job’s status can no longer be read, because the key that started it was deleted.'
  const { plane } = market
  const destroyKey = (rid: string) => sql`update job set offer = 'ofr_gone' where rid = ${rid}`.execute(plane.db)
  /** Lets workers poll until the job counts as lost. */
  const giveUp = async (rid: string, asked: ProbedJob[]) => {
    for (let turn = 0; turn < JOB_POLLS.lostAfter; turn++) {
      await wait(rid)
      await jobs.turn(told('succeeded'), { asked })
    }
  }

  it('is shown as far as it is known after Redis was emptied, and ends soon, at no cost', async () => {
    const newJob = await recorded()
    await destroyKey(newJob.rid)
    await emptyRedis()
    await restore()
    const found = await store().find(newJob.rid)
    expect(found).toMatchObject({ job: { rid: newJob.rid, credential: null }, end: undefined })
    expect(await listed(newJob)).toEqual([newJob.rid])
    const asked: ProbedJob[] = []
    await giveUp(newJob.rid, asked)
    expect(asked.filter(({ providerJob }) => providerJob === newJob.providerJob)).toEqual([])
    expect((await store().find(newJob.rid))?.end).toMatchObject({ state: 'failed', error: KEYLESS, artifacts: [] })
    expect(await balanceOf(plane.db, newJob.account)).toBe(1_000_000)
  })

  it('that was over is shown with its bill, without the files that no provider names any more', async () => {
    const [untold, brought] = [await recorded(), await recorded()]
    await again(untold, told('succeeded'))
    for (const { rid } of [untold, brought]) await destroyKey(rid)
    await emptyRedis()
    await restore()
    const end = { state: 'succeeded', artifacts: [], event: await endIn(untold.rid) }
    expect(await store().find(untold.rid)).toMatchObject({ isBooked: true, end })
    // The job's end arrives after its record was rebuilt.
    await jobs.post(endText(brought, 3_000))
    await tellEndedJobs(plane)
    expect(await createLostEnds(plane).turn()).toBe(1)
    expect((await store().find(brought.rid))?.end).toMatchObject({ state: 'succeeded', artifacts: [] })
  })

  it('at its buyer’s own provider comes back with that provider’s key, and without the key once it is removed', async () => {
    const { buyer } = await market.person()
    const place = { model: 'gpt-test', baseUrl: market.provider.url, apiKey: newProviderKey() }
    const own = await invoke(plane, buyer, createOwnProvider, place)
    const begin = async (model: string) => {
      const rid = ids.requestId()
      const newJob = { rid, account: buyer.account, sellerAccount: jobs.seller, quote: 0, startedAt: plane.clock.now() }
      const submit = JSON.parse(submitText({ ...newJob, providerJob: `vid-${rid}` }, newJob.startedAt + DAY))
      const free = { offer: null, sellerAccount: null, servedBy: 'own_key', provider: own.provider, model }
      await jobs.post(JSON.stringify({ ...submit, ...free }))
      return newJob
    }
    const [known, other] = [await begin('gpt-test'), await begin('claude-test')]
    await emptyRedis()
    await restore()
    const keyOf = async (rid: RequestId) => (await store().find(rid))?.job.credential
    expect([await keyOf(known.rid), await keyOf(other.rid)]).toMatchObject([
      { purpose: 'own-provider', tenant: buyer.account },
      null,
    ])
    const asked: ProbedJob[] = []
    await giveUp(known.rid, asked)
    expect((await store().find(known.rid))?.end).toMatchObject({ state: 'succeeded', artifacts: [{}] })
    await invoke(plane, buyer, removeOwnProvider, { id: own.id })
    const third = await begin('gpt-test')
    await emptyRedis()
    await restore()
    expect(await keyOf(third.rid)).toBeNull()
    await giveUp(third.rid, asked)
    const keys = [known, third].map(({ rid }) =>
      asked.filter(({ providerJob }) => providerJob === `vid-${rid}`).map((job) => job.place.apiKey.reveal()),
    )
    expect(keys).toEqual([[place.apiKey], []])
    expect((await store().find(third.rid))?.end).toMatchObject({ state: 'failed', error: KEYLESS })
  })
})

const OVER: JobEnd = { event: '{}', state: 'failed', artifacts: [], error: null, endedAt: null }

describe("a buyer's change to a job", () => {
  it('stays recorded until the ledger knows the job, and no longer than jobs last', async () => {
    const { jobBook } = market.plane
    const newJob = { ...(await jobs.job(10_000)), offer, providerJob: `vid-${ids.ulid()}` }
    const old = parseRequestId(ulidFloor(Date.now() - 4 * DAY))
    if (old === undefined) throw new Error('no request id')
    await store().markStopped(newJob.rid)
    await store().markStopped(old)
    // A change to a finished job does not stay for ever.
    const notes = [
      (rid: RequestId) => store().markBooked(rid),
      (rid: RequestId) => store().withhold(rid, true),
      (rid: RequestId) => store().end(rid, OVER),
      (rid: RequestId) => jobBook.end(rid, OVER),
      (rid: RequestId) => jobBook.markBooked(rid, { hasFiles: false }),
      (rid: RequestId) => jobBook.noteLostEnd(rid, OVER.event),
    ]
    const lives = notes.map(async (write) => {
      const rid = ids.requestId()
      await write(rid)
      return market.world.redis.pttl(moneyKeys.job(rid))
    })
    const stopped = market.world.redis.pttl(moneyKeys.job(old))
    for (const life of await Promise.all([stopped, ...lives])) expect(life).toBeGreaterThan(DAY)
    expect(await noteJobMarks(market.plane)).toBe(0)
    expect(await jobBook.readMarks(9)).toEqual([{ rid: newJob.rid, mark: 'stopped' }])
    const now = market.plane.clock.now()
    await jobs.post(submitText({ ...newJob, startedAt: now }, now + DAY))
    expect([await noteJobMarks(market.plane), await jobBook.readMarks(9)]).toEqual([1, []])
    // A job that fails after its cancellation was cancelled, even when a process lost the cancellation.
    await emptyRedis()
    await wait(newJob.rid)
    await jobs.turn(told('failed'))
    expect((await store().find(newJob.rid))?.end).toMatchObject({ state: 'cancelled' })
  })
})
