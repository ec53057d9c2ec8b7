import { AppError } from '#shared/errors.ts'

/** The refusal of a member of a request. */
export function invalidMember(param: string, message: string): AppError {
  return new AppError('invalid_request', { message, param })
}

/** The refusal of a member's value: `{param} must be {words}.` */
export function mustBe(param: string, words: string): AppError {
  return invalidMember(param, `${param} must be ${words}.`)
}
