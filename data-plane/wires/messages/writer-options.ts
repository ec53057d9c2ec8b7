import type { ModelPlan } from '#data-plane/call.ts'
import type { ReportedUsage } from '#shared/protocols/answers/reported-usage.ts'

/** The facts of a call that the writers of a message need. */
export type WriterOptions = {
  readonly plan: ModelPlan
  readonly isStreamed: boolean
  /**
   * True for a provider that signs its reasoning. Other reasoning is hidden: no provider accepts an unsigned block
   * back.
   */
  readonly showsThoughts: boolean
  /** Our own estimate of the input in tokens, for the beginning of a stream whose provider reports nothing yet. */
  readonly inputEstimate: number
  reported(): ReportedUsage
}
