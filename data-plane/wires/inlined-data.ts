import type { UpstreamRequest } from '#data-plane/call.ts'
import type { InlinedSpan } from './inlined-spans.ts'
import { findInlinedSpans } from './inlined-spans.ts'

/**
 * Begins and ends a stand-in, which says where in the bytes its data lies. This code point is no character, and
 * JSON.stringify does not escape it: a stand-in is the same in a text, in JSON and in JSON within JSON.
 */
const EDGE = '\uffff'
const STAND_IN = /\uffff(\d+):(\d+)\uffff/g
/** What could be taken for an edge, as itself or escaped. */
const EDGE_LIKE = /\uffff|\\uffff/i

/** A request's bytes, and whether its text has stand-ins for parts of them. */
export type InlinedSource = { readonly bytes: Buffer; readonly hasStandIns: boolean }

/**
 * The text of a JSON request with a stand-in for each piece of inlined data in `member`, so that images never become
 * texts; everything else is as it came. `bytes` are valid UTF-8. Undefined where there is no such data, or where something
 * could be taken for a stand-in: then nothing is one.
 */
export function readAroundInlined(bytes: Buffer, member: string): string | undefined {
  const spans = findInlinedSpans(bytes, member)
  if (spans.length === 0) return undefined
  const kept = [0, ...spans.map(({ end }) => end)].map((from, index) =>
    bytes.toString('utf8', from, spans[index]?.start),
  )
  if (kept.some((text) => EDGE_LIKE.test(text))) return undefined
  return kept.map((text, index) => text + standIn(spans[index])).join('')
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
  if (!hasStandIns) return request
  const { body } = request
  const pieces: Buffer[] = []
  let from = 0
  for (const { 0: standing, 1: start, 2: length, index } of body.matchAll(STAND_IN)) {
    pieces.push(Buffer.from(body.slice(from, index)), bytes.subarray(Number(start), Number(start) + Number(length)))
    from = index + standing.length
  }
  pieces.push(Buffer.from(body.slice(from)))
  return { ...request, body: '', pieces }
}
