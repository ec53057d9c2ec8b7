import { createHash } from 'node:crypto'
import { HOUR, MINUTE, SECOND } from '#shared/clock.ts'

/** Limits of the questions about open jobs. */
export const JOB_POLLS = {
  /** The first question comes so long after the submit. Each pause after it is longer by the factor, up to the ceiling. */
  firstMs: 5 * SECOND,
  factor: 1.5,
  ceilingMs: 5 * MINUTE,
  /** Share by which a pause may be shorter or longer, so that jobs of one moment do not stay together. */
  jitter: 0.2,
  /** The longest pause that a provider may ask for. */
  retryAfterMs: HOUR,
  /** A worker that has not come back with an answer for so long is taken for dead. */
  leaseMs: MINUTE,
  /** Questions at a time: to one provider by all workers, and by one worker to all providers. */
  perProvider: 32,
  inFlight: 128,
  /** A provider that says so often in a row that there is no such job has lost it. */
  lostAfter: 6,
} as const

/** More pauses than these do not make the next one longer. */
const MAX_STEPS = 32

/** The instant of the first question about a job. `now` is that of its submit. */
export function firstPoll(facts: Pick<Facts, 'rid' | 'now' | 'deadlineAt'>): number {
  return Math.min(nextPoll({ ...facts, polls: 0 }), facts.deadlineAt)
}

type Facts = {
  readonly rid: string
  /** Questions so far. */
  readonly polls: number
  readonly now: number
  readonly deadlineAt: number
  readonly retryAfterMs?: number | undefined
}

/**
 * The instant of the next question about a job. The last one is at the deadline, whatever its provider asks for. Only a
 * job that could not be ended then is asked about after it.
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
