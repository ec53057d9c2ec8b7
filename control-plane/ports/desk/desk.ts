import type { NodeReport } from '#shared/contract/node-report.ts'
import type { MicroUsd } from '#shared/money.ts'

/** An open hold in the gate. Times are Unix milliseconds. */
export type OpenHold = {
  readonly rid: string
  readonly account: string
  readonly keyId: string | null
  readonly node: string
  readonly amountMicro: MicroUsd
  readonly openedAt: number
  readonly expiresAt: number
}

/** A process that the gate knows, and its last report. The report is null when it sent none in the last hour. */
export type KnownNode = {
  readonly node: string
  /** Unix milliseconds of its last signal; null for a process that signed off with nothing to settle. */
  readonly lastSeenAt: number | null
  /** True when its membership is on record. Only a member admits paid calls. */
  readonly isMember: boolean
  readonly report: NodeReport | null
}

/** Numbers of jobs of a queue by state. */
export type QueueCounts = {
  readonly queue: string
  readonly waiting: number
  readonly active: number
  readonly delayed: number
  readonly failed: number
}

/** A job that failed for good. Its data are not shown. Times are Unix milliseconds. */
export type FailedJob = {
  readonly id: string
  readonly name: string
  readonly reason: string
  readonly attempts: number
  readonly addedAt: number
  readonly failedAt: number | null
}

/**
 * The operators' view of the running system outside the tables. Everything throws AppError `service_unavailable` while
 * Redis is away.
 */
export type Desk = {
  /** Open holds of one account or of all, by their deadline. */
  listHolds(choice: { readonly account: string | undefined; readonly limit: number }): Promise<OpenHold[]>
  isHeld(rid: string): Promise<boolean>
  /** Releases one hold as its deadline would. Returns false when it is not open. */
  releaseHold(rid: string): Promise<boolean>
  listNodes(): Promise<KnownNode[]>
  countJobs(): Promise<QueueCounts[]>
  listFailed(queue: string, limit: number): Promise<FailedJob[]>
  hasFailed(queue: string, id: string): Promise<boolean>
  /** Puts failed jobs back in their queue, one by id or at most `limit`. Returns their number. */
  retryJobs(queue: string, which: { readonly id: string } | { readonly limit: number }): Promise<number>
  /** Sizes of snapshot documents in the store, in bytes by name. A missing document is left out. */
  documentSizes(names: readonly string[]): Promise<ReadonlyMap<string, number>>
}
