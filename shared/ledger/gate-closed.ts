import { AppError } from '#shared/errors.ts'

/** The error for callers while the gate is away or being rebuilt. */
export function gateClosed(cause?: unknown): AppError {
  return new AppError('service_unavailable', { retryAfterSeconds: 1, ...(cause === undefined ? {} : { cause }) })
}

/** An answer of the server that keeps the money. Throws AppError `service_unavailable` while it is out of reach. */
export function guarded<Result>(answer: Promise<Result>): Promise<Result> {
  return answer.catch((cause: unknown) => {
    throw gateClosed(cause)
  })
}
