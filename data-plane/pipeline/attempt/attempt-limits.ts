import { BYTES_A_TOKEN } from '#data-plane/pipeline/meter/clip-usage.ts'
import type { AttemptJob } from '#data-plane/pipeline/stages.ts'

/** After its first minute, a stream is given up when its pieces take more milliseconds than this on average. */
const SLOWEST_PIECE_MS = 10_000
const SLOW_AFTER_MS = 60_000
/** A stream may run past the limit that its provider was told, by this factor and so many pieces. */
const OVERRUN = 1.1
export const OVERRUN_PIECES = 64
/**
 * Under the buyer's own cost ceiling a stream may pass its limit by fewer tokens. The bytes of a text estimate its
 * tokens this closely.
 */
const CEILING_SLACK_TOKENS = 8

/** Content from the exchanges of an attempt before the one under way. */
export type Earlier = { readonly pieces: number; readonly contentBytes: number }

export const NOTHING_EARLIER: Earlier = { pieces: 0, contentBytes: 0 }

/** The progress of an attempt. `firstContentAt` is monotonic milliseconds. */
type Progress = {
  readonly job: Pick<AttemptJob, 'plan' | 'turn' | 'decoder' | 'request'>
  readonly pieces: number
  readonly earlier: Earlier
  readonly firstContentAt: number | undefined
}

/** The output limit of the exchange under way, for all its choices. Every exchange has as many. */
function limitOf({ plan, turn, request: { following } }: Progress['job']): number {
  const { choices } = turn.call.quote.bound
  return plan.maxOutputTokens * (following === undefined ? choices : choices / (1 + following.length))
}

/** True when a stream has run so far past its limit that its provider ignores the limit. */
export function isOverrun({ job, pieces, earlier }: Progress): boolean {
  // A purchase that is not counted in tokens has no limit in tokens.
  if (job.plan.maxOutputTokens === 0) return false
  const limit = limitOf(job) * OVERRUN + OVERRUN_PIECES
  // Pieces may be parts of tokens, so their bytes must say the same.
  if (pieces - earlier.pieces <= limit) return false
  return (job.decoder.ending().contentBytes - earlier.contentBytes) / BYTES_A_TOKEN > limit
}

/**
 * True when the delivered text is worth the buyer's own ceiling. That also ends a stream whose provider ignores its
 * limit. A whole answer is taken whole; its charge ends at the ceiling.
 */
export function isPastCeiling({ job, pieces, earlier }: Progress): boolean {
  if (pieces === 0) return false
  const tokens = (job.decoder.ending().contentBytes - earlier.contentBytes) / BYTES_A_TOKEN
  return tokens > limitOf(job) * OVERRUN + CEILING_SLACK_TOKENS
}

/** True for a stream that trickles. */
export function isTooSlow(
  { job, firstContentAt, pieces }: Pick<Progress, 'job' | 'firstContentAt' | 'pieces'>,
  now: number,
): boolean {
  // Each of several answers may be thought over before it begins, so only their silences count. A forwarded answer is
  // in no pieces that mean anything here.
  if (firstContentAt === undefined || job.request.following !== undefined || job.request.passedOn !== undefined)
    return false
  const elapsed = now - firstContentAt
  return elapsed > SLOW_AFTER_MS && pieces * SLOWEST_PIECE_MS < elapsed
}
