import { AppError } from '#shared/errors.ts'

/** True for a field that is there; null counts as absent. */
export function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null
}

/** The refusal of a field's value: `{param} must be {words}.` */
export function mustBe(param: string, words: string): AppError {
  return new AppError('invalid_request', { message: `${param} must be ${words}.`, param })
}
