import type { AttemptJob } from '#data-plane/pipeline/stages.ts'
import { BYTES_A_TOKEN } from '#shared/usage.ts'

/** After its first minute, a stream is given up when its pieces take more milliseconds than this on average. */
const SLOWEST_PIECE_MS = 10_000
const SLOW_AFTER_MS = 60_000
/** A stream may exceed the output limit of its request by this factor and this many pieces. */
const OVERRUN = 1.1
export const OVERRUN_PIECES = 64
/**
 * Under the buyer's own cost ceiling, a stream may exceed its limit only by the error of an estimate from the bytes of
 * a text. In tokens.
 */
const CEILING_SLACK_TOKENS = 8

/** Content from the earlier exchanges of an attempt. */
export type Earlier = { readonly pieces: number; readonly contentBytes: number }

export const NOTHING_EARLIER: Earlier = { pieces: 0, contentBytes: 0 }

/** The progress of an attempt. `firstContentAt` is monotonic milliseconds. */
type Progress = {
  readonly job: Pick<AttemptJob, 'plan' | 'turn' | 'decoder' | 'request'>
  readonly pieces: number
  readonly earlier: Earlier
  readonly firstContentAt: number | undefined
}

/** The output limit of the present exchange, for all its choices. All exchanges have the same number of choices. */
function limitOf({ plan, turn, request: { following } }: Progress['job']): number {
  const { choices } = turn.call.quote.bound
  return plan.maxOutputTokens * (following === undefined ? choices : choices / (1 + following.length))
}

/** True for a stream so far past its limit that its provider ignores the limit. */
export function isOverrun({ job, pieces, earlier }: Progress): boolean {
  // A purchase without a count of tokens has no limit in tokens.
  if (job.plan.maxOutputTokens === 0) return false
  const limit = limitOf(job) * OVERRUN + OVERRUN_PIECES
  // Pieces may be parts of tokens, so their bytes must confirm the excess.
  if (pieces - earlier.pieces <= limit) return false
  return (job.decoder.ending().contentBytes - earlier.contentBytes) / BYTES_A_TOKEN > limit
}

/**
 * True when the delivered text is worth the buyer's own ceiling. That also ends a stream whose provider ignores its
 * limit. A non-streamed answer is taken whole; its charge ends at the ceiling.
 */
export function isPastCeiling({ job, pieces, earlier }: Progress): boolean {
  if (pieces === 0) return false
  const tokens = (job.decoder.ending().contentBytes - earlier.contentBytes) / BYTES_A_TOKEN
  return tokens > limitOf(job) * OVERRUN + CEILING_SLACK_TOKENS
}

/** True for a stream whose pieces come too slowly on average. */
export function isTooSlow(
  { job, firstContentAt, pieces }: Pick<Progress, 'job' | 'firstContentAt' | 'pieces'>,
  now: number,
): boolean {
  // Each of several choices may begin after a long reasoning, so only their silences count. A forwarded answer has no
  // meaningful pieces here.
  if (firstContentAt === undefined || job.request.following !== undefined || job.request.passedOn !== undefined)
    return false
  const elapsed = now - firstContentAt
  return elapsed > SLOW_AFTER_MS && pieces * SLOWEST_PIECE_MS < elapsed
}
