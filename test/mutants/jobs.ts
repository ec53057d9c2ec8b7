import { JOB_SHARE } from '#test/sim/plan/plan.ts'
import type { Mutant } from './mutant.ts'
import { mutant, quick, seeds, tests } from './mutant.ts'

const SUBMIT_JOB = 'data-plane/pipeline/jobs/submit-job.ts'
const CAPTURE_JOB_EVENT = 'data-plane/pipeline/capture-job-event.ts'
const FIND_JOB_PROVIDER = 'data-plane/pipeline/jobs/find-job-provider.ts'
const SHOW_JOB = 'data-plane/pipeline/jobs/show-job.ts'
const BOOK_JOB_EVENT = 'control-plane/services/booking/book-job-event.ts'
const ATTEND_JOB = 'control-plane/services/jobs/attend-job.ts'
const REDIS_JOB_BOOK = 'control-plane/ports/jobs/redis-job-book.ts'
const END_JOB = 'control-plane/services/jobs/end-job.ts'
const JOBS = 'data-plane/store/jobs.ts'
const RESTORE_JOBS = 'control-plane/services/jobs/restore-jobs.ts'
const BOOK_PAYMENT = 'control-plane/services/payments/book-payment.ts'
const OPEN_ARTIFACT = 'data-plane/pipeline/jobs/open-artifact.ts'
const JOB_ALERTS = 'control-plane/services/webhooks/job-alerts.ts'
const FIND_LOST_ENDS = 'control-plane/services/jobs/find-lost-ends.ts'
const REDIS_GATE_KEEPER = 'control-plane/ports/gate-keeper/redis-gate-keeper.ts'

const JOB_END_TEST = tests('unit/job-end')
const OUTCOMES_TEST = tests('flows/outcomes')
const PAYMENTS_TEST = tests('services/payments')
const LOST_JOBS_TEST = tests('services/lost-jobs')
const LENT_JOBS_TEST = tests('services/lent-jobs')

/** Mistakes with long jobs that the simulation plays. */
const PLAYED: readonly Mutant[] = [
  mutant('failed_job_keeps_its_hold', quick(5, { jobs: JOB_SHARE }), `${SUBMIT_JOB}#takeTurn`, {
    'void payment.release(hold, error.code, event)': '',
  }),
  mutant('job_without_a_record', quick(5, { jobs: JOB_SHARE }), `${CAPTURE_JOB_EVENT}#captureJobEvent`, {
    'money.journal.capture(subject, event)': '',
  }),
  mutant('job_takes_of_no_cap', quick(5, { jobs: JOB_SHARE }), `${FIND_JOB_PROVIDER}#findProvider`, {
    'if (!(await calls.caps.offers.take(offer, take, quote, limits.askMs + TAKE_SLACK_MS))) {': 'if (Math.PI === 3) {',
  }),
  mutant('job_goes_to_the_dearest_first', quick(10, { jobs: JOB_SHARE }), `${FIND_JOB_PROVIDER}#findProvider`, {
    'for (const offer of turn.offers) {': 'for (const offer of turn.offers.toReversed()) {',
  }),
  mutant('job_end_is_said_anew', quick(10, { jobs: 0.2 }), `${SHOW_JOB}#viewJob`, {
    'const end = await plane.jobs.end(rid, endOf(plane, job, over))': 'const end = endOf(plane, job, over)',
  }),
  mutant('failed_job_is_charged', quick(5, { jobs: JOB_SHARE }), 'shared/jobs.ts#chargeOf', {
    "if (state !== 'succeeded') return": "if (state === 'cancelled') return",
  }),
  mutant('job_end_is_booked_twice', quick(40, { jobs: JOB_SHARE }), `${BOOK_JOB_EVENT}#receiveEnd`, {
    "if (end.bookedAt !== null) return { fate: 'repeat'": "if (Math.PI === 3) return { fate: 'repeat'",
  }),
  mutant('failed_job_stays_in_escrow', quick(5, { jobs: JOB_SHARE }), `${BOOK_JOB_EVENT}#receiveEnd`, {
    'if (job === undefined) return { fate:': "if (job === undefined || read.event.outcome === 'failed') return { fate:",
  }),
  mutant('job_deadline_ignored', quick(5, { jobs: JOB_SHARE }), `${ATTEND_JOB}#endingIn`, {
    "if (isLate(job, askedAt)) return 'overdue'": '',
  }),
  mutant('rest_of_a_quote_is_kept', quick(5, { jobs: JOB_SHARE }), `${BOOK_JOB_EVENT}#bookEnd`, {
    '{ account: job.account, amount: back - toShortfall },':
      '{ account: PLATFORM_ACCOUNTS.fee, amount: back - toShortfall },',
  }),
  mutant('job_refusal_keeps_its_cap', seeds(5, { jobs: 0.2 }), `${FIND_JOB_PROVIDER}#findProvider`, {
    'void calls.caps.offers.settle(offer, take, ZERO)': '',
  }),
  mutant('job_counts_nothing_of_its_cap', seeds(5, { jobs: 0.2 }), `${SUBMIT_JOB}#book`, {
    'calls.caps.offers.settle(offer, take, quoteMicro)':
      'calls.caps.offers.settle(offer, take, (quoteMicro - quoteMicro) as typeof quoteMicro)',
  }),
  mutant('job_cap_is_not_settled', seeds(5, { jobs: 0.2 }), `${SUBMIT_JOB}#book`, {
    'void calls.caps.offers.settle(offer, take, quoteMicro)': '',
  }),
  mutant('job_nobody_takes_keeps_its_hold', seeds(10, { jobs: 0.2 }), `${SUBMIT_JOB}#takeTurn`, {
    "void payment.release(hold, 'no_provider', '')": '',
  }),
  mutant('job_is_offered_while_it_may_run', seeds(5, { jobs: 0.2 }), `${FIND_JOB_PROVIDER}#findProvider`, {
    'if (isFinal(route.failover, answer, failure)) throw failure.error': '',
  }),
  mutant('job_costs_more_than_its_hold', seeds(15, { jobs: 0.2 }), `${FIND_JOB_PROVIDER}#findProvider`, {
    '|| quote > hold.grantedMicro) continue': ') continue',
  }),
  mutant('job_is_offered_to_a_fourth', seeds(15, { jobs: 0.2 }), `${FIND_JOB_PROVIDER}#findProvider`, {
    'attempts.length >= turn.maxAttempts || ': '',
  }),
  mutant('job_takes_its_whole_hold', seeds(5, { jobs: 0.2 }), `${SUBMIT_JOB}#book`, {
    '() => turn.payment.settle(hold, quoteMicro, event)': '() => turn.payment.settle(hold, hold.grantedMicro, event)',
  }),
  mutant('job_told_without_its_record', seeds(15, { jobs: 0.2 }), `${SUBMIT_JOB}#writeDown`, {
    'await jobs.put(record, { isWithheld }, calls.clock.now())':
      'void jobs.put(record, { isWithheld }, calls.clock.now()).catch(() => undefined)',
  }),
  mutant('job_end_is_not_booked', seeds(5, { jobs: 0.2 }), `${SHOW_JOB}#showEnd`, {
    'if (!isBooked) await bookEnd(plane, rid, job, end)': '',
  }),
  mutant('job_end_takes_its_charge_again', seeds(5, { jobs: 0.2 }), `${SHOW_JOB}#bookEnd`, {
    'rail.settle(end, ZERO, event)': 'rail.settle(end, job.quoteMicro, event)',
  }),
  mutant('job_cancel_only_asks', seeds(5, { jobs: 0.2 }), `${SHOW_JOB}#ask`, {
    'about(codec.cancel(providerJob))': 'about(codec.question(providerJob))',
  }),
  mutant('job_end_before_its_submit_is_forgotten', seeds(10, { jobs: 0.2 }), `${BOOK_JOB_EVENT}#bookSubmit`, {
    'parked === undefined ? [] : await bookParked(trx, parked)': '[]',
  }),
  mutant('job_end_leaves_no_settlement', seeds(5, { jobs: 0.2 }), `${BOOK_JOB_EVENT}#bookEnd`, {
    'await trx.insertSettlements([settlementOf(read)])': '',
  }),
  mutant('job_end_is_overwritten', seeds(20, { jobs: 0.2 }), `${REDIS_JOB_BOOK}#createRedisJobBook`, {
    ".hsetnx(key, 'end', JSON.stringify(end))": ".hset(key, 'end', JSON.stringify(end))",
  }),
  mutant('job_end_is_booked_beside_its_record', seeds(10, { jobs: 0.2 }), `${ATTEND_JOB}#attendJob`, {
    'hasRecord ? await ctx.jobBook.end(job.rid, end) : end': 'hasRecord ? end : end',
  }),
  mutant('job_nobody_answers_for_is_charged', seeds(5, { jobs: 0.2 }), `${END_JOB}#chargeOf`, {
    "if (endedJob?.state !== 'succeeded') return NO_CHARGE": `if (endedJob === undefined) return { ...NO_CHARGE, chargeMicro: submit.holdMicro }
      if (endedJob.state !== 'succeeded') return NO_CHARGE`,
  }),
  mutant('job_that_redis_lost_does_not_exist', seeds(10, { jobs: 0.2 }), `${JOBS}#find`, {
    "if (standing === 'unknown') throw recordsMissing()": '',
  }),
  mutant('job_that_redis_lost_stays_lost', seeds(5, { jobs: 0.2 }), `${RESTORE_JOBS}#restore`, {
    'await jobBook.restore({ ...record, ...buyersPart }, standing, now)': 'void [buyersPart, standing]',
  }),
]

/** Mistakes in paid jobs that the simulation does not play: wallets, and lost records. */
const PAID: readonly Mutant[] = [
  mutant('a-job-is-told-before-the-disk-has-it', JOB_END_TEST, `${CAPTURE_JOB_EVENT}#captureJobEvent`, {
    "if (state === 'pending') await money.journal.sync()": '',
  }),
  mutant('a-job-that-nobody-paid-is-told', OUTCOMES_TEST, `${SUBMIT_JOB}#book`, {
    '  if (refusal !== undefined) {\n    void stopJob(': '  if (refusal === null) {\n    void stopJob(',
  }),
  mutant('a-job-that-nobody-paid-is-shown', OUTCOMES_TEST, `${SUBMIT_JOB}#book`, {
    'await writeDown(plane, record, refusal !== undefined)': 'await writeDown(plane, record, false)',
  }),
  mutant('a-submit-that-nobody-took-keeps-its-claim', OUTCOMES_TEST, `${SUBMIT_JOB}#takeTurn`, {
    'void payment.release(hold, error.code, event)': 'void event',
  }),
  mutant('the-end-of-a-job-is-taken-from-the-wallet', OUTCOMES_TEST, 'data-plane/rails/claim.ts#settleHold', {
    'if (jobOfEnd(hold.rid) !== undefined) return TOLD': '',
  }),
  mutant('late-money-for-a-job-goes-to-the-platform-alone', PAYMENTS_TEST, `${BOOK_PAYMENT}#deposit`, {
    'if (isJob && back > 0n) await trx.jobs.addPaid(rid, back)': '',
  }),
  mutant('the-platform-pays-a-quote-twice', PAYMENTS_TEST, `${BOOK_PAYMENT}#deposit`, {
    'if (more <= 0n || isJob) return deposited': 'if (more <= 0n) return deposited',
  }),
  mutant('a-quote-that-never-came-is-taken-from-credit', PAYMENTS_TEST, `${BOOK_PAYMENT}#bookCharge`, {
    "payment.state === 'written_off' ? (payment.came ?? 0n) : undefined": 'undefined',
  }),
  mutant('a-lost-record-comes-back-as-paid', LOST_JOBS_TEST, 'control-plane/services/jobs/job-lines.ts#linesOf', {
    "payments.get(job.rid)?.state === 'written_off'": 'payments.size < 0',
  }),
  mutant('a-lost-record-comes-back-before-the-marks', LOST_JOBS_TEST, `${ATTEND_JOB}#restore`, {
    "if (!(await gate.isOpen())) return 'too early'": 'await gate.isOpen()',
  }),
  mutant('an-end-that-was-shown-is-said-anew', LOST_JOBS_TEST, `${ATTEND_JOB}#attendJob`, {
    'const end = jobRecord === undefined ? jobEnd : withEvent(jobEnd, jobRecord)': 'const end = jobEnd',
  }),
  mutant('nobody-remembers-what-buyers-hid', LOST_JOBS_TEST, `${JOBS}#createMarks`, {
    'marks.set(name, mark)': 'void mark',
  }),
  mutant('a-deleted-file-is-given-out', LOST_JOBS_TEST, `${OPEN_ARTIFACT}#refuseHidden`, {
    'if (isHidden) throw noArtifact()': '',
  }),
  mutant('a-file-is-given-out-before-its-job-is-known', LOST_JOBS_TEST, `${OPEN_ARTIFACT}#refuseHidden`, {
    "if (standing === 'unknown') throw recordsMissing()": '',
  }),
  mutant('a-mark-is-dropped-before-the-ledger-has-it', LOST_JOBS_TEST, `${RESTORE_JOBS}#noteJobMarks`, {
    'notedMarks.includes(mark) || mark.rid < stray': "notedMarks.includes(mark) || stray !== ''",
  }),
  mutant('a-deleted-job-is-not-hidden-again', LOST_JOBS_TEST, `${RESTORE_JOBS}#restore`, {
    'if (isDeleted || isWithheld) await jobBook.hide(': 'if (isWithheld) await jobBook.hide(',
  }),
  mutant('ended-jobs-come-back-before-the-marks', LOST_JOBS_TEST, `${RESTORE_JOBS}#restoreJobs`, {
    'to === all || !(await ctx.gate.isOpen())': 'to === all',
  }),
  mutant('records-come-back-before-captures-are-booked', LOST_JOBS_TEST, `${RESTORE_JOBS}#restoreJobs`, {
    'const { isAll } = await postLeftBehind(ctx, 0)': 'const isAll = true',
  }),
  mutant('a-lost-record-is-not-written-by-whoever-asks', LOST_JOBS_TEST, `${ATTEND_JOB}#restore`, {
    'await jobBook.restore(record, { isWithheld, ...marks }, clock.now())': 'void [isWithheld, marks]',
  }),
  mutant('an-unpaid-job-whose-record-is-lost-gives-its-file-out', LOST_JOBS_TEST, `${RESTORE_JOBS}#standing`, {
    '  const standing = {\n    isWithheld,\n': '  const standing = {\n    isWithheld: isWithheld && isDeleted,\n',
  }),
  mutant('an-end-that-was-not-told-is-forgotten', LOST_JOBS_TEST, `${RESTORE_JOBS}#endOf`, {
    "return isAskable && end?.state === 'succeeded' ? { lostEnd: event }":
      "return isAskable && end?.state === 'succeeded' ? {}",
  }),
  mutant('only-ends-that-were-told-come-back', LOST_JOBS_TEST, 'control-plane/db/job-marks.ts#listKeptJobs', {
    'where (shown is not null or told_at is null)': 'where shown is not null',
  }),
  mutant('an-end-is-told-before-its-record-is-there', LOST_JOBS_TEST, `${JOB_ALERTS}#isRecordLost`, {
    'return !isRestored || restoreRecord(ctx, rid)': 'return isRestored && restoreRecord(ctx, rid)',
  }),
  mutant('a-job-that-was-brought-late-has-no-record', LOST_JOBS_TEST, `${JOB_ALERTS}#isRecordLost`, {
    'return !isRestored || restoreRecord(ctx, rid)': 'return !isRestored',
  }),
  mutant('a-late-end-is-told-without-its-files', LOST_JOBS_TEST, `${JOB_ALERTS}#isEndLost`, {
    'if (storedJob.end !== undefined || endEvent === null) return false': 'if (endEvent !== undefined) return false',
  }),
  mutant('a-lost-end-is-asked-about-without-end', LOST_JOBS_TEST, `${FIND_LOST_ENDS}#find`, {
    'questions >= MAX_QUESTIONS ? bare : undefined': 'questions < 0 ? bare : undefined',
  }),
  mutant('a-file-of-a-lost-end-does-not-exist', LOST_JOBS_TEST, 'data-plane/pipeline/jobs/keep-job-files.ts#find', {
    'if (storedJob.end === undefined && storedJob.lostEnd !== undefined) throw recordsMissing()': '',
  }),
  mutant('an-end-that-is-found-again-has-another-bill', LOST_JOBS_TEST, 'shared/contract/job-end.ts#endAsFound', {
    'return end && { ...end, artifacts': "return end && { ...end, event: event.concat(' '), artifacts",
  }),
  mutant('an-older-redis-says-that-all-is-there', LOST_JOBS_TEST, `${REDIS_GATE_KEEPER}#raise`, {
    'step.del(moneyKeys.doubt, moneyKeys.jobsRestored)': 'step.del(moneyKeys.doubt)',
  }),
  mutant('a-stop-is-lost-with-the-record', LOST_JOBS_TEST, 'control-plane/services/jobs/jobs.ts#cancel', {
    'const isStopped = canStop && record !== undefined': 'const isStopped = canStop && kept !== undefined',
  }),
  mutant('a-server-that-came-back-older-is-believed', LOST_JOBS_TEST, `${JOBS}#readRecord`, {
    '(isJobRestored(restoredTo, rid) && isSure())': 'isJobRestored(restoredTo, rid)',
  }),
  mutant('a-forwarded-job-is-bound-to-nobody-again', LENT_JOBS_TEST, `${RESTORE_JOBS}#restoreForwarded`, {
    'end, bound }, clock.now())': 'end, bound: undefined }, clock.now())',
  }),
  mutant('a-forwarded-job-that-redis-lost-does-not-exist', LENT_JOBS_TEST, 'data-plane/store/forwarded-jobs.ts#find', {
    'throw recordsMissing()': 'return undefined',
  }),
  mutant('what-is-lost-again-stays-lost', LOST_JOBS_TEST, `${REDIS_JOB_BOOK}#noteRestored`, {
    ", to, 'XX')": ', to)',
  }),
]

/** Mistakes in the code of long jobs. */
export const JOB_MUTANTS: readonly Mutant[] = [...PLAYED, ...PAID]
