import { AppError } from '#shared/errors.ts'
import { isTransient } from '#shared/transient.ts'

/** Runs work on the database. An error that says nothing about the work itself becomes `service_unavailable`. */
export async function orUnavailable<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    throw isTransient(error) ? new AppError('service_unavailable', { cause: error, retryAfterSeconds: 1 }) : error
  }
}
