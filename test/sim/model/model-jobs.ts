import type { UnitPrices } from '#shared/pricing.ts'
import type { JobPlan, JobQuestion } from '#test/sim/plan/job-plan.ts'
import type { ModelRequest } from './model-request.ts'

/** A job at a provider that took it. */
export type TakenJob = {
  readonly isCapped: boolean
  readonly sellerAccount: string | null
  readonly quoteMicro: bigint
  /** The cost of the job in its present state, in micro-USD. */
  dueMicro(): bigint
}

/** A long job as an observer from outside knows it. */
export type ModelJob = {
  readonly plan: JobPlan
  /** The market's prices when it was submitted. It is charged by them. */
  readonly prices: UnitPrices
  /** The request of its submit, which captures the whole quote. */
  readonly submit: ModelRequest
  /** When it was submitted, in milliseconds of the world. */
  readonly submittedAt: number
  /** Providers that took it, by their ids for it. One whose answer was lost runs it for nothing. */
  readonly taken: Map<string, TakenJob>
  /** The kept share of the list price at the providers that were asked to take it, in the order of the questions. */
  readonly askedBps: bigint[]
  /** The question that its provider has now. */
  question: JobQuestion | undefined
  /** The requests of that question that its provider has heard. */
  readonly heard: ('question' | 'cancel')[]
  /** Count of its buyer's questions that are under way. */
  asking: number
  /** The capture of its end by the process that showed it last. */
  end: ModelRequest | undefined
  /** The event of its end as it was captured first. */
  endText: string | undefined
  /** True when nobody said at the deadline how it ended. It may then be free. */
  isEndedUnasked: boolean
}
