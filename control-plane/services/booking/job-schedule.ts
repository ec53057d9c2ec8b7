import { createHash } from 'node:crypto'
import { HOUR, MINUTE, SECOND } from '#shared/clock.ts'

/** Limits of the polls of open jobs. */
export const JOB_POLLS = {
  /** The delay of the first poll after the submit. Each later pause grows by the factor, up to the ceiling. */
  firstMs: 5 * SECOND,
  factor: 1.5,
  ceilingMs: 5 * MINUTE,
  /** Share by which a pause varies, so that jobs of one moment are polled apart. */
  jitter: 0.2,
  /** The longest pause that a provider may ask for. */
  retryAfterMs: HOUR,
  /** A worker without a result for this long counts as dead. */
  leaseMs: MINUTE,
  /** Polls at a time: to one provider by all workers, and by one worker to all providers. */
  perProvider: 32,
  inFlight: 128,
  /** A job counts as lost after this many answers in a row that the provider does not know it. */
  lostAfter: 6,
} as const

/** Pauses grow no longer after this many polls. */
const MAX_STEPS = 32

/** The instant of a job's first poll. `now` is the instant of its submit. */
export function firstPoll(facts: Pick<Facts, 'rid' | 'now' | 'deadlineAt'>): number {
  return Math.min(nextPoll({ ...facts, polls: 0 }), facts.deadlineAt)
}

type Facts = {
  readonly rid: string
  /** Polls so far. */
  readonly polls: number
  readonly now: number
  readonly deadlineAt: number
  readonly retryAfterMs?: number | undefined
}

/**
 * The instant of a job's next poll. The last poll is at the deadline, whatever pause the provider asks for. Only a job
 * that could not end at its deadline is polled later.
 */
export function nextPoll({ rid, polls, now, deadlineAt, retryAfterMs = 0 }: Facts): number {
  const { firstMs, factor, ceilingMs, jitter } = JOB_POLLS
  const pause = Math.min(firstMs * factor ** Math.min(polls, MAX_STEPS), ceilingMs)
  const spread = 1 + jitter * (2 * fractionOf(`${rid} ${polls}`) - 1)
  const due = now + Math.max(Math.round(pause * spread), Math.min(retryAfterMs, JOB_POLLS.retryAfterMs))
  return now >= deadlineAt ? due : Math.min(due, deadlineAt)
}

/** A number from 0 to below 1 that depends on the text alone. A job's pauses are the same in every process. */
function fractionOf(text: string): number {
  return createHash('sha1').update(text).digest().readUInt32BE(0) / 2 ** 32
}
