import { isUtf8 } from 'node:buffer'
import { AppError } from '#shared/errors.ts'
import type { JsonMember } from '#shared/json-members.ts'
import { isRecord, MAX_JSON_DEPTH, scanMembers } from '#shared/json-members.ts'
import { refuseElsewhere } from './elsewhere.ts'
import type { InlinedSource } from './inlined-data.ts'
import { readAroundInlined } from './inlined-data.ts'

/** A JSON request as it was read: its own text, where each member stands in it, and what it means. */
export type JsonBody = InlinedSource & {
  readonly text: string
  readonly members: readonly JsonMember[]
  readonly body: Readonly<Record<string, unknown>>
}

const MAX_MODEL_CHARS = 160
/** The most members that the body's object may have. */
const MAX_MEMBERS = 200
const BOM = 0xfeff
/** A larger body is mostly inlined images. They would be held three times: as bytes, as text and parsed. */
const LARGE_BYTES = 1_048_576

/**
 * Reads the body of a call. In a large one, data that is inlined in `inlinedIn` stays in the bytes: texts are then
 * measured by `lengthOf` of the content, and the seller's request is passed through `putInlinedBack`. Throws AppError:
 * `invalid_json`, `invalid_request`.
 */
export function readJsonBody(bytes: Buffer, inlinedIn?: 'messages' | 'input'): JsonBody {
  const json = readAnyBody(bytes, inlinedIn)
  refuseElsewhere(json.body)
  return json
}

/** Reads the object of a body that is not sent on. */
export function readAnyBody(bytes: Buffer, inlinedIn?: 'messages' | 'input'): JsonBody {
  if (!isUtf8(bytes)) throw new AppError('invalid_json', { message: 'The request body is not valid UTF-8.' })
  const isSearched = inlinedIn !== undefined && bytes.length >= LARGE_BYTES
  const around = isSearched ? readAroundInlined(bytes, inlinedIn) : undefined
  let text = around ?? bytes.toString('utf8')
  if (text.charCodeAt(0) === BOM) text = text.slice(1)
  const members = scanMembers(text)
  if (members === undefined) {
    throw new AppError('invalid_json', { message: `The request body is cut or nests deeper than ${MAX_JSON_DEPTH}.` })
  }
  if (members.length > MAX_MEMBERS)
    throw new AppError('invalid_request', { message: 'The request body has too many members.' })
  const body = parse(text)
  if (!isRecord(body)) throw new AppError('invalid_request', { message: 'The request body is a JSON object.' })
  if (members.some(({ key }) => key === '__proto__')) {
    throw new AppError('invalid_request', { message: 'The request body has a member named __proto__.' })
  }
  return { text, bytes, hasStandIns: around !== undefined, members, body }
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
