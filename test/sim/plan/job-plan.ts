import type { Random } from '#test/sim/time/random.ts'

/**
 * Failures of a provider at a submit or a poll. `lost`: the provider carries the request out, and its answer is lost.
 */
const FAULTS = ['refused', 'server_error', 'malformed', 'lost'] as const
export type JobFault = (typeof FAULTS)[number]

/** A poll of the buyer, `afterMs` milliseconds after the previous answer. */
export type JobQuestion = {
  readonly machine: number
  readonly afterMs: number
  readonly isCancel: boolean
  readonly fault: JobFault | undefined
}

/** The course of one long job, drawn before its submit. */
export type JobPlan = {
  readonly buyer: number
  /** The ordered length, and the length that the provider reports. Undefined when the provider reports none. */
  readonly seconds: number
  readonly usedSeconds: number | undefined
  /** Failures of the first providers. The next provider accepts the job, if there is one. */
  readonly failures: readonly JobFault[]
  readonly paceMs: number
  readonly runMs: number
  /** `never`: the job runs until it is cancelled. */
  readonly ending: 'succeeded' | 'failed' | 'never'
  readonly questions: readonly JobQuestion[]
  /** True when the provider does not answer at the deadline. */
  readonly isSilentLate: boolean
  /** The provider's answers to workers before the deadline: the truth, no answer, or that the job is unknown. */
  readonly toWorkers: 'open' | 'silent' | 'forgetful'
  /** The latency of the provider's answers to workers. A buyer may see the end meanwhile. */
  readonly workerPaceMs: number
}

const LEAST_RUN_MS = 10

export function jobPlan(random: Random): JobPlan {
  const seconds = random.between(1, 6)
  const count = random.between(0, 4)
  return {
    buyer: random.chance(0.7) ? random.between(0, 1) : random.between(0, 4),
    seconds,
    usedSeconds: random.chance(0.8) ? random.between(0, seconds + 1) : undefined,
    failures: random.chance(0.35) ? Array.from({ length: random.between(1, 3) }, () => random.pick(FAULTS)) : [],
    paceMs: random.chance(0.1) ? random.between(500, 4_000) : random.between(1, 150),
    runMs: random.between(LEAST_RUN_MS, 6_000),
    ending: random.pick(['succeeded', 'succeeded', 'succeeded', 'failed', 'never']),
    questions: Array.from({ length: count }, () => ({
      machine: random.between(0, 2),
      afterMs: random.between(1, 5_000),
      isCancel: random.chance(0.08),
      fault: random.chance(0.2) ? random.pick(FAULTS) : undefined,
    })),
    isSilentLate: random.chance(0.3),
    toWorkers: random.pick(['open', 'open', 'open', 'silent', 'silent', 'forgetful']),
    workerPaceMs: random.chance(0.5) ? random.between(1, 150) : random.between(500, 9_000),
  }
}
