import type { JobEnd, JobMark, JobRecordText, StoredJob } from '#shared/contract/job-record.ts'
import type { JobBinding } from '#shared/contract/lent-offers.ts'

/**
 * The records of long jobs in Redis, which both planes read and write. The first end counts, whichever plane writes it.
 * Every method throws AppError `service_unavailable` while Redis is out of reach.
 */
export type JobBook = {
  /** Reads jobs by the request ids of their submits, in that order. Undefined for a job without a record. */
  read(rids: readonly string[]): Promise<(StoredJob | undefined)[]>
  /**
   * Stores a record again that Redis has lost, and its place among its account's jobs. An existing record stays as it
   * is.
   */
  restore(job: JobRecordText, standing: JobStanding, now: number): Promise<void>
  /** Stores again the reason why a job is hidden, for a job whose record Redis has lost. `deadlineAt` is the job's. */
  hide(job: Pick<JobRecordText, 'rid' | 'deadlineAt'>, why: 'deleted' | 'withheld', now: number): Promise<void>
  /**
   * Stores the submit of a forwarded job again that Redis has lost, and its binding. Of such a job, Redis keeps
   * only the submit, the binding and the end.
   */
  restoreForwarded(job: ForwardedSubmit, now: number): Promise<void>
  /** Stores the end of a job unless it has one. Returns the end that counts. The job must have a record. */
  end(rid: string, end: JobEnd): Promise<JobEnd>
  /** Stores the event of a booked end that the record does not have. */
  noteLostEnd(rid: string, event: string): Promise<void>
  /** Marks the end of a job as booked. A data plane then copies files that its provider will drop. */
  markBooked(rid: string, mark: { readonly hasFiles: boolean }): Promise<void>
  /** Marks a job whose buyer has asked to stop it. The job must have a record. */
  markStopped(rid: string): Promise<void>
  /** Some of the marks that the ledger does not know yet, in no order. They stay until {@link JobBook.dropMarks}. */
  readMarks(limit: number): Promise<JobMark[]>
  dropMarks(marks: readonly JobMark[]): Promise<void>
  /** The progress of a restore of jobs since Redis was empty; undefined before the restore begins. */
  restoredTo(): Promise<string | undefined>
  /** Does nothing once a restore has begun. */
  beginRestore(to: string): Promise<void>
  /** Returns false when Redis has lost its data since. Then the restore must begin anew. */
  noteRestored(to: string): Promise<boolean>
}

/** The facts about a job whose record is stored again. A withheld or deleted job is hidden. */
export type JobStanding = {
  readonly isWithheld: boolean
  readonly isStopped?: boolean
  readonly isDeleted?: boolean
  /** The end of a job that is booked. */
  readonly end?: JobEnd
  /** The event of such an end, when its shown form is unknown. */
  readonly lostEnd?: string
}

/** The record of a forwarded job: the event of its submit. `deadlineAt` is Unix milliseconds. */
export type ForwardedSubmit = {
  readonly rid: string
  readonly submit: string
  readonly deadlineAt: number
  /**
   * The buyer who may look the job up, the resource, and the provider's id of the job. Undefined when the event
   * of the submit lacks them.
   */
  readonly bound?: { readonly resource: string; readonly job: string; readonly to: JobBinding } | undefined
  /** The job's end, once booked. */
  readonly end?: JobEnd | undefined
}
