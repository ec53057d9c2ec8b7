import { ERRORS } from './error-table.ts'

/** Every code that may be thrown on purpose. */
export type ErrorCode = keyof typeof ERRORS

/** The codes, in the order of the table. */
export const ERROR_CODES = Object.keys(ERRORS).filter((code): code is ErrorCode => code in ERRORS)

/** A fault of an input: a public sentence, and the field if the fault has one. */
export type Problem = { readonly param: string | null; readonly message: string }

/** Public facts about an error, such as limits with their owner and end, ids and numbers. It never holds a secret. */
export type ErrorDetail = Readonly<Record<string, unknown>>

type Options = {
  /** A public sentence that replaces the table's. */
  readonly message?: string
  /** The faulty request field, in the wire's spelling. */
  readonly param?: string
  /** All faults of an input, when there are more than the message names. */
  readonly problems?: readonly Problem[]
  readonly detail?: ErrorDetail
  /** Seconds after which a retry may work; sent as `Retry-After`. */
  readonly retryAfterSeconds?: number
  /** The real cause, for the log only. */
  readonly cause?: unknown
}

/**
 * The error of this project. `code` decides the HTTP status; `message`, `param`, `problems` and `detail` are public;
 * `cause` is for the log only. It becomes bytes only in a wire's envelope or in the control plane's `api/errors.ts`.
 */
export class AppError extends Error {
  readonly code: ErrorCode
  readonly param: string | undefined
  readonly problems: readonly Problem[]
  readonly detail: ErrorDetail
  readonly retryAfterSeconds: number | undefined

  constructor(code: ErrorCode, options: Options = {}) {
    // A demand for payment is an answer, not a fault. Its stack is never read, and would take a tenth of the time of a
    // 402.
    const { stackTraceLimit } = Error
    if (code === 'payment_required') Error.stackTraceLimit = 0
    super(options.message ?? ERRORS[code].message, options.cause === undefined ? {} : { cause: options.cause })
    Error.stackTraceLimit = stackTraceLimit
    this.name = 'AppError'
    this.code = code
    this.param = options.param
    this.problems = options.problems ?? []
    this.detail = options.detail ?? {}
    this.retryAfterSeconds = options.retryAfterSeconds
  }

  get status(): number {
    return ERRORS[this.code].status
  }

  /** OpenAI's name for this family of errors: the `type` of the /v1 envelope. */
  get type(): string {
    return ERRORS[this.code].type
  }
}

/** Turns any thrown value into an AppError. A foreign error becomes `internal_error`; its text stays in the cause. */
export function toAppError(thrown: unknown): AppError {
  return thrown instanceof AppError ? thrown : new AppError('internal_error', { cause: thrown })
}

/** The name, code and first line of a foreign error. Nothing else of it may reach a log. */
export function describeCause(cause: unknown): { name: string; code?: string; message?: string } | undefined {
  if (cause === undefined) return undefined
  if (!(cause instanceof Error)) return { name: typeof cause }
  const code = 'code' in cause && typeof cause.code === 'string' ? { code: cause.code } : {}
  return { name: cause.name, ...code, message: redact(cause.message.split('\n')[0] ?? '') }
}

/** Hides text that looks like a key, a token or user info of a URL. */
export function redact(text: string): string {
  return text
    .slice(0, 500)
    .replace(/\b(?:inf|mkt_seller|mkt_mgmt|sk|rk|pk|gsk|xai|key|Bearer)[-_ ][\w.\-/+=]{8,}/gi, '[secret]')
    .replace(/\/\/[^/\s@]+@/g, '//[secret]@')
}
