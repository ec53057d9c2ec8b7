import type { ErrorClass } from '#shared/contract/health-event.ts'
import { AppError, redact } from '#shared/errors.ts'
import type { BadAnswer } from '#shared/protocols/answers/bad-answer.ts'
import type { ErrorBody } from '#shared/protocols/answers/error-body.ts'
import { readErrorBody } from '#shared/protocols/answers/error-body.ts'
import type { RefusalCause } from '#shared/protocols/answers/refusal-causes.ts'
import { causeOf, SELLER_ADVICE, statusOf } from '#shared/protocols/answers/refusal-causes.ts'
import { UNREADABLE_CREDENTIAL } from '#shared/seal.ts'
import { cleanLine } from '#shared/texts.ts'
import type { AskedProvider, ProviderWords } from './provider-words.ts'
import { readProviderWords } from './provider-words.ts'

/** A failed attempt, for every later step: whose fault it is, whether another may follow, and the buyer's error. */
export type UpstreamFailure = {
  readonly errorClass: ErrorClass
  /** The provider's HTTP status, or 0 when there was none. */
  readonly status: number
  /**
   * `buyer`: the request is at fault. `misfit`: it exceeds a limit of this offer, or needs another protocol than the
   * listing's, and may fit another offer. `ours`: this process is at fault. None of these changes the offer's health.
   */
  readonly fault: 'offer' | 'buyer' | 'misfit' | 'ours'
  /** Milliseconds of the pause that the provider asked for. */
  readonly retryAfterMs: number | undefined
  /** A line for the seller's health log: the remedy, if any, and the provider's text. It holds no secret. */
  readonly detail: string
  /** The refusal in short, for comparison with another's. Absent without a refusal. */
  readonly refusal?: string
  /** The error for the buyer when this was the last attempt. */
  readonly error: AppError
}

/** The longest back-off that a provider's Retry-After may ask for. */
export const MAX_RETRY_AFTER_MS = 600_000
const MAX_DETAIL_CHARS = 300

/** Classifies a provider's refusal by its status and its body, with the publishable part of its text. */
export function classifyStatus(
  status: number,
  body: ErrorBody,
  speaker: AskedProvider,
  waitMs?: number,
): UpstreamFailure {
  const cause = causeOf({ status, body, requestText: () => speaker.requestText() })
  return failureOf(cause, { status: statusOf(status, body), body, speaker, waitMs })
}

/** Classifies an answer with a good status that is neither an answer nor a refusal: a web page, or nothing. */
export function classifyNoAnswer(status: number, body: ErrorBody, speaker: AskedProvider): UpstreamFailure {
  return failureOf('unclear', { status, body, speaker, waitMs: undefined })
}

/** Any other status from 400 to 499 of a forwarded call concerns the request. */
const NOT_ABOUT_THE_REQUEST: ReadonlySet<number> = new Set([401, 402, 407, 408, 429])
const ABOUT_THE_LENDER: ReadonlySet<RefusalCause> = new Set(['account', 'quota'])

/**
 * Classifies the error status of a forwarded call. The buyer chose the path, so 403 and 404 concern that choice: a
 * buyer cannot have a lender's key backed off by requests for missing paths. An account without credit is the lender's
 * fault in any wording.
 */
export function classifyForwarded(
  status: number,
  body: ErrorBody,
  speaker: AskedProvider,
  waitMs?: number,
): UpstreamFailure {
  const cause = causeOf({ status, body, requestText: () => speaker.requestText() })
  const isAbout = status < 400 || status > 499 || NOT_ABOUT_THE_REQUEST.has(status) || ABOUT_THE_LENDER.has(cause)
  return failureOf(isAbout ? cause : 'request', { status: statusOf(status, body), body, speaker, waitMs })
}

/** Classifies bytes with status 200 that are no answer. */
export function classifyBadAnswer(bad: BadAnswer, speaker: AskedProvider): UpstreamFailure {
  if (bad.kind === 'error') return classifyStatus(bad.status, readErrorBody(bad.text), speaker)
  const { forLog } = readProviderWords({ message: bad.text }, speaker)
  return offerFault(bad.kind === 'cut' ? 'cut' : 'bad_response', {
    status: 200,
    detail: line(forLog),
    retryAfterMs: undefined,
  })
}

/**
 * Classifies a call without an answer: refused, reset, timed out, to a forbidden address, or with a credential that
 * does not open.
 */
export function classifyError(thrown: Error, hasHead: boolean): UpstreamFailure {
  const code = 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : thrown.name
  const at = { status: hasHead ? 200 : 0, detail: line(code), retryAfterMs: undefined }
  if (hasHead && /SOCKET|ECONNRESET|UND_ERR_REQ_CONTENT|ABORT/.test(code)) return offerFault('cut', at)
  if (/TIMEOUT|ETIMEDOUT/.test(code)) return offerFault('timeout', at)
  if (/PARSER|HPE_|RESPONSE_EXCEEDED|HEADERS_OVERFLOW/.test(code)) return offerFault('bad_response', at)
  if (code === UNREADABLE_CREDENTIAL) {
    return offerFault('credential_rejected', { ...at, detail: 'the sealed key of the offer does not open' })
  }
  return offerFault('unreachable', at)
}

/** The failure of an attempt whose buyer's payment could not be taken. */
export function paymentFailure(error: AppError): UpstreamFailure {
  const detail = 'the payment could not be taken'
  return { errorClass: 'bad_request', status: 200, fault: 'buyer', retryAfterMs: undefined, detail, error }
}

/** The failure of an attempt whose request could not be read to its end. */
export function requestFailure(error: AppError): UpstreamFailure {
  const detail = 'the body of the request failed'
  return { errorClass: 'bad_request', status: 0, fault: 'buyer', retryAfterMs: undefined, detail, error }
}

/** The failure of an answer for which this process had no room. It would have none for another provider's either. */
export function roomFailure(error: AppError): UpstreamFailure {
  const detail = 'no room for the answer'
  return { errorClass: 'overloaded', status: 200, fault: 'ours', retryAfterMs: undefined, detail, error }
}

/** A failure that this process found itself: a limit of time or size. */
export function ownFailure(errorClass: 'timeout' | 'bad_response' | 'cut', detail: string): UpstreamFailure {
  return offerFault(errorClass, { status: 0, detail, retryAfterMs: undefined })
}

type Facts = Pick<UpstreamFailure, 'status' | 'detail' | 'retryAfterMs' | 'refusal'>

type Refusal = {
  readonly status: number
  readonly body: ErrorBody
  readonly speaker: AskedProvider
  /** Milliseconds of the headers. */
  readonly waitMs: number | undefined
}

/** The class of each cause that does not concern the request. */
const CLASSES: Readonly<
  Record<Exclude<RefusalCause, 'context' | 'policy' | 'request' | 'size' | 'protocol'>, ErrorClass>
> = {
  key: 'credential_rejected',
  account: 'account_rejected',
  quota: 'quota_exhausted',
  region: 'region_rejected',
  access: 'access_rejected',
  model: 'not_found',
  rate: 'rate_limited',
  overload: 'overloaded',
  timeout: 'timeout',
  server: 'server_error',
  unclear: 'bad_response',
}

function failureOf(cause: RefusalCause, { status, body, speaker, waitMs }: Refusal): UpstreamFailure {
  const words = readProviderWords(body, speaker)
  const logText = `status ${status}: ${words.forLog}`
  const advice = SELLER_ADVICE[cause]
  const askedMs = waitMs ?? body.retryAfterMs
  const at: Facts = {
    status,
    detail: line(advice === undefined ? logText : `${advice} (${logText})`),
    retryAfterMs: askedMs === undefined ? undefined : Math.min(askedMs, MAX_RETRY_AFTER_MS),
    refusal: refusalText(status, body),
  }
  switch (cause) {
    case 'context':
      return { ...at, errorClass: 'context_length', fault: 'buyer', error: new AppError('context_length_exceeded') }
    case 'policy':
    case 'request':
      return { ...at, errorClass: 'bad_request', fault: 'buyer', error: rejected(words) }
    case 'size':
      return {
        ...at,
        errorClass: 'too_large',
        fault: 'misfit',
        error: new AppError('upstream_rejected', { message: TOO_LARGE }),
      }
    case 'protocol':
      return { ...at, errorClass: 'wrong_protocol', fault: 'misfit', error: rejected(words) }
    default:
      return offerFault(CLASSES[cause], at)
  }
}

const TOO_LARGE = 'The request is larger than the available providers take at once.'
const MAX_REFUSAL_CHARS = 200

/**
 * Two refusals are equal when their statuses, their codes and their texts are. Numbers, quoted names and ids may
 * differ, because providers insert each account's limits, models and calls there.
 */
function refusalText(status: number, { codes, message }: ErrorBody): string {
  const words = message
    .toLowerCase()
    .replace(/"[^"]*"|'[^']*'|`[^`]*`/g, '*')
    .replace(/[\w-]*\d[\w.,-]*/g, '#')
    .replace(/\s+/g, ' ')
    .slice(0, MAX_REFUSAL_CHARS)
  return `${status} ${[...codes].sort((a, b) => (a < b ? -1 : 1)).join(' ')} ${words}`
}

function rejected({ forBuyer, param }: ProviderWords): AppError {
  return new AppError('upstream_rejected', {
    ...(forBuyer === '' ? {} : { message: `The provider rejected the request: ${forBuyer}` }),
    ...(param === undefined ? {} : { param }),
  })
}

function offerFault(errorClass: ErrorClass, facts: Facts): UpstreamFailure {
  return { ...facts, errorClass, fault: 'offer', error: shownError(errorClass, facts.retryAfterMs) }
}

/** The error for the buyer, in fixed words, because a provider's text about its own failures is not for the buyer. */
function shownError(errorClass: ErrorClass, retryAfterMs: number | undefined): AppError {
  const retryAfterSeconds = Math.ceil((retryAfterMs ?? 10_000) / 1_000)
  switch (errorClass) {
    case 'rate_limited':
      return new AppError('rate_limited', {
        message: 'Every available provider is rate limited.',
        detail: { limit_source: 'provider', limit_scope: 'provider', resets_at: null },
        retryAfterSeconds,
      })
    case 'overloaded':
      return new AppError('overloaded', {
        message: 'Every available provider is overloaded.',
        detail: { limit_source: 'provider', limit_scope: 'provider', resets_at: null },
        retryAfterSeconds,
      })
    case 'timeout':
      return new AppError('upstream_timeout')
    default:
      return new AppError('upstream_error')
  }
}

/** Puts a text on one line and hides everything that looks like a key. */
function line(text: string): string {
  return cleanLine(redact(cleanLine(text, text.length)), MAX_DETAIL_CHARS)
}
