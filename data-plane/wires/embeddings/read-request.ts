import type { JsonBody, RawRequest } from '#data-plane/call.ts'
import type { Routing } from '#data-plane/wires/hints.ts'
import { readRouting } from '#data-plane/wires/hints.ts'
import { readJsonBody, readModelName } from '#data-plane/wires/json-body.ts'
import { AppError } from '#shared/errors.ts'
import { mustBe } from '#shared/invalid-member.ts'
import { isGiven } from '#shared/json-members.ts'
import { EMBEDDINGS_MEMBERS } from '#shared/members/of-text.ts'
import type { AskedMembers } from '#shared/members/read-members.ts'
import { readMembers } from '#shared/members/read-members.ts'

/** The form of a vector: a list of numbers, or its 32-bit floats, little-endian, in base64. */
export type Encoding = 'float' | 'base64'

/** The inputs of a request: their number, and bounds of their tokens. */
export type Inputs = {
  readonly count: number
  /** A text's UTF-8 bytes, a token array's length. */
  readonly mostTokens: number
  /** Bytes of text, four for a token that came as a number. */
  readonly bytes: number
}

export type EmbeddingsRequest = Routing & {
  readonly json: JsonBody
  readonly model: string
  readonly inputs: Inputs
  /** The texts, where none of the inputs is a list of tokens. */
  readonly texts: readonly string[] | undefined
  readonly encoding: Encoding
  readonly dimensions: number | undefined
  readonly askedMembers: AskedMembers
}

const MAX_INPUTS = 2_048
const MAX_INPUT_CHARS = 2_097_152
const MAX_DIMENSIONS = 65_536
const MAX_USER_CHARS = 4_096
const BYTES_A_TOKEN = 4

/** Reads the body of an embeddings request. Throws AppError: `invalid_json`, `invalid_request`, `request_too_large`. */
export function readEmbeddingsRequest(raw: RawRequest): EmbeddingsRequest {
  const json = readJsonBody(raw)
  const { body } = json
  const model = readModelName(body['model'])
  const { dimensions, user, stream } = body
  const isDimension =
    typeof dimensions === 'number' && Number.isInteger(dimensions) && dimensions >= 1 && dimensions <= MAX_DIMENSIONS
  if (isGiven(dimensions) && !isDimension) throw mustBe('dimensions', `a whole number from 1 to ${MAX_DIMENSIONS}`)
  if (isGiven(user) && (typeof user !== 'string' || user.length > MAX_USER_CHARS)) {
    throw mustBe('user', `a text of up to ${MAX_USER_CHARS} characters`)
  }
  if (isGiven(stream) && stream !== false) throw mustBe('stream', 'false or absent: vectors are not streamed')
  return {
    json,
    model,
    inputs: readInputs(body['input']),
    texts: readTexts(body['input']),
    encoding: readEncoding(body['encoding_format']),
    dimensions: isDimension ? dimensions : undefined,
    askedMembers: readMembers(EMBEDDINGS_MEMBERS, body),
    ...readRouting(body, raw),
  }
}

function readEncoding(value: unknown): Encoding {
  if (!isGiven(value)) return 'float'
  if (value !== 'float' && value !== 'base64') throw mustBe('encoding_format', '"float" or "base64"')
  return value
}

/** A text, texts, the tokens of one text, or the tokens of several. */
function readInputs(input: unknown): Inputs {
  if (typeof input === 'string') return sumOf([textInput(input)])
  if (!Array.isArray(input) || input.length === 0) {
    throw mustBe('input', 'a text, a list of texts, or a list of tokens, and not empty')
  }
  if (typeof input[0] === 'number') return sumOf([tokenInput(input)])
  if (input.length > MAX_INPUTS) throw mustBe('input', `a list of at most ${MAX_INPUTS}`)
  const isText = typeof input[0] === 'string'
  return sumOf(input.map((entry: unknown) => (isText ? textInput(entry) : tokenInput(entry))))
}

function readTexts(input: unknown): readonly string[] | undefined {
  const all: unknown = typeof input === 'string' ? [input] : input
  return Array.isArray(all) && all.every((entry) => typeof entry === 'string') ? all : undefined
}

type Sized = { readonly tokens: number; readonly bytes: number }

function sumOf(inputs: readonly Sized[]): Inputs {
  let mostTokens = 0
  let bytes = 0
  for (const input of inputs) {
    mostTokens += input.tokens
    bytes += input.bytes
  }
  return { count: inputs.length, mostTokens, bytes }
}

function textInput(text: unknown): Sized {
  if (typeof text !== 'string' || text === '') throw mustBe('input', 'texts that are not empty, or tokens, not both')
  if (text.length > MAX_INPUT_CHARS) {
    throw new AppError('request_too_large', {
      message: `A text must have at most ${MAX_INPUT_CHARS} characters.`,
      param: 'input',
    })
  }
  const bytes = Buffer.byteLength(text)
  return { tokens: bytes, bytes }
}

function tokenInput(tokens: unknown): Sized {
  const isTokens = Array.isArray(tokens) && tokens.length > 0 && tokens.every(isToken)
  if (!isTokens) throw mustBe('input', 'lists of tokens, which are whole numbers, or texts, not both')
  return { tokens: tokens.length, bytes: tokens.length * BYTES_A_TOKEN }
}

function isToken(token: unknown): boolean {
  return typeof token === 'number' && Number.isSafeInteger(token) && token >= 0
}
