import type { AnswerHead, AnswerStart, Decoder, ForwardedUsage, JobWord } from '#data-plane/call.ts'
import { joinedBytes } from '#data-plane/wires/joined.ts'
import { parseJson } from '#shared/parse-json.ts'
import type { BadAnswer } from '#shared/protocols/answers/bad-answer.ts'
import { malformed } from '#shared/protocols/answers/bad-answer.ts'
import type { SseReader } from '#shared/protocols/answers/sse.ts'
import { createSseReader } from '#shared/protocols/answers/sse.ts'
import type { CompiledResource, Good, Route, RouteMatch } from '#shared/resources/compile-resource.ts'
import type { GivenAnswer } from '#shared/resources/quote-resource.ts'
import {
  chargeableUnits,
  contentIn,
  estimatedUnits,
  jobOf,
  reportedUnits,
  stateOf,
} from '#shared/resources/quote-resource.ts'
import type { Usage } from '#shared/usage.ts'
import { headersOf } from './headers.ts'

/** A JSON answer up to this size is held, so that its head can state its cost. A longer one passes as it arrives. */
const MAX_HELD_BYTES = 8_388_608
const ACCEPTED = 202
const NO_CONTENT = 204

/** The purchased good, and its cost unless the provider reports less. */
export type Bought = {
  readonly resource: CompiledResource
  readonly match: RouteMatch
  /** Undefined for a call that buys nothing. */
  readonly good: Good | undefined
  /** Bytes of the request's body. */
  readonly size: number
  readonly quoted: Usage
}

/** The received part of an answer. */
type Passing = {
  readonly bought: Bought
  readonly rewrite: Rewrite | undefined
  head: AnswerHead | undefined
  mode: Mode
  /** Reads a copy of a stream of events. */
  events: SseReader | undefined
  held: Buffer[]
  bytes: number
  pieces: number
  isOver: boolean
  reported: Usage | undefined
  /** Bytes of content so far. Undefined when they cannot be counted. */
  content: number | undefined
  failure: BadAnswer | undefined
  job: string | undefined
  word: JobWord | undefined
}

/** Makes another text of a held answer, or finds it malformed. */
export type Rewrite = (bytes: Buffer) => { readonly bytes: Buffer } | { readonly failure: BadAnswer }

/**
 * Passes a provider's answer on unchanged. A short JSON answer is held for its usage. All else passes as it arrives; a
 * copy of a stream of events is read for the usage. `rewrite` needs the whole answer.
 */
export function forwardDecoder(bought: Bought, rewrite?: Rewrite): Decoder {
  const passing: Passing = {
    bought,
    rewrite,
    head: undefined,
    mode: 'held',
    events: undefined,
    held: [],
    bytes: 0,
    pieces: 0,
    isOver: false,
    reported: undefined,
    content: 0,
    failure: undefined,
    job: undefined,
    word: undefined,
  }
  return {
    head: {
      contentType: () => passing.head?.contentType ?? '',
      takes: (head) => takeHead(passing, head),
      start: () => startOf(passing),
      isHeld: () => passing.mode === 'held',
      isPriced: () => passing.mode === 'passed' || bought.match.route.reported.length === 0,
    },
    job: {
      started: () => (passing.job === undefined ? undefined : { id: passing.job, captures: bought.match.captures }),
      reported: () => passing.word,
    },
    whole: { pieces: () => (passing.mode === 'held' ? passing.held : []) },
    push(chunk) {
      passing.events?.push(chunk)
      return takePiece(passing, chunk)
    },
    end() {
      passing.events?.end()
      takeEnd(passing)
    },
    contentPieces: () => passing.pieces,
    isDone: () => false,
    failure: () => passing.failure,
    ending: () => ({
      reported: { insaneFields: 0 },
      finishReason: null,
      // An empty successful answer counts as served. Nothing of an unfinished held answer has reached the buyer.
      contentBytes: passing.isOver || passing.pieces > 0 ? Math.max(1, passing.bytes) : 0,
      reasoningBytes: 0,
      forwarded: usageOf(passing),
    }),
    stop() {
      // A forwarded answer ends only when its provider ends it.
    },
    finish: () => '',
    fail: () => '',
    keepAlive: () => '',
  }
}

function takeHead(passing: Passing, head: AnswerHead): boolean {
  passing.head = head
  passing.mode = modeOf(head, passing.rewrite !== undefined)
  if (passing.mode === 'passed') read(passing, undefined)
  if (passing.mode === 'events') {
    passing.events = createSseReader((data) => {
      readEvent(passing, data)
      return true
    })
  }
  return head.status >= 200 && head.status < 300
}

function takePiece(passing: Passing, chunk: Buffer): Buffer | string {
  passing.bytes += chunk.length
  if (passing.mode !== 'held') {
    passing.pieces++
    return chunk
  }
  passing.held.push(chunk)
  if (passing.bytes <= MAX_HELD_BYTES) return ''
  if (mustBeWhole(passing)) {
    passing.failure = malformed('a longer answer than is read')
    return ''
  }
  passing.mode = 'passed'
  passing.content = undefined
  passing.pieces++
  return Buffer.concat(passing.held.splice(0))
}

function takeEnd(passing: Passing): void {
  passing.isOver = true
  if (passing.mode !== 'held') return
  const { held, rewrite } = passing
  const whole = joinedBytes(held)
  const rewritten = rewrite === undefined ? { bytes: whole } : rewrite(whole)
  if ('failure' in rewritten) passing.failure = rewritten.failure
  else {
    passing.held = [rewritten.bytes]
    read(passing, isLookedAt(passing.bought.match.route) ? parseJson(whole.toString('utf8')) : undefined)
  }
  if (passing.failure === undefined) passing.pieces = 1
}

/** True when the answer's body may hold the usage of a call, its failure, or the state of its job. */
function isLookedAt({ kind, isReportedInBody, state }: Route): boolean {
  return isReportedInBody || state !== undefined || (kind !== 'sale' && kind !== 'free')
}

/** Held as a whole, passed on unread, or passed on while a copy is read as events. */
type Mode = 'held' | 'passed' | 'events'

function modeOf({ status, contentType, headers }: AnswerHead, isRewritten: boolean): Mode {
  if (isRewritten || status === NO_CONTENT) return 'held'
  if (contentType.startsWith('text/event-stream')) return 'events'
  const isJson = /^application\/(?:[\w.-]+\+)?json\b/.test(contentType)
  return isJson && Number(headers['content-length'] ?? 0) <= MAX_HELD_BYTES ? 'held' : 'passed'
}

/** A submit without the id of its job could never be looked up. */
function mustBeWhole({ bought, rewrite }: Passing): boolean {
  return rewrite !== undefined || bought.match.route.kind === 'submit'
}

function startOf({ bought, head, mode }: Passing): AnswerStart {
  if (head === undefined) return { status: 200, headers: {} }
  const own = headersOf(bought.resource, head.headers)
  const length = head.headers['content-length']
  // The length of a held answer is counted when it is sent.
  if (mode !== 'held' && length !== undefined) own['content-length'] = length
  return { status: head.status, headers: own }
}

/** A successful answer that reports that its call has failed. */
const FAILED: BadAnswer = { kind: 'error', status: 502, text: '' }

function readEvent(passing: Passing, data: string): void {
  const { good, match, quoted } = passing.bought
  const { kind, reported, state } = match.route
  if (good === undefined || (reported.length === 0 && state === undefined)) return
  const answer = parseJson(data)
  if (answer === undefined) return
  const givenAnswer = givenOf(passing, answer)
  if (kind === 'sale' && stateOf(match.route, givenAnswer) === 'failed') passing.failure = FAILED
  passing.reported = reportedUnits(match, good, quoted, givenAnswer) ?? passing.reported
  countContent(passing, givenAnswer)
}

/** Counts content in case the provider reports no usage. For an unread answer the count is unknown. */
function countContent(passing: Passing, givenAnswer: GivenAnswer): void {
  const { good, match } = passing.bought
  const more = good === undefined || givenAnswer.answer === undefined ? undefined : contentIn(match, good, givenAnswer)
  passing.content = passing.content === undefined || more === undefined ? undefined : passing.content + more
}

function read(passing: Passing, answer: unknown): void {
  const { good, match, quoted } = passing.bought
  const givenAnswer = givenOf(passing, answer)
  const { kind } = match.route
  const state = stateOf(match.route, givenAnswer)
  // A result that does not exist yet says nothing about its job.
  const isWord = kind === 'status' || (kind === 'result' && passing.head?.status !== ACCEPTED)
  if (isWord) passing.word = { state, given: givenAnswer }
  else if (kind === 'sale' && state === 'failed') passing.failure = FAILED
  if (good !== undefined) passing.reported = reportedUnits(match, good, quoted, givenAnswer)
  countContent(passing, givenAnswer)
  if (kind !== 'submit') return
  passing.job = jobOf(match.route, givenAnswer)
  if (passing.job === undefined) passing.failure = malformed('no id of a job')
}

function givenOf({ head }: Passing, answer: unknown): GivenAnswer {
  return { answer, headers: head?.headers ?? {} }
}

function usageOf({ bought, reported, content }: Passing): ForwardedUsage {
  const { good, quoted, match, size } = bought
  if (good === undefined) return { usage: {}, isReported: true, anomalies: [] }
  const estimate = content === undefined ? undefined : estimatedUnits(match, good, quoted, { size, content })
  const usage = chargeableUnits(good, quoted, reported ?? estimate)
  const isSilent = reported === undefined && match.route.reported.length > 0
  const isClipped = reported !== undefined && usage !== reported
  const anomalies = [...(isSilent ? ['usage_missing'] : []), ...(isClipped ? ['usage_clipped'] : [])]
  return { usage, isReported: !isSilent, anomalies }
}
