import type { JobEnd, JobMark, JobRecordText, StoredJob } from '#shared/contract/job-record.ts'
import type { JobBinding } from '#shared/contract/lent-offers.ts'

/**
 * The records of long jobs in Redis, which both planes read and write. The end that is written first stands, whoever
 * writes it. Every method throws AppError `service_unavailable` while Redis is out of reach.
 */
export type JobBook = {
  /** Reads jobs by the request ids of their submits, in that order. Undefined for a job that has no record. */
  read(rids: readonly string[]): Promise<(StoredJob | undefined)[]>
  /**
   * Writes a record again that Redis has lost, and its place among its account's. A record that is there stays as it is.
   */
  restore(job: JobRecordText, standing: JobStanding, now: number): Promise<void>
  /** Writes again why nobody is shown a job whose record Redis has lost. `deadlineAt` is that of the job. */
  hide(job: Pick<JobRecordText, 'rid' | 'deadlineAt'>, why: 'deleted' | 'withheld', now: number): Promise<void>
  /**
   * Writes the submit of a forwarded job again that Redis has lost, and to whom it is bound. It keeps nothing else of such a
   * job but its end.
   */
  restoreForwarded(job: ForwardedSubmit, now: number): Promise<void>
  /** Writes the end of a job unless it has one. Returns the end that stands. The job has to have a record. */
  end(rid: string, end: JobEnd): Promise<JobEnd>
  /** Notes the event of an end that is booked and that the record does not have. */
  noteLostEnd(rid: string, event: string): Promise<void>
  /** Notes that its end is booked. Files that its provider will drop are copied by a data plane then. */
  markBooked(rid: string, mark: { readonly hasFiles: boolean }): Promise<void>
  /** Notes that the buyer has asked to stop it. The job has to have a record. */
  markStopped(rid: string): Promise<void>
  /** Some of the marks that the ledger does not know yet, in no order. They stay until {@link JobBook.dropMarks}. */
  readMarks(limit: number): Promise<JobMark[]>
  dropMarks(marks: readonly JobMark[]): Promise<void>
  /** The progress of writing jobs again since Redis was empty; undefined where that has not begun. */
  restoredTo(): Promise<string | undefined>
  /** Does nothing where it has begun. */
  beginRestore(to: string): Promise<void>
  /** Returns false when Redis has lost its memory since. Then all has to begin anew. */
  noteRestored(to: string): Promise<boolean>
}

/** The facts about a job whose record is written again. A job that is withheld or deleted is shown to nobody. */
export type JobStanding = {
  readonly isWithheld: boolean
  readonly isStopped?: boolean
  readonly isDeleted?: boolean
  /** The end of a job that is booked. */
  readonly end?: JobEnd
  /** The event of such an end, where nobody knows any more how it is shown. */
  readonly lostEnd?: string
}

/** The record of a forwarded job: the event of its submit. `deadlineAt` is Unix milliseconds. */
export type ForwardedSubmit = {
  readonly rid: string
  readonly submit: string
  readonly deadlineAt: number
  /**
   * The buyer who may ask about the job, the resource, and the provider's id of the job. Undefined where its submit
   * does not say.
   */
  readonly bound?: { readonly resource: string; readonly job: string; readonly to: JobBinding } | undefined
  /** The job's end, where that is booked. */
  readonly end?: JobEnd | undefined
}
