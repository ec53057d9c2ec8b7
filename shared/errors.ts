import { ERRORS } from './error-table.ts'

/** Every code that may be thrown on purpose. */
export type ErrorCode = keyof typeof ERRORS

/** The codes, in the order of the table. */
export const ERROR_CODES = Object.keys(ERRORS).filter((code): code is ErrorCode => code in ERRORS)

/** One thing that is wrong with an input: a public sentence, and the field, if it is one. */
export type Problem = { readonly param: string | null; readonly message: string }

/** Public facts about an error: limits with whose they are and when they lift, ids, numbers. Never a secret. */
export type ErrorDetail = Readonly<Record<string, unknown>>

type Options = {
  /** A public sentence in place of the table's. */
  readonly message?: string
  /** The request field at fault, as the wire spells it. */
  readonly param?: string
  /** Everything that is wrong with an input, where that is more than the message says. */
  readonly problems?: readonly Problem[]
  readonly detail?: ErrorDetail
  /** Seconds after which a retry may work; sent as `Retry-After`. */
  readonly retryAfterSeconds?: number
  /** What really happened: for the log only. */
  readonly cause?: unknown
}

/**
 * The one error of the project. `code` decides the HTTP status; `message`, `param`, `problems` and `detail` are public; `cause` is
 * for the log only. It becomes bytes only in a wire's envelope or in the control plane's `api/errors.ts`.
 */
export class AppError extends Error {
  readonly code: ErrorCode
  readonly param: string | undefined
  readonly problems: readonly Problem[]
  readonly detail: ErrorDetail
  readonly retryAfterSeconds: number | undefined

  constructor(code: ErrorCode, options: Options = {}) {
    super(options.message ?? ERRORS[code].message, options.cause === undefined ? {} : { cause: options.cause })
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

  /** OpenAI's word for this family of errors: the `type` of the /v1 envelope. */
  get type(): string {
    return ERRORS[this.code].type
  }
}

/** Anything thrown, as an AppError: a stranger becomes `internal_error` with its text hidden in the cause. */
export function toAppError(thrown: unknown): AppError {
  return thrown instanceof AppError ? thrown : new AppError('internal_error', { cause: thrown })
}

/** The name, code and first line of a stranger's error: all of it that may reach a log. */
export function describeCause(cause: unknown): { name: string; code?: string; message?: string } | undefined {
  if (cause === undefined) return undefined
  if (!(cause instanceof Error)) return { name: typeof cause }
  const code = 'code' in cause && typeof cause.code === 'string' ? { code: cause.code } : {}
  return { name: cause.name, ...code, message: redact(cause.message.split('\n')[0] ?? '') }
}

/** Hides what looks like a key, a token or user info in a URL inside a text. */
export function redact(text: string): string {
  return text
    .slice(0, 500)
    .replace(/\b(?:inf|mkt_seller|mkt_mgmt|sk|rk|pk|gsk|xai|key|Bearer)[-_ ][\w.\-/+=]{8,}/gi, '[secret]')
    .replace(/\/\/[^/\s@]+@/g, '//[secret]@')
}
