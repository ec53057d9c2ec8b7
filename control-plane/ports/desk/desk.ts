import type { NodeReport } from '#shared/contract/node-report.ts'
import type { MicroUsd } from '#shared/money.ts'

/** An open hold as the gate has it. Times are Unix milliseconds. */
export type OpenHold = {
  readonly rid: string
  readonly account: string
  readonly keyId: string | null
  readonly node: string
  readonly amountMicro: MicroUsd
  readonly openedAt: number
  readonly expiresAt: number
}

/** A process as the gate knows it, with what it last said of itself; null when it said nothing in the last hour. */
export type KnownNode = {
  readonly node: string
  /** Unix milliseconds of its last sign of life; null for one that signed off with nothing to settle. */
  readonly lastSeenAt: number | null
  /** Whether its membership is on record: only then it admits paid calls. */
  readonly isMember: boolean
  readonly report: NodeReport | null
}

/** How many jobs of a queue are in which state. */
export type QueueCounts = {
  readonly queue: string
  readonly waiting: number
  readonly active: number
  readonly delayed: number
  readonly failed: number
}

/** A job that gave up; what it carries is not shown. Times are Unix milliseconds. */
export type FailedJob = {
  readonly id: string
  readonly name: string
  readonly reason: string
  readonly attempts: number
  readonly addedAt: number
  readonly failedAt: number | null
}

/**
 * What operators see of the running system beside the tables. Everything throws AppError `service_unavailable` while
 * Redis is away.
 */
export type Desk = {
  /** Open holds, those that end first before the others: of one account or of all. */
  listHolds(wanted: { readonly account: string | undefined; readonly limit: number }): Promise<OpenHold[]>
  /** Gives one hold back as its deadline would; false when it is not open (any more). */
  releaseHold(rid: string): Promise<boolean>
  listNodes(): Promise<KnownNode[]>
  countJobs(): Promise<QueueCounts[]>
  listFailed(queue: string, limit: number): Promise<FailedJob[]>
  /** Puts failed jobs back in their queue: one, or at most `limit`; answers how many. */
  retryJobs(queue: string, which: { readonly id: string } | { readonly limit: number }): Promise<number>
  /** Bytes of snapshot documents in the store, by name; a missing one is not there. */
  documentSizes(names: readonly string[]): Promise<ReadonlyMap<string, number>>
}
