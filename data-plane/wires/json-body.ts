import { isUtf8 } from 'node:buffer'
import type { InlinedIn, JsonBody, RawRequest } from '#data-plane/call.ts'
import { AppError } from '#shared/errors.ts'
import { tooDeep } from '#shared/json-gauge.ts'
import type { JsonMember } from '#shared/json-members.ts'
import { isRecord, scanMembers } from '#shared/json-members.ts'
import { refuseElsewhere } from './elsewhere.ts'
import { pause, readAroundInlined, readAroundInSteps } from './inlined-data.ts'
import type { KnownData } from './inlined-spans.ts'

const MAX_MODEL_CHARS = 160
/** The most members that the body's object may have. */
const MAX_MEMBERS = 200
const BOM = 0xfeff
/** A larger body is mostly inlined images. They would be held three times: as bytes, as text and parsed. */
const LARGE_BYTES = 1_048_576

/**
 * Parses the body of a call. In a large one, data that is inlined in `inlinedIn` stays in the bytes: texts are then
 * measured by `lengthOf` of the content, and the seller's request is passed through `putInlinedBack`. Throws AppError:
 * `invalid_json`, `invalid_request`, `request_too_large`.
 */
export function readJsonBody(raw: ReadBody, inlinedIn?: InlinedIn): JsonBody {
  const json = readAnyBody(raw, inlinedIn)
  refuseElsewhere(json.body)
  return json
}

/** Reads the object of a body that is not sent on. */
export function readAnyBody({ body: bytes, json }: ReadBody, inlinedIn?: InlinedIn): JsonBody {
  if (json !== undefined) return json
  checkUtf8(bytes)
  const isSearched = inlinedIn !== undefined && bytes.length >= LARGE_BYTES
  const around = isSearched ? readAroundInlined(bytes, inlinedIn) : undefined
  const text = withoutMark(around ?? bytes.toString('utf8'))
  const members = membersOf(text)
  return jsonBody({ text, bytes, hasStandIns: around !== undefined }, members, parse(text))
}

/** A request's bytes, and their parsed value if they were parsed before. */
type ReadBody = Pick<RawRequest, 'body' | 'json'>

/**
 * Parses the object of a large body whose bytes a gauge has weighed, in steps between which everything else runs.
 * `known` holds the gauge's findings.
 */
export async function readJsonInSteps(bytes: Buffer, knownData: KnownData, inlinedIn?: string): Promise<JsonBody> {
  checkUtf8(bytes)
  await pause()
  const around = await readAroundInSteps(bytes, inlinedIn, knownData)
  const text = withoutMark(around.text)
  const members = membersOf(text)
  await pause()
  const value = parse(text)
  await pause()
  return jsonBody({ text, bytes, hasStandIns: around.hasStandIns }, members, value)
}

function checkUtf8(bytes: Buffer): void {
  if (!isUtf8(bytes)) throw new AppError('invalid_json', { message: 'The request body is not valid UTF-8.' })
}

function withoutMark(text: string): string {
  return text.charCodeAt(0) === BOM ? text.slice(1) : text
}

function membersOf(text: string): readonly JsonMember[] {
  const members = scanMembers(text)
  if (members === undefined) throw tooDeep()
  if (members.length > MAX_MEMBERS)
    throw new AppError('invalid_request', { message: 'The request body has too many members.' })
  return members
}

type Source = Pick<JsonBody, 'text' | 'bytes' | 'hasStandIns'>

function jsonBody({ text, bytes, hasStandIns }: Source, members: readonly JsonMember[], body: unknown): JsonBody {
  if (!isRecord(body)) throw new AppError('invalid_request', { message: 'The request body must be a JSON object.' })
  if (members.some(({ key }) => key === '__proto__')) {
    throw new AppError('invalid_request', { message: 'The request body has a member named __proto__.' })
  }
  return { text, bytes, hasStandIns, members, body }
}

/** The model that a request names. Throws `invalid_request`. */
export function readModelName(model: unknown): string {
  if (typeof model !== 'string' || model === '' || model.length > MAX_MODEL_CHARS) {
    throw new AppError('invalid_request', { message: 'model must be the name of a model.', param: 'model' })
  }
  return model
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new AppError('invalid_json')
  }
}
