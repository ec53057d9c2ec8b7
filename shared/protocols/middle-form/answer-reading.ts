import type { JsonObject } from '#shared/json-members.ts'
import { readJsonObject } from '#shared/json-members.ts'
import { NO_OBJECT } from '#shared/protocols/answers/bad-answer.ts'
import { isText, wrongType } from '#shared/protocols/answers/chat-choice.ts'
import type { FrameGrammar, FrameReader, StreamState } from '#shared/protocols/answers/frames.ts'
import { frameReader } from '#shared/protocols/answers/frames.ts'
import { errorInText } from '#shared/protocols/answers/openai-answer.ts'
import type { ReportedUsage } from '#shared/protocols/answers/reported-usage.ts'
import type { AnswerEvent, AnswerReader, FinishReason } from './answer.ts'
import { NO_EVENTS } from './answer.ts'

/** The state of reading an answer of any protocol. */
export type Reading = StreamState & {
  events: AnswerEvent[]
  readonly reported: ReportedUsage
}

/** The part of answer reading in which protocols differ. Each method adds events, or sets the failure. */
export type AnswerGrammar = {
  /** Takes a whole answer, with its own text. */
  takeWhole(body: JsonObject, text: string): void
} & (FrameGrammar | { /** Makes the reader of a stream that is none of server-sent events. */ frames(): FrameReader })

export function newReading(): Reading {
  return { events: [], reported: { insaneFields: 0 }, isDone: false, failure: undefined }
}

/**
 * Reads the bytes of an answer, split at any place, by a protocol's grammar. An event above the size limit ends the
 * reading.
 */
export function answerReader(
  reading: Reading,
  grammar: AnswerGrammar,
  isStreamed: boolean,
  maxEventChars?: number,
): AnswerReader {
  return {
    isDone: () => reading.isDone,
    failure: () => reading.failure,
    reported: () => reading.reported,
    ...(isStreamed ? streamReading(reading, grammar, maxEventChars) : wholeReading(reading, grammar)),
  }
}

type Parts = Pick<AnswerReader, 'push' | 'end'>

function streamReading(reading: Reading, grammar: AnswerGrammar, maxEventChars: number | undefined): Parts {
  const frames = 'frames' in grammar ? grammar.frames() : frameReader(reading, grammar, maxEventChars)
  return {
    push(chunk) {
      frames.push(chunk)
      return takeEvents(reading)
    },
    end() {
      frames.end()
      return takeEvents(reading)
    },
  }
}

function takeEvents(reading: Reading): readonly AnswerEvent[] {
  const { events } = reading
  if (events.length === 0) return NO_EVENTS
  reading.events = []
  return events
}

function wholeReading(reading: Reading, grammar: AnswerGrammar): Parts {
  const chunks: Buffer[] = []
  return {
    push(chunk) {
      chunks.push(chunk)
      return NO_EVENTS
    },
    end() {
      const text = Buffer.concat(chunks).toString('utf8')
      const body = readJsonObject(text)
      if (body === undefined) reading.failure = errorInText(text) ?? NO_OBJECT
      else grammar.takeWhole(body, text)
      return reading.failure ? NO_EVENTS : takeEvents(reading)
    },
  }
}

/** Adds a text that a provider sent. Sets the failure where it is no text; an absent or empty one adds nothing. */
export function pushText(
  reading: Reading,
  kind: 'text' | 'reasoning' | 'signature' | 'redactedReasoning',
  text: unknown,
): void {
  if (!isText(text)) reading.failure = wrongType(kind)
  else if (typeof text === 'string' && text !== '') reading.events.push({ kind, text })
}

/** The reason for which an answer ended, with the stop sequence that ended it. */
export type AnswerFinish = { readonly reason: FinishReason; readonly stopSequence: string | null }

/** Adds the end of an answer. Without a reason of the provider, the model stopped by itself. */
export function pushFinish({ events }: Reading, finish: AnswerFinish | undefined): void {
  events.push({ kind: 'finish', ...(finish ?? { reason: 'stop', stopSequence: null }) })
}
