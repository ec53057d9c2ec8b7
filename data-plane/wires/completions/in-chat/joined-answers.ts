import type { Decoder, Ending, ModelPlan } from '#data-plane/call.ts'
import { answerOf } from '#data-plane/wires/completions/answer-text.ts'
import { AppError } from '#shared/errors.ts'

/** Figures of the joined answer itself: none, because each exchange has its own. */
const NOTHING_REPORTED: Ending['reported'] = { insaneFields: 0 }
const NO_ENDINGS: readonly Ending[] = []

type State = {
  readonly answers: readonly Decoder[]
  readonly isStreamed: boolean
  /** The present answer, and the pieces of those before it. */
  current: Decoder
  place: number
  piecesBefore: number
  /**
   * True once every answer has arrived. Until then nothing of a whole reply is delivered, so nothing of it is charged.
   */
  isComplete: boolean
}

/**
 * The answers to consecutive requests as one answer. Each writes its own choices; head and usage surround all of them
 * once.
 */
export function joinedAnswers(plan: ModelPlan, isStreamed: boolean, answers: readonly Decoder[]): Decoder {
  const state: State = {
    answers,
    isStreamed,
    current: answerAt(answers, 0),
    place: 0,
    piecesBefore: 0,
    isComplete: false,
  }
  return {
    head: {
      takes: (head) => state.current.head?.takes?.(head) ?? false,
      takeHeaders: (headers) => state.current.head?.takeHeaders?.(headers),
    },
    goOn: () => goOn(state),
    push: (chunk) => state.current.push(chunk),
    end() {
      state.current.end()
      state.isComplete = state.place === answers.length - 1 && state.current.failure() === undefined
    },
    contentPieces: () => (isDelivered(state) ? state.piecesBefore + state.current.contentPieces() : 0),
    isDone: () => state.current.isDone(),
    failure: () => state.current.failure(),
    ending: () => endingOf(state),
    stop: () => state.current.stop(),
    finish(receipt) {
      const choices = answers.map((answer) => answer.finish(receipt)).join(isStreamed ? '' : ',')
      return answerOf(plan, isStreamed, choices, receipt)
    },
    fail: (error) => state.current.fail(error),
    keepAlive: () => state.current.keepAlive(),
  }
}

function goOn(state: State): void {
  state.piecesBefore += state.current.contentPieces()
  state.place++
  state.current = answerAt(state.answers, state.place)
}

function answerAt(answers: readonly Decoder[], place: number): Decoder {
  const answer = answers[place]
  if (answer === undefined) throw new AppError('internal_error', { cause: new Error('an answer to no request') })
  return answer
}

function isDelivered({ isStreamed, isComplete }: State): boolean {
  return isStreamed || isComplete
}

function endingOf(state: State): Ending {
  const { answers, place } = state
  const each = isDelivered(state) ? answers.slice(0, place + 1).map((answer) => answer.ending()) : NO_ENDINGS
  return {
    reported: NOTHING_REPORTED,
    finishReason: null,
    contentBytes: each.reduce((bytes, { contentBytes }) => bytes + contentBytes, 0),
    reasoningBytes: each.reduce((bytes, { reasoningBytes }) => bytes + reasoningBytes, 0),
    each,
  }
}
