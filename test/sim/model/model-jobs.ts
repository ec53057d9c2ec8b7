import type { UnitPrices } from '#shared/pricing.ts'
import type { JobPlan, JobQuestion } from '#test/sim/plan/job-plan.ts'
import type { ModelRequest } from './model-request.ts'

/** A job at a provider that accepted it. */
export type TakenJob = {
  readonly isCapped: boolean
  readonly sellerAccount: string | null
  readonly quoteMicro: bigint
  /** The cost of the job in its present state, in micro-USD. */
  dueMicro(): bigint
}

/** A long job as an outside observer knows it. */
export type ModelJob = {
  readonly plan: JobPlan
  /** The market's prices at the submit. The job is charged by them. */
  readonly prices: UnitPrices
  /** The request of the submit, which captures the whole quote. */
  readonly submit: ModelRequest
  /** The time of the submit, in milliseconds of the world. */
  readonly submittedAt: number
  /**
   * Providers that accepted the job, by their ids for it. A provider whose answer was lost runs the job without pay.
   */
  readonly taken: Map<string, TakenJob>
  /**
   * The kept share of the list price at each provider that was asked to accept the job, in the order of the requests.
   */
  readonly askedBps: bigint[]
  /** The poll that the provider answers now. */
  question: JobQuestion | undefined
  /** Requests of that poll that reached the provider. */
  readonly heard: ('question' | 'cancel')[]
  /** Number of the buyer's polls under way. */
  asking: number
  /** The capture of the job's end by the process that showed the job last. */
  end: ModelRequest | undefined
  /** The event of the end, from its first capture. */
  endText: string | undefined
  /** True when no provider gave an end at the deadline. The job may be free then. */
  isEndedUnasked: boolean
}
