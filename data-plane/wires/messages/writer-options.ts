import type { AttemptPlan, ReportedUsage } from '#data-plane/call.ts'

/** What the writers of a message need to know of its call. */
export type WriterOptions = {
  readonly plan: AttemptPlan
  readonly isStreamed: boolean
  /** True where thoughts come with what their maker wants to see again; without it they are not shown. */
  readonly showsThoughts: boolean
  /** Our own estimate of the input in tokens, for the beginning of a stream whose provider says nothing yet. */
  readonly inputEstimate: number
  reported(): ReportedUsage
}
