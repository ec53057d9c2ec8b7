import type { BuyerReply } from '#data-plane/call.ts'
import type { UpstreamFlow } from '#data-plane/upstream/send.ts'
import { MAX_RESPONSE_BYTES } from '#data-plane/upstream/send.ts'
import { AppError } from '#shared/errors.ts'

/** Answers up to this size are not counted. The number of open calls bounds their sum. In bytes. */
const SMALL_ANSWER_BYTES = 262_144
/** A provider that may go on sends about so many bytes before it is held back again. */
const CHUNK_BYTES = 65_536
const RETRY_SECONDS = 2

/** An answer on its way, as far as its memory is concerned. */
export type ComingAnswer = {
  /** Bytes that came and have not been sent on. */
  heldBytes: number
  /** True when they are being sent on: they have left memory before more of the answer comes. */
  isShown: boolean
  /** True while its provider is held back for want of room, and true for good once it was. */
  isWaiting: boolean
  hasWaited: boolean
  readonly flow: Pick<UpstreamFlow, 'pause' | 'resume'> | undefined
}

/** Counts the memory of large answers: from the bytes that come in until the buyer has taken the last of them. */
export type AnswerRoom = {
  /**
   * Throws `overloaded` while there is no room. It is for calls that bring large answers, before any provider works on
   * them.
   */
  admit(): void
  /** Counts bytes that came. While there is no room the provider of a large answer is held back. */
  add(answer: ComingAnswer, bytes: number, isShown: boolean): void
  /** Nothing more of an answer comes. It keeps its room until `reply` is over; without one it is given up at once. */
  end(answer: ComingAnswer, reply: Pick<BuyerReply, 'isGone' | 'onClosed'> | undefined): void
  figures(): AnswerFigures
}

export type AnswerFigures = {
  readonly bytes: number
  readonly waiting: number
  /** Calls that were refused for want of room, from the beginning. */
  readonly refused: number
}

/**
 * Large answers may take `maxBytes` together. The one that came first may go on past that bound to its own limit, so
 * that answers which wait for each other all come to their end, and no more than that is ever held.
 */
export function createAnswerRoom(maxBytes: number): AnswerRoom {
  // In the order in which they became large.
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
      // This may be the end of another answer, and the client cannot go on with one while it is within another.
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
      // Bytes that are sent on leave by themselves. Other code holds a provider back for a slow buyer.
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
