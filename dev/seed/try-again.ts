import { AppError } from '#shared/errors.ts'
import { isTransient } from '#shared/transient.ts'

/** Tries of a program that runs once and is not restarted. */
const TRIES = 5

/**
 * Repeats work without side effects when a busy server exceeds a time limit. Throws the error of the last try, and any
 * other error at once.
 */
export async function tryAgain<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let tries = 1; ; tries++) {
    try {
      return await work()
    } catch (error) {
      if (tries >= TRIES || !isBusy(error)) throw error
    }
  }
}

function isBusy(error: unknown): boolean {
  return isTransient(error) || (error instanceof AppError && error.code === 'service_unavailable')
}
