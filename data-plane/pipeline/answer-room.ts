import type { BuyerReply } from '#data-plane/call.ts'
import type { UpstreamFlow } from '#data-plane/upstream/send.ts'
import { MAX_RESPONSE_BYTES } from '#data-plane/upstream/send.ts'
import { AppError } from '#shared/errors.ts'

/** Answers up to this size are not counted, because the number of open calls bounds their sum. In bytes. */
const SMALL_ANSWER_BYTES = 262_144
/** A resumed provider sends about this many bytes before it is paused again. */
const CHUNK_BYTES = 65_536
const RETRY_SECONDS = 2

/** The memory of an incoming answer. */
export type ComingAnswer = {
  /** Bytes that arrived and were not sent on. */
  heldBytes: number
  /** True while bytes are sent on as they arrive: they leave memory before the next ones come. */
  isShown: boolean
  /** True while its provider is paused for lack of room, and for good after the first pause. */
  isWaiting: boolean
  hasWaited: boolean
  readonly flow: Pick<UpstreamFlow, 'pause' | 'resume'> | undefined
}

/** Counts the memory of large answers: from the first byte until the buyer has read the last. */
export type AnswerRoom = {
  /**
   * Throws `overloaded` while there is no room. It is for calls with large answers, before any provider works on them.
   */
  admit(): void
  /** Counts bytes that arrived. While there is no room the provider of a large answer is paused. */
  add(answer: ComingAnswer, bytes: number, isShown: boolean): void
  /**
   * Ends the input of an answer. The answer keeps its room until `reply` is over; without a reply the room is freed at
   * once.
   */
  end(answer: ComingAnswer, reply: Pick<BuyerReply, 'isGone' | 'onClosed'> | undefined): void
  figures(): AnswerFigures
}

export type AnswerFigures = {
  readonly bytes: number
  readonly waiting: number
  /** Calls that were refused for lack of room since the start. */
  readonly refused: number
}

/**
 * Large answers may take `maxBytes` together. The oldest one may exceed the bound up to its own limit, so that answers
 * that wait for each other all finish, and no more is ever held.
 */
export function createAnswerRoom(maxBytes: number): AnswerRoom {
  // Large answers, in the order in which they became large.
  const coming = new Set<ComingAnswer>()
  let usedBytes = 0
  let waiting = 0
  let refusals = 0

  function hasRoom(answer: ComingAnswer, expectedBytes: number): boolean {
    const [first] = coming
    return expectedBytes < (answer === first ? maxBytes + MAX_RESPONSE_BYTES : maxBytes)
  }

  function stopWaiting(answer: ComingAnswer): void {
    if (!answer.isWaiting) return
    answer.isWaiting = false
    waiting--
  }

  function wake(): void {
    let expectedTotal = usedBytes
    for (const answer of coming) {
      if (waiting === 0) return
      if (!answer.isWaiting || !hasRoom(answer, expectedTotal)) continue
      expectedTotal += CHUNK_BYTES
      stopWaiting(answer)
      // The end of another answer may run this code, and the client cannot resume one answer within another's
      // callback.
      queueMicrotask(() => answer.flow?.resume())
    }
  }

  function giveBack(bytes: number): void {
    usedBytes -= bytes
    wake()
  }

  return {
    admit() {
      if (usedBytes < maxBytes) return
      refusals++
      throw noRoom()
    },
    add(answer, bytes, isShown) {
      if (answer.isShown) {
        if (coming.delete(answer)) giveBack(answer.heldBytes)
        answer.heldBytes = 0
      }
      answer.isShown = isShown
      answer.heldBytes += bytes
      if (answer.heldBytes <= SMALL_ANSWER_BYTES) return
      usedBytes += coming.has(answer) ? bytes : answer.heldBytes
      coming.add(answer)
      // Bytes that are sent on leave memory as the buyer reads. Other code pauses the provider of a slow buyer.
      if (isShown || answer.isWaiting || hasRoom(answer, usedBytes)) return
      answer.isWaiting = true
      answer.hasWaited = true
      waiting++
      answer.flow?.pause()
    },
    end(answer, reply) {
      if (!coming.delete(answer)) return
      stopWaiting(answer)
      const { heldBytes } = answer
      if (reply === undefined || reply.isGone()) giveBack(heldBytes)
      else {
        reply.onClosed(() => giveBack(heldBytes))
        wake()
      }
    },
    figures: () => ({ bytes: usedBytes, waiting, refused: refusals }),
  }
}

/** The refusal of an answer, or of a call for one, that has no room in memory. */
export function noRoom(): AppError {
  return new AppError('overloaded', {
    detail: { limit_source: 'answers', limit_scope: 'platform', resets_at: null },
    retryAfterSeconds: RETRY_SECONDS,
  })
}
