import { expect } from 'vitest'
import { AppError } from '#shared/errors.ts'

/** The error with which an operation refuses a call. Fails when the call was accepted, or failed in another way. */
export async function refusalOf(call: Promise<unknown>): Promise<AppError> {
  const error = await call.then(
    () => expect.fail('it was accepted'),
    (reason: unknown) => reason,
  )
  if (error instanceof AppError) return error
  throw error
}
