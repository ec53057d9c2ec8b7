import type { BadAnswer, ReportedUsage } from '#data-plane/call.ts'
import type { AnswerEvent, AnswerReader } from './answer.ts'
import { NO_EVENTS } from './answer.ts'
import { malformed, NO_END, NO_OBJECT, TOO_LONG } from './bad-answer.ts'
import type { JsonObject } from './json-members.ts'
import { isRecord, isTooDeep, readJsonObject } from './json-members.ts'
import { createSseReader } from './sse.ts'

/** An answer as far as it was read, whatever its protocol. */
export type Reading = {
  events: AnswerEvent[]
  readonly reported: ReportedUsage
  isDone: boolean
  failure: BadAnswer | undefined
}

/** What a protocol makes of an answer: each part adds events to its reading, or sets its failure. */
export type AnswerGrammar = {
  /** One event of a stream. */
  takeFrame(frame: JsonObject): void
  /** `[DONE]`, which some send that need not. */
  takeDoneMark(): void
  /** A stream has stopped before its protocol's own end; false where it had not even said why it ends. */
  takeStop(): boolean
  /** A whole answer, with its own text. */
  takeWhole(body: JsonObject, text: string): void
}

export function newReading(): Reading {
  return { events: [], reported: { insaneFields: 0 }, isDone: false, failure: undefined }
}

/** Reads the bytes of an answer, cut anywhere, by the grammar of its protocol. */
export function answerReader(reading: Reading, grammar: AnswerGrammar, isStreamed: boolean): AnswerReader {
  return {
    isDone: () => reading.isDone,
    failure: () => reading.failure,
    reported: () => reading.reported,
    ...(isStreamed ? streamReading(reading, grammar) : wholeReading(reading, grammar)),
  }
}

/** The object that one event of a stream holds, or in words why it holds none. */
export function readFrame(data: string): JsonObject | string {
  if (isTooDeep(data)) return 'a frame that nests too deep'
  try {
    const frame: unknown = JSON.parse(data)
    return isRecord(frame) ? frame : 'a frame that is not an object'
  } catch {
    return 'a frame that is not JSON'
  }
}

type Parts = Pick<AnswerReader, 'push' | 'end'>

function streamReading(reading: Reading, grammar: AnswerGrammar): Parts {
  const sse = createSseReader((data) => {
    takeData(reading, grammar, data)
    return reading.failure === undefined && !reading.isDone
  })
  return {
    push(chunk) {
      if (reading.isDone || reading.failure) return NO_EVENTS
      sse.push(chunk)
      if (sse.isTooLong()) reading.failure = TOO_LONG
      return taken(reading)
    },
    end() {
      if (reading.isDone || reading.failure) return NO_EVENTS
      sse.end()
      if (!reading.failure && !reading.isDone && !grammar.takeStop()) reading.failure = NO_END
      return taken(reading)
    },
  }
}

function takeData(reading: Reading, grammar: AnswerGrammar, data: string): void {
  if (data === '[DONE]') {
    grammar.takeDoneMark()
    return
  }
  const frame = readFrame(data)
  if (typeof frame === 'string') reading.failure = malformed(frame)
  else grammar.takeFrame(frame)
}

function taken(reading: Reading): readonly AnswerEvent[] {
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
      if (body === undefined) reading.failure = NO_OBJECT
      else grammar.takeWhole(body, text)
      return reading.failure ? NO_EVENTS : taken(reading)
    },
  }
}
