import type { z } from 'zod'
import { AppError } from '#shared/errors.ts'
import { inputSentence } from './input-sentences.ts'

/** Most problems of one input that are told. */
const MAX_PROBLEMS = 20

/**
 * Validates what came through a door; the first problem becomes the sentence and the field of the error, and all of them
 * stand in its list where there are more.
 */
export function parseInput<Input extends z.ZodType>(schema: Input, raw: unknown): z.output<Input> {
  const parsed = schema.safeParse(raw, { error: inputSentence })
  if (parsed.success) return parsed.data
  const problems = parsed.error.issues.slice(0, MAX_PROBLEMS).map(({ path, message }) => {
    const param = path.map(String).join('.')
    return { param: param === '' ? null : param, message }
  })
  const [first] = problems
  if (first === undefined) throw new AppError('invalid_request')
  throw new AppError('invalid_request', {
    message: first.message,
    ...(first.param === null ? {} : { param: first.param }),
    ...(problems.length > 1 ? { problems } : {}),
  })
}
