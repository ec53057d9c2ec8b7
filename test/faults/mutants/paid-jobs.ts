import type { TestMutant } from './mutated.ts'

const SUBMIT = 'data-plane/pipeline/submit-job.ts'
const CLAIM = 'data-plane/rails/claim.ts'
const ATTEND = 'control-plane/services/money/attend-job.ts'
const RESTORE = 'control-plane/services/money/restore-jobs.ts'
const BOOK = 'control-plane/services/payments/book-payment.ts'

/** Mistakes on the way of the money of long jobs that the simulation does not play: wallets, and records that are lost. */
export const PAID_JOB_MUTANTS: readonly TestMutant[] = [
  {
    name: 'a-job-is-told-before-the-disk-has-it',
    file: 'data-plane/pipeline/book-job-event.ts',
    find: "if (state === 'pending') await calls.journal.sync()",
    replace: '',
    caughtBy: 'unit/job-end',
  },
  {
    name: 'a-job-that-nobody-paid-is-told',
    file: SUBMIT,
    find: '  if (refusal !== undefined) {\n    void stopJob(',
    replace: '  if (refusal === null) {\n    void stopJob(',
    caughtBy: 'flows/outcomes',
  },
  {
    name: 'a-job-that-nobody-paid-is-shown',
    file: SUBMIT,
    find: 'await writeDown(plane, record, refusal !== undefined)',
    replace: 'await writeDown(plane, record, false)',
    caughtBy: 'flows/outcomes',
  },
  {
    name: 'a-submit-that-nobody-took-keeps-its-claim',
    file: SUBMIT,
    find: 'void payment.release(hold, error.code, event)',
    replace: 'void event',
    caughtBy: 'flows/outcomes',
  },
  {
    name: 'the-end-of-a-job-is-taken-from-the-wallet',
    file: CLAIM,
    find: 'if (jobOfEnd(hold.rid) !== undefined) return TOLD',
    replace: '',
    caughtBy: 'flows/outcomes',
  },
  {
    name: 'late-money-for-a-job-goes-to-the-platform-alone',
    file: BOOK,
    find: 'if (isJob && back > 0n) await trx.jobs.addPaid(rid, back)',
    replace: '',
    caughtBy: 'services/payments',
  },
  {
    name: 'the-platform-pays-a-quote-twice',
    file: BOOK,
    find: 'if (more <= 0n || isJob) return deposited',
    replace: 'if (more <= 0n) return deposited',
    caughtBy: 'services/payments',
  },
  {
    name: 'a-quote-that-never-came-is-taken-from-credit',
    file: BOOK,
    find: "payment.state === 'written_off' ? (payment.came ?? 0n) : undefined",
    replace: 'undefined',
    caughtBy: 'services/payments',
  },
  {
    name: 'a-lost-record-comes-back-as-paid',
    file: 'control-plane/services/money/job-lines.ts',
    find: "payments.get(job.rid)?.state === 'written_off'",
    replace: 'payments.size < 0',
    caughtBy: 'services/lost-jobs',
  },
  {
    name: 'a-lost-record-comes-back-before-the-marks',
    file: ATTEND,
    find: "if (!(await gate.isOpen())) return 'too early'",
    replace: 'await gate.isOpen()',
    caughtBy: 'services/lost-jobs',
  },
  {
    name: 'an-end-that-was-shown-is-said-anew',
    file: ATTEND,
    find: 'const end = found === undefined ? made : withEvent(made, found)',
    replace: 'const end = made',
    caughtBy: 'services/lost-jobs',
  },
  {
    name: 'nobody-remembers-what-buyers-hid',
    file: 'data-plane/store/jobs.ts',
    find: 'known.set(name, mark)',
    replace: 'void mark',
    caughtBy: 'services/lost-jobs',
  },
  {
    name: 'a-deleted-file-is-given-out',
    file: 'data-plane/pipeline/open-artifact.ts',
    find: 'if (isHidden) throw noArtifact()',
    replace: '',
    caughtBy: 'services/lost-jobs',
  },
  {
    name: 'a-file-is-given-out-before-its-job-is-known',
    file: 'data-plane/pipeline/open-artifact.ts',
    find: "if (standing === 'unknown') throw unknownJob()",
    replace: '',
    caughtBy: 'services/lost-jobs',
  },
  {
    name: 'a-mark-is-dropped-before-the-ledger-has-it',
    file: RESTORE,
    find: 'noted.includes(mark) || mark.rid < stray',
    replace: "noted.includes(mark) || stray !== ''",
    caughtBy: 'services/lost-jobs',
  },
  {
    name: 'a-deleted-job-is-not-hidden-again',
    file: RESTORE,
    find: 'if (job.deletedAt !== null) {',
    replace: "if (job.rid === '') {",
    caughtBy: 'services/lost-jobs',
  },
  {
    name: 'ended-jobs-come-back-before-the-marks',
    file: RESTORE,
    find: 'to === all || !(await ctx.gate.isOpen())',
    replace: 'to === all',
    caughtBy: 'services/lost-jobs',
  },
  {
    name: 'what-is-lost-again-stays-lost',
    file: 'control-plane/ports/jobs/redis-job-book.ts',
    find: ", to, 'XX')",
    replace: ', to)',
    caughtBy: 'services/lost-jobs',
  },
]
