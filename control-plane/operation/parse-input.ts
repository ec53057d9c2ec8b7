import type { z } from 'zod'
import { AppError } from '#shared/errors.ts'
import { inputSentence } from './input-sentences.ts'

/** Most problems of one input that the error lists. */
const MAX_PROBLEMS = 20

/**
 * Validates input from a door. The first problem gives the message and the field of the error. When there are more, the
 * error lists all of them, up to {@link MAX_PROBLEMS}.
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
