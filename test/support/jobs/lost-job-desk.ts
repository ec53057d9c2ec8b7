import { sql } from 'kysely'
import type { JobLineCtx } from '#control-plane/services/jobs/lent-job-lines.ts'
import { ledgerArchive, restoreJobs } from '#control-plane/services/jobs/restore-jobs.ts'
import { createJobs } from '#data-plane/store/jobs.ts'
import { DAY } from '#shared/clock.ts'
import { moneyKeys } from '#shared/contract/redis-keys.ts'
import type { AccountId } from '#shared/ids.ts'
import { ids } from '#test/support/books/gate.ts'
import { submitText } from '#test/support/books/job-events.ts'
import { startMarket } from '#test/support/doors/control-plane.ts'
import { listOffer } from '#test/support/doors/offers.ts'
import { until } from '#test/support/run/until.ts'
import { openJobDesk, told } from './job-desk.ts'

/** Jobs of a market whose Redis loses their records. */
export async function openLostJobDesk() {
  const market = await startMarket()
  const jobs = await openJobDesk(market)
  const offer = (await listOffer(market, (await market.person()).seller)).id

  /** Writes again the records that Redis has lost, as a worker would. */
  const restore = (ctx: JobLineCtx = market.plane) => restoreJobs(ctx, ledgerArchive(ctx))
  /** The answer, or the code of the refusal. */
  const orCode = (answer: Promise<unknown>) => answer.catch((error: unknown) => Object(error).code)

  const store = (isSure = true) => createJobs({ redis: market.world.redis, isSure: () => isSure })
  /** Makes the job due for a poll. */
  const wait = async (rid: string) => {
    await sql`update job set poll_at = '2000-01-01' where rid = ${rid}`.execute(market.plane.db)
  }
  const endIn = async (rid: string) => {
    const { rows } = await sql<{ event: string }>`select event from job_end where rid = ${rid}`.execute(market.plane.db)
    return rows[0]?.event
  }

  const lose = (rid: string) => market.world.redis.del(moneyKeys.job(rid))
  const listed = async ({ account }: { readonly account: AccountId }, isSure = true) => {
    const filter = { kind: 'video', after: undefined, limit: 10, isAscending: false }
    return (await store(isSure).list(account, filter)).map(({ job }) => job.rid)
  }
  /** A job whose record a worker has just rebuilt from the ledger. */
  const recorded = async () => {
    const newJob = { ...(await jobs.job(10_000)), offer, providerJob: `vid-${ids.ulid()}` }
    const now = market.plane.clock.now()
    await jobs.post(submitText({ ...newJob, startedAt: now }, now + DAY))
    await wait(newJob.rid)
    await jobs.turn(told('running'))
    return newJob
  }
  const again = async (newJob: Awaited<ReturnType<typeof recorded>>, answer = told('running')) => {
    await wait(newJob.rid)
    await jobs.turn(answer)
    return store().find(newJob.rid)
  }

  /** Gives up the payment of a job. */
  const giveUpPayment = async (newJob: { readonly rid: string; readonly account: string }) => {
    const [asset, payer] = ['a', 'b'].map((digit) => `0x${digit.repeat(40)}`)
    await sql`insert into chain_payment (rid, rail, network, asset, payer, nonce, account, amount, due, payload,
        requirement, body_digest, valid_until, serve_until, state)
      values (${newJob.rid}, 'x402-exact', 'eip155:8453', ${asset}, ${payer}, ${newJob.rid}, ${newJob.account}, 10000, 10000,
        '{}', '{}', ${'d'.repeat(64)}, now(), now(), 'written_off')`.execute(market.plane.db)
  }

  /** Empties the server, and waits until the gate is rebuilt. */
  const emptyRedis = async () => {
    await market.world.redis.flushall()
    await until('the gate is open', 20_000, () => market.plane.gate.isOpen())
  }
  const shownIn = async (rid: string) => {
    const { rows } = await sql<{ shown: string | null }>`select shown from job where rid = ${rid}`.execute(
      market.plane.db,
    )
    return rows[0]?.shown
  }

  await restore()
  return {
    market,
    jobs,
    offer,
    restore,
    orCode,
    store,
    wait,
    endIn,
    lose,
    listed,
    recorded,
    again,
    giveUpPayment,
    emptyRedis,
    shownIn,
  }
}
export type LostJobDesk = Awaited<ReturnType<typeof openLostJobDesk>>
