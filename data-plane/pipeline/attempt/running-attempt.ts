import type { UpstreamRequest } from '#data-plane/call.ts'
import type { ComingAnswer } from '#data-plane/pipeline/answer-room.ts'
import type { AttemptResult } from '#data-plane/pipeline/attempt-result.ts'
import type { CallPlane } from '#data-plane/pipeline/call-plane.ts'
import type { AttemptJob } from '#data-plane/pipeline/stages.ts'
import type { Watcher } from '#data-plane/pipeline/ticker.ts'
import type { TakenAhead } from '#data-plane/rails/rail.ts'
import type { UpstreamFailure } from '#data-plane/upstream/classify.ts'
import type { UpstreamFlow, UpstreamHead } from '#data-plane/upstream/send.ts'
import type { Earlier } from './attempt-limits.ts'
import { NOTHING_EARLIER } from './attempt-limits.ts'
import type { BuyerStream } from './buyer-stream.ts'
import { createBuyerStream, NO_STREAM } from './buyer-stream.ts'

/** An attempt under way. */
export type RunningAttempt = ComingAnswer & {
  readonly plane: CallPlane
  readonly job: AttemptJob
  readonly resolve: (result: AttemptResult) => void
  readonly sentAt: number
  /** The instant at which the first request had a connection, the new one if it was sent again. */
  connectedAt: number | undefined
  /** True once a request was sent again, because its idle connection was closed as it left. */
  isResent: boolean
  readonly watcher: Watcher
  readonly stream: BuyerStream
  /** The present request, the number of requests before it, and the content that they brought. */
  request: UpstreamRequest
  place: number
  earlier: Earlier
  flow: UpstreamFlow | undefined
  head: UpstreamHead | undefined
  /** Bytes of a refusal; undefined until the head shows that the answer is one. */
  refusal: Buffer[] | undefined
  refusalBytes: number
  pieces: number
  firstContentAt: number | undefined
  lastContentAt: number
  recordedAt: number
  recordedPieces: number
  /** Monotonic milliseconds. Set once the buyer has left and the rest is read for its usage. */
  drainUntil: number | undefined
  isOver: boolean
  /** Monotonic milliseconds until which the connection of a complete answer may end by itself. */
  lingerUntil: number
  /**
   * Content that waits until the payment is taken, and the end that arrived meanwhile. Undefined lets content through.
   */
  held: (string | Buffer)[] | undefined
  ending: AttemptEnd | undefined
  /** Headers of a payment that was taken ahead. */
  receipt: TakenAhead['headers']
  /** False once it is certain that no byte of the request was sent. */
  isSent: boolean
}

export type AttemptEnd = { readonly failure?: UpstreamFailure; readonly isGone?: boolean }

type Listeners = Pick<RunningAttempt, 'resolve'> & { tick(run: RunningAttempt, now: number): void }

/** An attempt before its first request is sent. */
export function openAttempt(plane: CallPlane, job: AttemptJob, { resolve, tick }: Listeners): RunningAttempt {
  const sentAt = plane.clock.monotonic()
  const { reply, demand } = job.turn.call
  const run: RunningAttempt = {
    plane,
    job,
    resolve,
    sentAt,
    connectedAt: undefined,
    isResent: false,
    watcher: {
      place: -1,
      tick(now) {
        tick(run, now)
      },
    },
    stream: demand.isStreamed ? createBuyerStream(reply) : NO_STREAM,
    request: job.request,
    place: 0,
    earlier: NOTHING_EARLIER,
    flow: undefined,
    head: undefined,
    refusal: undefined,
    refusalBytes: 0,
    pieces: 0,
    firstContentAt: undefined,
    lastContentAt: sentAt,
    recordedAt: sentAt,
    recordedPieces: 0,
    drainUntil: undefined,
    isOver: false,
    lingerUntil: 0,
    held: undefined,
    ending: undefined,
    receipt: undefined,
    isSent: true,
    heldBytes: 0,
    isShown: false,
    isWaiting: false,
    hasWaited: false,
  }
  return run
}
