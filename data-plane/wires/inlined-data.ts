import type { InlinedSource, UpstreamRequest } from '#data-plane/call.ts'
import type { InlinedSpan } from '#shared/json-gauge.ts'
import { createJsonGauge, MAX_JSON_BYTES, tooHeavy } from '#shared/json-gauge.ts'
import type { KnownData } from './inlined-spans.ts'
import { findInlinedSpans } from './inlined-spans.ts'

/**
 * Begins and ends a stand-in, which says where in the bytes its data lies. This code point is no character, and
 * JSON.stringify does not escape it: a stand-in is the same in a text, in JSON and in JSON within JSON.
 */
const EDGE = '\uffff'
const STAND_IN = /\uffff(\d+):(\d+)\uffff/g
/** What could be taken for an edge, as itself or escaped. */
const EDGE_LIKE = /\uffff|\\uffff/i

/**
 * The text of a JSON request with a stand-in for each piece of inlined data in `member`, so that images never become
 * texts; everything else is as it came. `bytes` are valid UTF-8. Undefined where there is no such data, or where something
 * could be taken for a stand-in: then nothing is one.
 */
export function readAroundInlined(bytes: Buffer, member: string): string | undefined {
  const gauge = createJsonGauge()
  gauge.add(bytes)
  const spans = findInlinedSpans(bytes, member, gauge.spans)
  if (spans.length === 0) return undefined
  const kept = [0, ...spans.map(({ end }) => end)].map((from, index) =>
    bytes.toString('utf8', from, spans[index]?.start),
  )
  if (kept.some((text) => EDGE_LIKE.test(text))) return undefined
  return kept.map((text, index) => text + standIn(spans[index])).join('')
}

/** Bytes that are decoded between two pauses. */
const STEP_BYTES = 1_048_576

/** Lets everything else that is due run. */
export function pause(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve)
  })
}

/** A request's text, and whether it has stand-ins. */
export type TextAround = { readonly text: string; readonly hasStandIns: boolean }

/**
 * Does the same in steps, and reads the whole text where there is nothing to read around. `known` is what a gauge has
 * found in these bytes. Throws `request_too_large` for a text that nobody can read without a stall.
 */
export async function readAroundInSteps(
  bytes: Buffer,
  member: string | undefined,
  known: KnownData,
): Promise<TextAround> {
  const spans = member === undefined ? [] : findInlinedSpans(bytes, member, known)
  const inlined = spans.reduce((sum, { start, end }) => sum + end - start, 0)
  if (bytes.length - inlined > MAX_JSON_BYTES) throw tooHeavy()
  let text = ''
  let from = 0
  let unpaused = 0
  for (const span of [...spans, undefined]) {
    let kept = ''
    const end = span?.start ?? bytes.length
    for (let at = from; at < end; at = from) {
      from = Math.min(end, stepEnd(bytes, at))
      kept += bytes.toString('utf8', at, from)
      unpaused += from - at
      if (unpaused < STEP_BYTES) continue
      unpaused = 0
      await pause()
    }
    if (spans.length > 0 && EDGE_LIKE.test(kept)) return readAroundInSteps(bytes, undefined, known)
    text += kept + standIn(span)
    from = span?.end ?? end
  }
  return { text, hasStandIns: spans.length > 0 }
}

/** The place where a step from `at` on ends: never within a character. */
function stepEnd(bytes: Buffer, at: number): number {
  let end = at + STEP_BYTES
  while (isContinuation(bytes[end])) end--
  return end
}

/** True for a byte of a UTF-8 character other than its first (RFC 3629, section 3). */
function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 0x80 && byte < 0xc0
}

function standIn(span: InlinedSpan | undefined): string {
  return span === undefined ? '' : `${EDGE}${span.start}:${span.end - span.start}${EDGE}`
}

/** How long a text of a request is, its inlined data counted by bytes. */
export function fullLength(text: string): number {
  if (!text.includes(EDGE)) return text.length
  let length = text.length
  for (const [standing, , bytes] of text.matchAll(STAND_IN)) length += Number(bytes) - standing.length
  return length
}

/** A request to a seller with the data in place of its stand-ins: views of the bytes that came, never copied. */
export function putInlinedBack(request: UpstreamRequest, { bytes, hasStandIns }: InlinedSource): UpstreamRequest {
  return hasStandIns ? { ...request, body: '', pieces: piecesOf(request.body, bytes) } : request
}

/** A text with the data in place of its stand-ins, as views of the bytes. */
export function piecesOf(text: string, bytes: Buffer): readonly Buffer[] {
  const pieces: Buffer[] = []
  let from = 0
  for (const { 0: standing, 1: start, 2: length, index } of text.matchAll(STAND_IN)) {
    pieces.push(Buffer.from(text.slice(from, index)), bytes.subarray(Number(start), Number(start) + Number(length)))
    from = index + standing.length
  }
  pieces.push(Buffer.from(text.slice(from)))
  return pieces
}

/**
 * The text of an answer with a stand-in for each long base64 text in it, and its own text where something could be taken
 * for one. `bytes` are valid UTF-8. Throws `request_too_large` for an answer that nobody can read without a stall.
 */
export function readAnswerAround(bytes: Buffer): TextAround {
  const gauge = createJsonGauge()
  gauge.add(bytes)
  const spans = [...gauge.spans.values()].sort((left, right) => left.start - right.start)
  const kept = [0, ...spans.map(({ end }) => end)].map((from, at) => bytes.toString('utf8', from, spans[at]?.start))
  if (spans.length === 0 || kept.some((text) => EDGE_LIKE.test(text))) {
    return { text: bytes.toString('utf8'), hasStandIns: false }
  }
  return { text: kept.map((text, at) => text + standIn(spans[at])).join(''), hasStandIns: true }
}

/**
 * The first characters of base64 in a `data:` URL behind its head, wherever its bytes are. Undefined for what is none.
 */
export function firstData(
  url: string,
  headLength: number,
  count: number,
  { bytes }: InlinedSource,
): string | undefined {
  const text = url.slice(headLength)
  const standing = new RegExp(STAND_IN.source).exec(text)
  const start = Number(standing?.[1])
  const data = standing?.index === 0 ? bytes.toString('latin1', start, start + count * 2) : text.slice(0, count * 2)
  const plain = data.replaceAll('\\', '').slice(0, count)
  return /^[A-Za-z0-9+/=_-]+$/.test(plain) ? plain : undefined
}
