import { END_MUTANTS } from './end-mutants.ts'
import { JOB_SHARE } from './plan.ts'
import type { ProductMutant } from './product-mutants.ts'

/** A mistake in the product's code that only the long run of the simulation tries. */
export type LongMutant = ProductMutant & {
  /** The share of operations that have a long job before them. */
  readonly jobs: number
  /** It has to be noticed within so many seeds. */
  readonly mostSeeds: number
}

const SUBMIT = 'data-plane/pipeline/submit-job.ts'
const SHOW = 'data-plane/pipeline/finish-job.ts'
const END = 'control-plane/services/money/finish-job.ts'
const DEADLINE = 'control-plane/services/money/deadline-end.ts'
const INGEST = 'control-plane/services/money/ingest.ts'

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
    file: SUBMIT,
    find: 'void calls.offerCaps.settle(offer, take, ZERO)',
    replace: '',
  }),
  ofJobs('job_record_that_failed_counts', 10, {
    file: SUBMIT,
    find: 'let usedMicro = ZERO\n',
    replace: 'let usedMicro = quoteMicro\n',
  }),
  ofJobs('job_counts_nothing_of_its_cap', 5, { file: SUBMIT, find: 'usedMicro = quoteMicro\n', replace: '' }),
  ofJobs('job_cap_is_not_settled', 5, {
    file: SUBMIT,
    find: 'void calls.offerCaps.settle(offer, take, usedMicro)',
    replace: '',
  }),
  ofJobs('job_nobody_takes_keeps_its_hold', 10, {
    file: SUBMIT,
    find: "void payment.release(hold, 'no_provider', '')",
    replace: '',
  }),
  ofJobs('job_is_offered_while_it_may_run', 5, {
    file: SUBMIT,
    find: 'if (isFinal(route.failover, failure)) throw failure.error',
    replace: '',
  }),
  ofJobs('job_costs_more_than_its_hold', 15, {
    file: SUBMIT,
    find: '|| quote > hold.grantedMicro) continue',
    replace: ') continue',
  }),
  ofJobs('job_is_offered_to_a_fourth', 15, {
    file: SUBMIT,
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
    find: 'await plane.jobs.put(record, calls.clock.now())',
    replace: 'void plane.jobs.put(record, calls.clock.now()).catch(() => undefined)',
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
    find: 'isCancel ? codec.cancel(job.providerJob) : codec.question(job.providerJob)',
    replace: 'codec.question(job.providerJob)',
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
  ofJobs('job_nobody_answers_for_is_charged', 5, {
    file: DEADLINE,
    find: "if (said?.state !== 'succeeded') return NOTHING",
    replace: `if (said === undefined) return { ...NOTHING, chargeMicro: submit.holdMicro }
      if (said.state !== 'succeeded') return NOTHING`,
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

export const LONG_MUTANTS: readonly LongMutant[] = [...JOBS, ...POSTING, ...END_MUTANTS]
