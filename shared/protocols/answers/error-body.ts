import { isRecord, isTooDeep } from '#shared/json-members.ts'
import { parseJson } from '#shared/parse-json.ts'
import { readWait } from '#shared/retry-after.ts'

/** The facts in the body of a provider's refusal. */
export type ErrorBody = {
  /** The provider's text, or an empty one. Unredacted, it may not be shown. */
  readonly message: string
  /** The member of the request that the error names. Unredacted, it may not be shown either. */
  readonly param?: string
  /** Codes, types and reasons from the members that the provider writes, in lower case. */
  readonly codes: readonly string[]
  /** The HTTP status in the body. */
  readonly status?: number
  /** Milliseconds of the pause that the body asks for. */
  readonly retryAfterMs?: number
  /** Input tokens a minute that the account may use, if the body names them. */
  readonly tokenLimit?: number
  /** False for a text that is not JSON: a web page, or the text of a proxy. */
  readonly isJson: boolean
}

/** The headers of a refusal, in lower case. */
export type RefusalHeaders = { readonly [name: string]: string | string[] | undefined }

/** A longer refusal is read by its first message alone. */
const MAX_PARSED_CHARS = 262_144
const MAX_CODE_CHARS = 96
const MAX_MESSAGE_CHARS = 2_000
const MAX_PARAM_CHARS = 256
/** Most nested objects, as gateways wrap the error of a provider in their own. */
const MAX_LEVELS = 4
/** Most entries that are read of a list of details. */
const MAX_DETAILS = 16

const NOTHING_READ: ErrorBody = { message: '', codes: [], isJson: false }

/**
 * Parses a refusal in any of the forms in use: OpenAI's and Anthropic's `error`, Google's with its details or in an
 * array, FastAPI's `detail`, the flat ones of Mistral, Cohere and vLLM, MiniMax's `base_resp`, an event of a stream, or
 * plain text. Only members that the provider writes are read, so no text of a request is taken for a code.
 */
export function readErrorBody(text: string): ErrorBody {
  const plain = text.trimStart()
  const json = /^(?:event|data|id):/.test(plain) ? (/^data: ?(.*)$/m.exec(plain)?.[1] ?? '') : plain
  const value = json.length <= MAX_PARSED_CHARS && !isTooDeep(json) ? parseJson(json) : undefined
  if (value === undefined) return readText(plain)
  const parts: ErrorParts = { codes: new Set() }
  collect(parts, value, 0)
  const { message = '', param, codes, status, waitMs = waitIn(message), tokenLimit = limitIn(message) } = parts
  return {
    message: message.slice(0, MAX_MESSAGE_CHARS),
    codes: [...codes],
    isJson: true,
    ...(param !== undefined && { param }),
    ...(status !== undefined && { status }),
    ...(waitMs !== undefined && { retryAfterMs: waitMs }),
    ...(tokenLimit !== undefined && { tokenLimit }),
  }
}

/** Plain text: a proxy's, or truncated JSON. */
function readText(text: string): ErrorBody {
  if (text === '' || text.startsWith('<')) return NOTHING_READ
  const message = /^[[{]/.test(text) ? firstMessage(text) : text.slice(0, MAX_MESSAGE_CHARS)
  const waitMs = waitIn(message)
  return { ...NOTHING_READ, message, ...(waitMs !== undefined && { retryAfterMs: waitMs }) }
}

function firstMessage(text: string): string {
  const quoted = /"message"\s*:\s*("(?:[^"\\]|\\.){0,2000}")/.exec(text.slice(0, 8_192))?.[1]
  const message = quoted === undefined ? undefined : parseJson(quoted)
  return typeof message === 'string' ? message : ''
}

type ErrorParts = {
  readonly codes: Set<string>
  message?: string
  param?: string
  status?: number
  waitMs?: number
  tokenLimit?: number
}

/** Members that hold the error itself, from the outside in. */
const INNER = ['error', 'detail', 'errors', 'innererror', 'inner_error', 'base_resp'] as const
const MESSAGES = ['message', 'Message', 'msg', 'status_msg', 'error_message', 'error_description'] as const
const CODES = ['code', 'type', 'status', 'reason', '__type', 'error_code', 'error_type'] as const

function collect(parts: ErrorParts, value: unknown, level: number): void {
  if (typeof value === 'string') {
    parts.message ??= value
    return
  }
  const body = Array.isArray(value) ? value[0] : value
  if (!isRecord(body) || level >= MAX_LEVELS) return
  for (const name of CODES) addCode(parts, body[name])
  const { status_code: status, param, loc, details } = body
  addCode(parts, name(status))
  // The innermost text is the most specific, so the inner error is read before the message around it.
  for (const inner of INNER)
    if (body[inner] !== undefined && body[inner] !== null) collect(parts, body[inner], level + 1)
  for (const member of MESSAGES) {
    const words = body[member]
    if (typeof words === 'string' && words !== '') parts.message ??= words
  }
  const paramName: unknown = param ?? (Array.isArray(loc) ? loc.at(-1) : undefined)
  if (typeof paramName === 'string' && paramName !== '' && paramName.length <= MAX_PARAM_CHARS)
    parts.param ??= paramName
  if (Array.isArray(details)) for (const detail of details.slice(0, MAX_DETAILS)) addDetail(parts, detail)
}

/** MiniMax's numbers, which differ from those of every other provider. */
function name(status: unknown): unknown {
  return typeof status === 'number' && status !== 0 ? `minimax:${status}` : undefined
}

function addCode(parts: ErrorParts, value: unknown): void {
  const text = typeof value === 'number' ? String(value) : value
  if (typeof text !== 'string' || text === '' || text.length > MAX_CODE_CHARS) return
  if (/^[45]\d\d$/.test(text)) parts.status ??= Number(text)
  else parts.codes.add(text.toLowerCase())
}

/** An entry of Google's details: ErrorInfo, QuotaFailure or RetryInfo. */
function addDetail(parts: ErrorParts, detail: unknown): void {
  if (!isRecord(detail)) return
  const { reason, retryDelay, violations } = detail
  addCode(parts, reason)
  const waitMs = typeof retryDelay === 'string' ? readWait(retryDelay) : undefined
  if (waitMs !== undefined) parts.waitMs ??= waitMs
  if (!Array.isArray(violations)) return
  for (const violation of violations.slice(0, MAX_DETAILS)) {
    if (!isRecord(violation)) continue
    // Google names the period in the quota's id alone: GenerateRequestsPerDayPerProjectPerModel-FreeTier.
    const { quotaId, quotaMetric, quotaValue } = violation
    if (typeof quotaId === 'string' && /PerDay/.test(quotaId)) parts.codes.add('google:per_day')
    if (typeof quotaMetric === 'string' && /input_token/.test(quotaMetric)) {
      const limit = Number(quotaValue)
      if (Number.isSafeInteger(limit) && limit > 0) parts.tokenLimit ??= limit
    }
  }
}

/** The wait that a message names, as OpenAI's and Google's do. */
function waitIn(message: string): number | undefined {
  const delay = /\b(?:try again|retry) (?:in|after) ((?:\d+(?:\.\d+)?(?:ms|[hms]) ?)+|\d+ seconds)/i.exec(message)?.[1]
  return delay === undefined ? undefined : readWait(delay.replace(' seconds', 's').trim())
}

/** The limit that Anthropic names. */
function limitIn(message: string): number | undefined {
  const limit = /rate limit of ([\d,]{1,15}) input tokens per minute/i.exec(message)?.[1]
  return limit === undefined ? undefined : Number(limit.replaceAll(',', ''))
}
