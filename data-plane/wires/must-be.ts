import { AppError } from '#shared/errors.ts'

/** The refusal of a field's value: `{param} must be {words}.` */
export function mustBe(param: string, words: string): AppError {
  return new AppError('invalid_request', { message: `${param} must be ${words}.`, param })
}
