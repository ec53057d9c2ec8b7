import { END_MUTANTS } from './end-mutants.ts'
import type { LongMutant } from './long-mutant.ts'
import { RARE_PAYMENT_MUTANTS } from './payment-mutants.ts'
import { JOB_SHARE } from './plan.ts'
import type { ProductMutant } from './product-mutants.ts'
import { RESTORE_MUTANTS } from './restore-mutants.ts'

const SUBMIT = 'data-plane/pipeline/jobs/submit-job.ts'
const FIND = 'data-plane/pipeline/jobs/find-job-provider.ts'
const SHOW = 'data-plane/pipeline/jobs/show-job.ts'
const END = 'control-plane/services/booking/book-job-event.ts'
const END_JOB = 'control-plane/services/jobs/end-job.ts'
const ATTEND = 'control-plane/services/jobs/attend-job.ts'
const TAKE_OVER = 'data-plane/journal/take-over.ts'
const JOURNAL = 'data-plane/journal/journal.ts'
const RECOVER = 'data-plane/store/funds-recovery.ts'
const REBUILD = 'control-plane/services/gate/gate-rebuild.ts'
const INGEST = 'control-plane/services/booking/ingest.ts'

type Edits = ProductMutant['edits']
const MANY_JOBS = 0.2

const ofJobs = (name: string, mostSeeds: number, ...edits: Edits): LongMutant => {
  return { name, edits, jobs: MANY_JOBS, mostSeeds }
}
const ofCalls = (name: string, mostSeeds: number, ...edits: Edits): LongMutant => {
  return { name, edits, jobs: JOB_SHARE, mostSeeds }
}

const JOBS: readonly LongMutant[] = [
  ofJobs('job_refusal_keeps_its_cap', 5, {
    file: FIND,
    find: 'void calls.offerCaps.settle(offer, take, ZERO)',
    replace: '',
  }),
  ofJobs('job_counts_nothing_of_its_cap', 5, {
    file: SUBMIT,
    find: 'calls.offerCaps.settle(offer, take, quoteMicro)',
    replace: 'calls.offerCaps.settle(offer, take, (quoteMicro - quoteMicro) as typeof quoteMicro)',
  }),
  ofJobs('job_cap_is_not_settled', 5, {
    file: SUBMIT,
    find: 'void calls.offerCaps.settle(offer, take, quoteMicro)',
    replace: '',
  }),
  ofJobs('job_nobody_takes_keeps_its_hold', 10, {
    file: SUBMIT,
    find: "void payment.release(hold, 'no_provider', '')",
    replace: '',
  }),
  ofJobs('job_is_offered_while_it_may_run', 5, {
    file: FIND,
    find: 'if (isFinal(route.failover, answer, failure)) throw failure.error',
    replace: '',
  }),
  ofJobs('job_costs_more_than_its_hold', 15, {
    file: FIND,
    find: '|| quote > hold.grantedMicro) continue',
    replace: ') continue',
  }),
  ofJobs('job_is_offered_to_a_fourth', 15, {
    file: FIND,
    find: 'attempts.length >= turn.maxAttempts || ',
    replace: '',
  }),
  ofJobs('job_takes_its_whole_hold', 5, {
    file: SUBMIT,
    find: '() => turn.payment.settle(hold, quoteMicro, event)',
    replace: '() => turn.payment.settle(hold, hold.grantedMicro, event)',
  }),
  ofJobs('job_told_without_its_record', 15, {
    file: SUBMIT,
    find: 'await jobs.put(record, { isWithheld }, calls.clock.now())',
    replace: 'void jobs.put(record, { isWithheld }, calls.clock.now()).catch(() => undefined)',
  }),
  ofJobs('job_end_is_not_booked', 5, {
    file: SHOW,
    find: 'if (!isBooked) await bookEnd(plane, rid, job, end)',
    replace: '',
  }),
  ofJobs('job_end_takes_its_charge_again', 5, {
    file: SHOW,
    find: 'rail.settle(end, ZERO, event)',
    replace: 'rail.settle(end, job.quoteMicro, event)',
  }),
  ofJobs('job_cancel_only_asks', 5, {
    file: SHOW,
    find: 'about(codec.cancel(providerJob))',
    replace: 'about(codec.question(providerJob))',
  }),
  ofJobs('job_end_before_its_submit_is_forgotten', 10, {
    file: END,
    find: 'parked === undefined ? [] : await bookParked(trx, parked)',
    replace: '[]',
  }),
  ofJobs('job_end_leaves_no_settlement', 5, {
    file: END,
    find: 'await trx.insertSettlements([settlementOf(read)])',
    replace: '',
  }),
  ofJobs('job_end_is_overwritten', 20, {
    file: 'control-plane/ports/jobs/redis-job-book.ts',
    find: ".hsetnx(key, 'end', JSON.stringify(end))",
    replace: ".hset(key, 'end', JSON.stringify(end))",
  }),
  ofJobs('job_end_is_booked_beside_its_record', 10, {
    file: ATTEND,
    find: 'hasRecord ? await ctx.jobBook.end(job.rid, end) : end',
    replace: 'hasRecord ? end : end',
  }),
  ofJobs('job_nobody_answers_for_is_charged', 5, {
    file: END_JOB,
    find: "if (said?.state !== 'succeeded') return NO_CHARGE",
    replace: `if (said === undefined) return { ...NO_CHARGE, chargeMicro: submit.holdMicro }
      if (said.state !== 'succeeded') return NO_CHARGE`,
  }),
  ofJobs('job_that_redis_lost_does_not_exist', 10, {
    file: 'data-plane/store/jobs.ts',
    find: "if (standing === 'unknown') throw recordsMissing()",
    replace: '',
  }),
  ofJobs('job_that_redis_lost_stays_lost', 5, {
    file: 'control-plane/services/jobs/restore-jobs.ts',
    find: 'await jobBook.restore({ ...record, ...told }, standing, now)',
    replace: 'void [told, standing]',
  }),
]

const POSTING: readonly LongMutant[] = [
  ofCalls('repeat_is_not_acknowledged', 10, {
    file: INGEST,
    find: 'await acknowledge(ctx, all)',
    replace: "await acknowledge(ctx, { ...all, events: all.events.filter(({ fate }) => fate === 'new') })",
  }),
  ofCalls('older_balance_is_told', 30, {
    file: INGEST,
    find: 'if (known === undefined || row.version > known.version) newest.set(row.account, row)',
    replace: 'if (known === undefined) newest.set(row.account, row)',
  }),
  ofCalls('repeat_moves_money_again', 10, {
    file: INGEST,
    find: 'const fresh = [...byRid.values()].filter((read) => inserted.has(read.event.rid))',
    replace: 'const fresh = [...byRid.values()]',
  }),
]

const RECOVERY: readonly LongMutant[] = [
  ofCalls('ready_before_it_has_registered', 60, {
    file: 'data-plane/store/gate-member.ts',
    find: 'await ports.register(membership)',
    replace: `await connection.writes.hset(moneyKeys.ready(membership.epoch), name, clock.now())
      await ports.register(membership)`,
  }),
  ofCalls('last_segment_of_the_dead_is_skipped', 15, {
    file: TAKE_OVER,
    find: 'readSegments(files, segments, needed)',
    replace: 'readSegments(files, segments.slice(0, -1), needed)',
  }),
  ofCalls('capture_behind_the_cursor_is_skipped', 15, {
    file: TAKE_OVER,
    find: 'if (seq <= posted) continue',
    replace: 'if (seq <= posted + 1) continue',
  }),
  ofCalls('taken_over_without_a_sync', 90, {
    file: TAKE_OVER,
    find: "await sync()\n  await files.write(finished, '')",
    replace: "await files.write(finished, '')",
  }),
  ofCalls('cursor_is_one_too_far', 15, {
    file: JOURNAL,
    find: '(unposted.firstCapture() ?? numbering.last + 1) - 1',
    replace: 'unposted.firstCapture() ?? numbering.last',
  }),
  ofCalls('cursor_needs_nothing_before_it', 15, {
    file: JOURNAL,
    find: 'needed: unposted.firstNeeded(numbering.last), at: clock.now() }',
    replace: 'needed: numbering.last + 1, at: clock.now() }',
  }),
  ofCalls('captures_in_memory_are_not_brought', 45, {
    file: JOURNAL,
    find: 'for (const { seq, event } of inMemory) if (unposted.has(seq)) yield event',
    replace: '',
  }),
  ofCalls('captures_are_not_brought', 10, {
    file: RECOVER,
    find: 'await bringCaptures(ports, registrar)\n',
    replace: '',
  }),
  ofCalls('takes_are_not_brought', 90, {
    file: RECOVER,
    find: 'await ports.offerCaps.bringAll(membership)',
    replace: '',
  }),
  ofCalls('holds_of_the_dead_are_kept', 15, {
    file: RECOVER,
    find: 'if (isFirstHand) {',
    replace: 'if (Math.PI === 3) {',
  }),
  ofCalls('inheritance_is_never_crossed_off', 10, {
    file: RECOVER,
    find: 'journal.crossOff(inheritance)',
    replace: '',
  }),
  ofCalls('holds_of_the_living_are_freed', 5, {
    file: 'data-plane/store/left-holds.ts',
    find: 'if (owner !== node || !account) return []',
    replace: 'if (!account) return []',
  }),
  ofCalls('caps_begin_the_epoch_empty', 15, {
    file: REBUILD,
    find: 'await seedOffers(ctx, epoch, view.now)',
    replace: '',
  }),
  ofCalls('sweeper_posts_nothing', 5, {
    file: 'control-plane/services/booking/sweep.ts',
    find: 'const { posted } = await postLeftBehind(ctx, unpostedAfterMs, ending)',
    replace: 'const posted = 0',
  }),
]

export const LONG_MUTANTS: readonly LongMutant[] = [
  ...JOBS,
  ...POSTING,
  ...RECOVERY,
  ...END_MUTANTS,
  ...RARE_PAYMENT_MUTANTS,
  ...RESTORE_MUTANTS,
]
