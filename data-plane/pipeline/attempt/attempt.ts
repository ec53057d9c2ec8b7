import { noRoom } from '#data-plane/pipeline/answer-room.ts'
import type { AttemptResult } from '#data-plane/pipeline/attempt-result.ts'
import { attemptRow } from '#data-plane/pipeline/attempt-result.ts'
import { startAnswer } from '#data-plane/pipeline/buyer-answer.ts'
import type { CallPlane } from '#data-plane/pipeline/call-plane.ts'
import { progressEvent } from '#data-plane/pipeline/settle-call.ts'
import type { AttemptJob } from '#data-plane/pipeline/stages.ts'
import type { TakenAhead } from '#data-plane/rails/rail.ts'
import type { UpstreamFailure } from '#data-plane/upstream/classify.ts'
import {
  classifyBadAnswer,
  classifyError,
  ownFailure,
  paymentFailure,
  requestFailure,
  roomFailure,
} from '#data-plane/upstream/classify.ts'
import type { UpstreamHead } from '#data-plane/upstream/send.ts'
import { crashPoint } from '#shared/crash-point.ts'
import { AppError } from '#shared/errors.ts'
import { awaitsHead, firstByteMsOf, isAnswer } from './answer-head.ts'
import { speakerIn } from './ask-provider.ts'
import { isOverrun, isPastCeiling, isTooSlow, OVERRUN_PIECES } from './attempt-limits.ts'
import { classifyRefusal } from './classify-refusal.ts'
import type { AttemptEnd, RunningAttempt } from './running-attempt.ts'
import { openAttempt } from './running-attempt.ts'

/** Most bytes that are read of a refusal's body. */
const MAX_REFUSAL_BYTES = 65_536
/** Milliseconds for which a provider may keep a stream open after its end. */
const LINGER_MS = 5_000
/** The next of several exchanges waits this many milliseconds when that may save it a new connection. */
const REUSE_MS = 250
const PROGRESS_EVERY_MS = 2_000
const PROGRESS_EVERY_PIECES = 1_000

/** Sends one request and relays its answer until it ends in any way. Never rejects. */
export function runAttempt(plane: CallPlane, job: AttemptJob): Promise<AttemptResult> {
  return new Promise((resolve) => {
    const run = openAttempt(plane, job, { resolve, tick })
    const { reply } = job.turn.call
    if (reply.isGone()) {
      finish(run, { isGone: true })
      return
    }
    reply.onGone(() => buyerLeft(run))
    send(run)
  })
}

function send(run: RunningAttempt): void {
  const { plane, job, request } = run
  plane.process.ticker.add(run.watcher)
  run.flow = plane.upstream.send(
    job.plan.offer,
    request,
    {
      firstByteMs: firstByteMsOf(plane.limits, job.turn.call.demand),
      // A call that may go to a second provider may go to the same one twice. Once is enough for all exchanges.
      mayResend: job.turn.call.route.failover === 'until-content' && !run.isResent,
    },
    {
      onConnected() {
        if (run.place === 0) run.connectedAt = plane.clock.monotonic()
      },
      onResend() {
        run.isResent = true
      },
      onHead(head) {
        takeHead(run, head)
      },
      onData(chunk) {
        takeData(run, chunk)
      },
      onEnd() {
        takeEnd(run)
      },
      onError(error, isSent) {
        takeError(run, error, isSent)
      },
    },
  )
  run.stream.attach(run.flow)
}

function takeHead(run: RunningAttempt, head: UpstreamHead): void {
  run.head = head
  crashPoint('after_headers')
  const { decoder, turn } = run.job
  if (isAnswer(decoder, turn.call.demand, head)) decoder.head?.takeHeaders?.(head.headers)
  else run.refusal = []
}

function takeData(run: RunningAttempt, chunk: Buffer): void {
  if (run.isOver) return
  if (run.refusal) {
    run.refusalBytes += chunk.length
    if (run.refusalBytes <= MAX_REFUSAL_BYTES) run.refusal.push(chunk)
    else endRefused(run)
    return
  }
  const { decoder } = run.job
  const part = decoder.push(chunk)
  run.plane.answers.add(run, chunk.length, part.length > 0)
  if (part.length > 0) deliver(run, part)
  const bad = decoder.failure()
  if (bad) {
    run.flow?.abort()
    finish(run, { failure: classifyBadAnswer(bad, speakerIn(run.plane, run.job.plan, run.request)) })
  } else if (decoder.isDone()) {
    if (hasNext(run)) run.lingerUntil ||= run.plane.clock.monotonic() + REUSE_MS
    else finish(run, {})
  } else if (run.job.plan.isCeilingBound ? isPastCeiling(run) : run.pieces > OVERRUN_PIECES && isOverrun(run)) {
    decoder.stop()
    run.flow?.abort()
    endExchange(run)
  }
}

/** True when another request follows. After the buyer has left, none follows. */
function hasNext({ job, place, drainUntil }: RunningAttempt): boolean {
  const { following } = job.request
  return following !== undefined && place < following.length && drainUntil === undefined
}

/** Ends the present exchange: sends the next request, or ends the attempt. */
function endExchange(run: RunningAttempt): void {
  const { plane, job } = run
  const next = hasNext(run) ? job.request.following?.[run.place] : undefined
  if (next === undefined) {
    if (!job.turn.call.demand.isStreamed) run.firstContentAt ??= plane.clock.monotonic()
    finish(run, {})
    return
  }
  plane.process.ticker.remove(run.watcher)
  run.earlier = { pieces: run.pieces, contentBytes: job.decoder.ending().contentBytes }
  job.decoder.goOn?.()
  run.request = next
  run.place++
  run.head = undefined
  run.lingerUntil = 0
  send(run)
}

function deliver(run: RunningAttempt, part: string | Buffer): void {
  const now = run.plane.clock.monotonic()
  const { job } = run
  run.pieces = job.decoder.contentPieces()
  run.lastContentAt = now
  const isFirst = run.firstContentAt === undefined
  if (isFirst) {
    run.firstContentAt = now
    const { payment, hold } = job.turn.call
    if (payment.takeAhead !== undefined) takeFirst(run, payment.takeAhead(hold))
  }
  if (run.held === undefined) show(run, part, isFirst, now)
  else run.held.push(part)
}

function show(run: RunningAttempt, part: string | Buffer, isFirst: boolean, now: number): void {
  if (isFirst) {
    if (run.drainUntil === undefined && !run.job.turn.call.reply.isStarted()) begin(run, true)
    record(run, now)
    crashPoint('after_first_content')
  } else {
    if (run.pieces - run.recordedPieces >= PROGRESS_EVERY_PIECES) record(run, now)
    crashPoint('mid_stream')
  }
  if (run.drainUntil === undefined) run.stream.send(part, now)
}

/** Holds content back until the payment is taken. A payment that cannot be taken ends the attempt. */
function takeFirst(run: RunningAttempt, taking: Promise<TakenAhead>): void {
  run.held = []
  run.flow?.pause()
  void taking.then((takenAhead) => {
    const { held = [], ending } = run
    run.held = undefined
    if (takenAhead.refusal !== undefined) {
      run.flow?.abort()
      finish(run, { failure: paymentFailure(takenAhead.refusal) })
      return
    }
    run.receipt = takenAhead.headers
    const now = run.plane.clock.monotonic()
    for (const [index, part] of held.entries()) show(run, part, index === 0, now)
    // On resume the client delivers at once the bytes that it kept, so they must follow the bytes that were held here.
    if (!run.stream.isPaused() && !run.isWaiting) run.flow?.resume()
    if (ending !== undefined) finish(run, ending)
  })
}

/** Sends the stream's head. It names this attempt only if the attempt has brought content. */
function begin({ job, receipt }: RunningAttempt, hasWon: boolean): void {
  const { call, decisionMs } = job.turn
  startAnswer(call, hasWon ? job : undefined, { attempts: job.before.length + 1, decisionMs, paid: receipt })
}

/** Writes the progress of the call to the journal. */
function record(run: RunningAttempt, now: number): void {
  run.recordedAt = now
  run.recordedPieces = run.pieces
  const { plane, job } = run
  const { turn, plan, decoder, before } = job
  turn.hasProgress = true
  const { sentAt, connectedAt, isResent } = run
  const soFar = { status: 200, sentAt, connectedAt, isResent, endedAt: now, failure: undefined }
  const attempts = [...before, attemptRow(plan, soFar)]
  plane.money.journal.progress({
    hold: turn.call.hold,
    offer: plan.offer.id,
    ...progressEvent(plane, turn.call, { plan, decoder, attempts }),
  })
}

function takeEnd(run: RunningAttempt): void {
  run.plane.process.ticker.remove(run.watcher)
  if (run.isOver) return
  if (run.refusal) {
    endRefused(run)
    return
  }
  run.job.decoder.end()
  const bad = run.job.decoder.failure()
  if (bad) finish(run, { failure: classifyBadAnswer(bad, speakerIn(run.plane, run.job.plan, run.request)) })
  else endExchange(run)
}

function takeError(run: RunningAttempt, error: Error, isSent: boolean): void {
  run.plane.process.ticker.remove(run.watcher)
  run.isSent = isSent
  // A complete answer no longer needs its connection.
  if (!run.isOver && run.lingerUntil > 0) endExchange(run)
  // The buyer's own body failed during its upload.
  else if (error instanceof AppError) finish(run, { failure: requestFailure(error) })
  else finish(run, { failure: wentWrong(run, () => classifyError(error, run.head !== undefined)) })
}

/** A provider that was paused here is not to blame for a broken connection or a timeout. */
function wentWrong({ hasWaited }: RunningAttempt, otherwise: () => UpstreamFailure): UpstreamFailure {
  return hasWaited ? roomFailure(noRoom()) : otherwise()
}

function endRefused(run: RunningAttempt): void {
  const text = Buffer.concat(run.refusal ?? []).toString('utf8')
  run.flow?.abort()
  finish(run, {
    failure: classifyRefusal(run.job.plan.offer, run.head, text, speakerIn(run.plane, run.job.plan, run.request)),
  })
}

/** Handles a buyer who left. The answer is read on for its usage, within limits. */
function buyerLeft(run: RunningAttempt): void {
  // A buyer who stopped reading has already left when the connection ends.
  if (run.isOver || run.drainUntil !== undefined) return
  const { plane } = run
  const { drainMs, unseenDrainMs, maxDrains } = plane.limits
  if (run.lingerUntil === 0 && plane.process.drains.count < maxDrains) {
    plane.process.drains.count++
    run.drainUntil = plane.clock.monotonic() + (run.pieces > 0 ? drainMs : unseenDrainMs)
    run.stream.discard()
    run.flow?.resume()
    return
  }
  run.flow?.abort()
  finish(run, { isGone: true })
}

function tick(run: RunningAttempt, now: number): void {
  const { plane, job } = run
  if (run.isOver) {
    // The answer is complete and only its connection is open. It may be reused if it ends in time.
    if (now < run.lingerUntil) return
    run.flow?.abort()
    plane.process.ticker.remove(run.watcher)
    return
  }
  if (plane.process.ending.isDue) giveUp(run, 'the process ends')
  else if (now >= job.deadlineAt) giveUp(run, 'the whole call took too long')
  else if (run.drainUntil !== undefined) {
    if (now >= run.drainUntil) {
      run.flow?.abort()
      finish(run, { isGone: true })
    }
  } else if (run.lingerUntil > 0) {
    if (now < run.lingerUntil) return
    run.flow?.abort()
    endExchange(run)
  } else if (job.turn.call.demand.isStreamed) tickStream(run, now)
}

function tickStream(run: RunningAttempt, now: number): void {
  const { plane, job } = run
  // While a payment is being taken, the provider waits for us.
  if (run.held !== undefined) run.lastContentAt = now
  const mayBeSilent = job.turn.call.demand.isWorkedInSilence === true || run.held !== undefined
  if (run.stream.isStuck(now, plane.limits.idleMs)) buyerLeft(run)
  // While the buyer is slow or there is no room, silence of the provider means nothing.
  else if (run.stream.isPaused() || run.isWaiting || awaitsHead(run.head, job.request)) run.lastContentAt = now
  else if (!mayBeSilent && now - run.lastContentAt >= plane.limits.idleMs) giveUp(run, 'no content for too long')
  else if (!mayBeSilent && isTooSlow(run, now)) giveUp(run, 'too slow')
  else {
    if (run.pieces > run.recordedPieces && now - run.recordedAt >= PROGRESS_EVERY_MS) record(run, now)
    if (run.stream.silentSince(run.sentAt, now) < plane.limits.keepAliveMs) return
    const sign = job.decoder.keepAlive()
    if (sign === '') return
    if (!job.turn.call.reply.isStarted()) begin(run, false)
    run.stream.send(sign, now)
  }
}

function giveUp(run: RunningAttempt, detail: string): void {
  run.flow?.abort()
  finish(run, { failure: wentWrong(run, () => ownFailure(run.pieces > 0 ? 'cut' : 'timeout', detail)) })
}

function finish(run: RunningAttempt, outcome: AttemptEnd): void {
  if (run.isOver) return
  if (run.held !== undefined) {
    run.ending ??= outcome
    return
  }
  run.isOver = true
  const { plane } = run
  if (run.drainUntil !== undefined) plane.process.drains.count--
  run.stream.flush()
  plane.answers.end(run, outcome.failure === undefined ? run.job.turn.call.reply : undefined)
  const now = plane.clock.monotonic()
  run.lingerUntil = now + LINGER_MS
  run.resolve({
    failure: outcome.failure,
    isGone: outcome.isGone ?? run.drainUntil !== undefined,
    status: run.head?.status ?? outcome.failure?.status ?? 0,
    isSent: run.isSent,
    sentAt: run.sentAt,
    connectedAt: run.connectedAt,
    isResent: run.isResent,
    endedAt: now,
    firstContentAt: run.firstContentAt,
    lastContentAt: run.firstContentAt === undefined ? undefined : run.lastContentAt,
  })
}
