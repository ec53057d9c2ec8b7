import type { ErrorClass } from '#shared/contract/health-event.ts'
import { AppError, redact } from '#shared/errors.ts'
import type { BadAnswer } from '#shared/protocols/answers/bad-answer.ts'
import type { ErrorBody } from '#shared/protocols/answers/error-body.ts'
import { readErrorBody } from '#shared/protocols/answers/error-body.ts'
import { UNREADABLE_CREDENTIAL } from '#shared/seal.ts'
import { cleanLine } from '#shared/texts.ts'
import type { AskedProvider, ProviderWords } from './provider-words.ts'
import { readProviderWords } from './provider-words.ts'

/**
 * A failed attempt, for every step after it: whose fault it is, whether another may follow, and what the buyer reads.
 */
export type UpstreamFailure = {
  readonly errorClass: ErrorClass
  /** The provider's HTTP status, or 0 when there was none. */
  readonly status: number
  /** `buyer`: the request is at fault. `ours`: this process is. The offer's health does not change for either. */
  readonly fault: 'offer' | 'buyer' | 'ours'
  /** Milliseconds for which the provider asked not to be called. */
  readonly retryAfterMs: number | undefined
  /** A line for the seller's health log. It holds no secret. */
  readonly detail: string
  /** The error for the buyer when this was the last attempt. */
  readonly error: AppError
}

/** The longest back-off that a provider's Retry-After may ask for. */
export const MAX_RETRY_AFTER_MS = 600_000
const MAX_DETAIL_CHARS = 300

/** Classifies a provider's error status, with its words as far as they may be told. */
export function classifyStatus(
  status: number,
  body: ErrorBody,
  speaker: AskedProvider,
  retryAfterMs?: number,
): UpstreamFailure {
  const words = readProviderWords(body, speaker)
  const at = { status, detail: line(`status ${status}: ${words.forLog}`), retryAfterMs }
  // A refusal by content is about the request. It must not close an offer, because any buyer can bring it about.
  if (status === 403 && body.isPolicy === true) return buyerFault(at, words, false)
  if (status === 401 || status === 402 || status === 403) return offerFault('credential_rejected', at)
  if (status === 404) return offerFault('not_found', at)
  if (status === 408 || status === 504) return offerFault('timeout', at)
  if (status === 429) return offerFault('rate_limited', at)
  if (status === 529 || status === 503) return offerFault('overloaded', at)
  if (status >= 500) return offerFault('server_error', at)
  if (status >= 400) return buyerFault(at, words, body.isContext)
  // These are 1xx, 2xx without an answer, and redirects, which are never followed.
  return offerFault('bad_response', at)
}

/** The key or the account is at fault, or the provider. Any other status from 400 to 499 is about the request. */
const NOT_ABOUT_THE_REQUEST: ReadonlySet<number> = new Set([401, 402, 407, 408, 429])

/**
 * Classifies the error status of a forwarded call. Its buyer chose what it asks for, so 403 and 404 are about that, and
 * nobody can have a lender's key backed off by asking for what is not there.
 */
export function classifyForwarded(
  status: number,
  body: ErrorBody,
  speaker: AskedProvider,
  retryAfterMs?: number,
): UpstreamFailure {
  if (status < 400 || status > 499 || NOT_ABOUT_THE_REQUEST.has(status)) {
    return classifyStatus(status, body, speaker, retryAfterMs)
  }
  const words = readProviderWords(body, speaker)
  return buyerFault({ status, detail: line(`status ${status}: ${words.forLog}`), retryAfterMs }, words, false)
}

/** Classifies bytes with status 200 that are no answer. */
export function classifyBadAnswer(bad: BadAnswer, speaker: AskedProvider): UpstreamFailure {
  if (bad.kind === 'error') return classifyStatus(bad.status, readErrorBody(bad.text), speaker)
  const { forLog } = readProviderWords({ message: bad.text, isContext: false }, speaker)
  return offerFault(bad.kind === 'cut' ? 'cut' : 'bad_response', {
    status: 200,
    detail: line(forLog),
    retryAfterMs: undefined,
  })
}

/**
 * Classifies a call that did not get through: refused, reset, timed out, to a forbidden address, or with a credential
 * that does not open.
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

/** The failure of an answer for which this process had no room. Another provider's would have none either. */
export function roomFailure(error: AppError): UpstreamFailure {
  const detail = 'no room for the answer'
  return { errorClass: 'overloaded', status: 200, fault: 'ours', retryAfterMs: undefined, detail, error }
}

/** A failure that this process found itself: a limit of time or size. */
export function ownFailure(errorClass: 'timeout' | 'bad_response' | 'cut', detail: string): UpstreamFailure {
  return offerFault(errorClass, { status: 0, detail, retryAfterMs: undefined })
}

type Facts = Pick<UpstreamFailure, 'status' | 'detail' | 'retryAfterMs'>

function offerFault(errorClass: ErrorClass, facts: Facts): UpstreamFailure {
  return { ...facts, errorClass, fault: 'offer', error: shownError(errorClass, facts.retryAfterMs) }
}

/** The error for the buyer, in fixed words, because a provider's words about its own failures are not for the buyer. */
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

function buyerFault(facts: Facts, { forBuyer, param }: ProviderWords, isContext: boolean): UpstreamFailure {
  const error = isContext
    ? new AppError('context_length_exceeded')
    : new AppError('upstream_rejected', {
        ...(forBuyer === '' ? {} : { message: `The provider rejected the request: ${forBuyer}` }),
        ...(param === undefined ? {} : { param }),
      })
  return { ...facts, errorClass: isContext ? 'context_length' : 'bad_request', fault: 'buyer', error }
}

/** Puts a text on one line and hides everything that looks like a key. */
function line(text: string): string {
  return cleanLine(redact(cleanLine(text, text.length)), MAX_DETAIL_CHARS)
}
