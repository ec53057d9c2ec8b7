import { isUtf8 } from 'node:buffer'
import type { InlinedSource, UpstreamRequest } from '#data-plane/call.ts'
import type { InlinedSpan, JsonGauge } from '#shared/json-gauge.ts'
import { createJsonGauge, MAX_JSON_BYTES, MIN_SPAN_BYTES, tooHeavy } from '#shared/json-gauge.ts'
import { scanMembers } from '#shared/json-members.ts'
import type { KnownData } from './inlined-spans.ts'
import { findInlinedSpans } from './inlined-spans.ts'
import { joinedBytes } from './joined.ts'

/**
 * Begins and ends a stand-in, which holds the place of its data in the bytes. This code point is no character, and
 * JSON.stringify does not escape it: a stand-in is the same in a text, in JSON and in JSON within JSON.
 */
const EDGE = '\uffff'
const STAND_IN = /\uffff(\d+):(\d+)\uffff/g
const FIRST_STAND_IN = new RegExp(STAND_IN.source)
/** Texts that could be taken for an edge, plain or escaped. */
const EDGE_LIKE = /\uffff|\\uffff/i

/** True for a text that could be taken for a stand-in. */
export function mayStandIn(text: string): boolean {
  return text.includes(EDGE)
}

/**
 * The text of a JSON request with a stand-in for each piece of inlined data in `member`, so that images never become
 * texts; everything else stays unchanged. `bytes` are valid UTF-8. Undefined without such data, and for a text that
 * contains something like a stand-in: then there are no stand-ins.
 */
export function readAroundInlined(bytes: Buffer, member: string): string | undefined {
  const gauge = createJsonGauge()
  gauge.add(bytes)
  const spans = findInlinedSpans(bytes, member, gauge.spans)
  if (spans.length === 0) return undefined
  const rest = [0, ...spans.map(({ end }) => end)].map((from, index) =>
    bytes.toString('utf8', from, spans[index]?.start),
  )
  if (rest.some((text) => EDGE_LIKE.test(text))) return undefined
  return rest.map((text, index) => text + standIn(spans[index])).join('')
}

/** Bytes that are decoded between two pauses. */
const STEP_BYTES = 1_048_576

/** Lets all other due work run. */
export function pause(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve)
  })
}

/** A request's text, and whether it has stand-ins. */
export type TextAround = { readonly text: string; readonly hasStandIns: boolean }

/**
 * Reads a request text in steps, and the whole text when there is nothing to skip. `known` holds a gauge’s findings in
 * these bytes. Throws `request_too_large` for a text that cannot be read without a long pause of the process.
 */
export async function readAroundInSteps(
  bytes: Buffer,
  member: string | undefined,
  knownData: KnownData,
): Promise<TextAround> {
  const spans = member === undefined ? [] : findInlinedSpans(bytes, member, knownData)
  const inlined = spans.reduce((sum, { start, end }) => sum + end - start, 0)
  if (bytes.length - inlined > MAX_JSON_BYTES) throw tooHeavy()
  let text = ''
  let from = 0
  let unpaused = 0
  for (const span of [...spans, undefined]) {
    let textLeft = ''
    const end = span?.start ?? bytes.length
    for (let at = from; at < end; at = from) {
      from = Math.min(end, stepEnd(bytes, at))
      textLeft += bytes.toString('utf8', at, from)
      unpaused += from - at
      if (unpaused < STEP_BYTES) continue
      unpaused = 0
      await pause()
    }
    if (spans.length > 0 && EDGE_LIKE.test(textLeft)) return readAroundInSteps(bytes, undefined, knownData)
    text += textLeft + standIn(span)
    from = span?.end ?? end
  }
  return { text, hasStandIns: spans.length > 0 }
}

/** The end of a step that starts at `at`: never within a character. */
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

/** The length of a text of a request, with its inlined data counted by bytes. */
export function fullLength(text: string): number {
  if (!text.includes(EDGE)) return text.length
  let length = text.length
  for (const [standing, , bytes] of text.matchAll(STAND_IN)) length += Number(bytes) - standing.length
  return length
}

/** A request to a seller with the data in place of its stand-ins: views of the received bytes, never copied. */
export function putInlinedBack(request: UpstreamRequest, source: InlinedSource): UpstreamRequest {
  if (!source.hasStandIns) return request
  if (source.isPlain === true) return { ...request, body: '', ...asBase64(request.body, source) }
  return { ...request, body: '', pieces: piecesOf(request.body, source) }
}

/** A text with the data in place of its stand-ins, as views of the bytes. */
export function piecesOf(text: string, { bytes, hasStandIns }: InlinedSource): readonly Buffer[] {
  if (!hasStandIns) return [Buffer.from(text)]
  return [...alternately(text, (start, length) => viewsOf(bytes, start, start + length))]
}

/** The stand-in for bytes of files. In the text of a request it is the end of a `data:` URL. */
export function fileStandIn(start: number, length: number): string {
  return standIn({ start, end: start + length })
}

/** Bytes that are encoded as base64 at once: a multiple of three, so that the pieces join. */
const CODED_BYTES = 196_608

/**
 * A text with files in base64 in place of its stand-ins. They are encoded as they are sent, so that memory holds them
 * once.
 */
function asBase64(text: string, { bytes }: InlinedSource): Pick<UpstreamRequest, 'pieces' | 'piecesBytes'> {
  let piecesBytes = Buffer.byteLength(text.replace(STAND_IN, ''))
  for (const { 2: length } of text.matchAll(STAND_IN)) piecesBytes += Math.ceil(Number(length) / 3) * 4
  const pieces = { [Symbol.iterator]: () => alternately(text, (start, length) => coded(bytes, start, start + length)) }
  return { pieces, piecesBytes }
}

function* coded(bytes: InlinedSource['bytes'], start: number, end: number): Generator<Buffer> {
  for (let at = start; at < end; at += CODED_BYTES) {
    const step = Buffer.concat(viewsOf(bytes, at, Math.min(at + CODED_BYTES, end)))
    yield Buffer.from(step.toString('base64'), 'latin1')
  }
}

/** The text between stand-ins, and the data of each. */
function* alternately(text: string, inPlace: (start: number, length: number) => Iterable<Buffer>): Generator<Buffer> {
  let from = 0
  for (const { 0: standing, 1: start, 2: length, index } of text.matchAll(STAND_IN)) {
    yield Buffer.from(text.slice(from, index))
    yield* inPlace(Number(start), Number(length))
    from = index + standing.length
  }
  yield Buffer.from(text.slice(from))
}

/** Bytes from `start` to before `end`, as views of the received pieces. */
function viewsOf(bytes: InlinedSource['bytes'], start: number, end: number): readonly Buffer[] {
  if (Buffer.isBuffer(bytes)) return [bytes.subarray(start, end)]
  const views: Buffer[] = []
  let passedChars = 0
  for (const piece of bytes) {
    if (passedChars >= end) break
    if (passedChars + piece.length > start)
      views.push(piece.subarray(Math.max(0, start - passedChars), end - passedChars))
    passedChars += piece.length
  }
  return views
}

/** An answer's text with a stand-in for each long base64 text in it, and the bytes behind them. */
export type AnswerAround = { readonly text: string; readonly source: InlinedSource }

/**
 * Reads an answer as it arrives. Its long data is found on the way, stays in the received pieces, and is never a text.
 */
export type AnswerGauge = {
  add(chunk: Buffer): void
  /** Undefined for bytes that are not UTF-8, nest too deep, or cannot be read without a long pause. */
  read(): AnswerAround | undefined
}

export function createAnswerGauge(): AnswerGauge {
  const chunks: Buffer[] = []
  let length = 0
  let gauge: JsonGauge | undefined
  let isUnreadable = false
  return {
    add(chunk) {
      if (isUnreadable) return
      chunks.push(chunk)
      length += chunk.length
      // A shorter answer has no room for long data, and weighs little whatever it holds.
      if (length < MIN_SPAN_BYTES) return
      try {
        if (gauge !== undefined) gauge.add(chunk)
        else {
          gauge = createJsonGauge()
          for (const each of chunks) gauge.add(each)
        }
      } catch {
        isUnreadable = true
        chunks.length = 0
      }
    },
    read() {
      if (isUnreadable) return undefined
      return gauge === undefined ? readShort(chunks) : readAround(chunks, gauge)
    },
  }
}

const NO_BYTES: InlinedSource = { bytes: [], hasStandIns: false }

function readShort(chunks: readonly Buffer[]): AnswerAround | undefined {
  const bytes = joinedBytes(chunks)
  if (!isUtf8(bytes)) return undefined
  const text = bytes.toString('utf8')
  return scanMembers(text) === undefined ? undefined : { text, source: NO_BYTES }
}

function readAround(chunks: readonly Buffer[], gauge: JsonGauge): AnswerAround | undefined {
  // Spans are found in the order of their places.
  const spans = [...gauge.spans.values()]
  const pieces: string[] = []
  for (const [at, from] of [0, ...spans.map(({ end }) => end)].entries()) {
    const bytes = Buffer.concat(viewsOf(chunks, from, spans[at]?.start ?? gauge.bytes()))
    if (!isUtf8(bytes)) return undefined
    pieces.push(bytes.toString('utf8'))
  }
  const [only = ''] = pieces
  if (spans.length === 0) return { text: only, source: NO_BYTES }
  // In a text that contains something like a stand-in, there are no stand-ins.
  if (pieces.some((text) => EDGE_LIKE.test(text))) {
    return { text: Buffer.concat(chunks).toString('utf8'), source: NO_BYTES }
  }
  const text = pieces.map((part, at) => part + standIn(spans[at])).join('')
  return { text, source: { bytes: chunks, hasStandIns: true } }
}

/**
 * The first characters of base64 in a `data:` URL after its head, wherever its bytes are. Undefined for any other text.
 */
export function firstData(
  url: string,
  headLength: number,
  count: number,
  { bytes }: InlinedSource,
): string | undefined {
  const text = url.slice(headLength)
  const standing = FIRST_STAND_IN.exec(text)
  const start = Number(standing?.[1])
  const first = () => Buffer.concat(viewsOf(bytes, start, start + count * 2)).toString('latin1')
  const data = standing?.index === 0 ? first() : text.slice(0, count * 2)
  const plain = data.replaceAll('\\', '').slice(0, count)
  return /^[A-Za-z0-9+/=_-]+$/.test(plain) ? plain : undefined
}
