import type { Decoder } from '#data-plane/call.ts'
import type { JsonMember, JsonObject } from '#shared/json-members.ts'
import { isRecord, scanMembers } from '#shared/json-members.ts'
import { parseJson } from '#shared/parse-json.ts'
import type { BadAnswer } from '#shared/protocols/answers/bad-answer.ts'
import { malformed } from '#shared/protocols/answers/bad-answer.ts'
import { errorInText } from '#shared/protocols/answers/openai-answer.ts'
import type { AnswerAround } from './inlined-data.ts'
import { createAnswerGauge } from './inlined-data.ts'
import { joinedBytes } from './joined.ts'

/** A longer malformed answer is not searched for a refusal. */
const MAX_REFUSAL_BYTES = 65_536

/** An answer that is one JSON object, with its own text. */
export type WholeAnswer = {
  readonly text: string
  readonly members: readonly JsonMember[]
  readonly body: JsonObject
}

/** The result of parsing an answer. */
export type AnswerFindings = {
  readonly failure?: BadAnswer | undefined
  /** UTF-8 bytes of content; 0 is an empty answer, which costs nothing. */
  readonly contentBytes: number
}

/** The parts of a decoder that all whole answers share. A whole answer is written only at its end. */
export type WholeParts = Pick<
  Decoder,
  'push' | 'end' | 'contentPieces' | 'isDone' | 'failure' | 'stop' | 'keepAlive'
> & { contentBytes(): number }

/** Collects an answer's bytes and passes them to `read` when the provider has finished. */
export function gatherWhole(read: (bytes: Buffer) => AnswerFindings): WholeParts {
  const chunks: Buffer[] = []
  return wholeParts(
    (chunk) => chunks.push(chunk),
    () => {
      const answerFindings = read(joinedBytes(chunks))
      chunks.length = 0
      return answerFindings
    },
  )
}

/** Collects an answer that may hold large data. The data stays in the received pieces. */
export function gatherAround(read: (answer: AnswerAround | undefined) => AnswerFindings): WholeParts {
  const gauge = createAnswerGauge()
  return wholeParts(gauge.add, () => read(gauge.read()))
}

function wholeParts(take: (chunk: Buffer) => void, end: () => AnswerFindings): WholeParts {
  let answerFindings: AnswerFindings = { contentBytes: 0 }
  let size = 0
  const opening: Buffer[] = []
  return {
    push(chunk) {
      take(chunk)
      size += chunk.length
      if (size <= MAX_REFUSAL_BYTES) opening.push(chunk)
      else opening.length = 0
      return ''
    },
    end() {
      answerFindings = end()
      if (answerFindings.failure?.kind === 'malformed' && opening.length > 0)
        answerFindings = { ...answerFindings, ...refusalIn(opening) }
    },
    contentPieces() {
      return answerFindings.contentBytes > 0 ? 1 : 0
    },
    contentBytes() {
      return answerFindings.contentBytes
    },
    isDone() {
      return false
    },
    failure() {
      return answerFindings.failure
    },
    stop() {
      // A whole answer is never cut at a limit.
    },
    keepAlive() {
      return ''
    },
  }
}

/** A refusal in a malformed answer: Google puts its errors into an array. */
function refusalIn(chunks: readonly Buffer[]): { readonly failure: BadAnswer } | undefined {
  const failure = errorInText(joinedBytes(chunks).toString('utf8'))
  return failure && { failure }
}

/** The JSON object in an answer; undefined for any other text, and for one of excessive depth. */
export function readWholeAnswer(bytes: Buffer): WholeAnswer | undefined {
  return readAnswerText(bytes.toString('utf8'))
}

export function readAnswerText(text: string): WholeAnswer | undefined {
  const members = scanMembers(text)
  if (members === undefined) return undefined
  const body = parseJson(text)
  return isRecord(body) ? { text, members, body } : undefined
}

/** A malformed answer; `text` is the reason. */
export function foundMalformed(text: string): AnswerFindings {
  return { failure: malformed(text), contentBytes: 0 }
}
