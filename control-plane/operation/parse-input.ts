import type { z } from 'zod'
import type { Problem } from '#shared/errors.ts'
import { AppError } from '#shared/errors.ts'
import { isRecord } from '#shared/json-members.ts'
import { cleanLine } from '#shared/texts.ts'
import { inputSentence } from './input-sentences.ts'

/** Most problems of one input that the error lists. */
const MAX_PROBLEMS = 20
/** Most characters of an unknown name that an error quotes. */
const MAX_SHOWN_NAME = 64

/**
 * Validates input from a door. A null counts as absent unless it is a value of its own. The first problem gives the
 * message and the field of the error. With several problems the error lists all, up to {@link MAX_PROBLEMS}.
 */
export function parseInput<Input extends z.ZodType>(schema: Input, raw: unknown): z.output<Input> {
  const asGiven = schema.safeParse(raw, { error: inputSentence })
  const nulls = asGiven.success ? [] : asGiven.error.issues.filter((issue) => isNullMember(raw, issue))
  const parsed =
    nulls.length === 0 ? asGiven : schema.safeParse(nulls.reduce(withoutMember, raw), { error: inputSentence })
  if (parsed.success) return parsed.data
  const problems = parsed.error.issues.flatMap(problemsOf).slice(0, MAX_PROBLEMS)
  const retired = problems.find(({ param }) => param !== null && PER_TOKEN_PRICES.test(param))
  if (retired?.param) throw new AppError('per_token_pricing_retired', { param: retired.param })
  const [first] = problems
  if (first === undefined) throw new AppError('invalid_request')
  throw new AppError('invalid_request', {
    message: first.message,
    ...(first.param === null ? {} : { param: first.param }),
    ...(problems.length > 1 ? { problems } : {}),
  })
}

/** True for the issue of a null member. A member's own rule may accept null, and then keeps it. */
function isNullMember(raw: unknown, { path, code }: z.core.$ZodIssue): boolean {
  return code !== 'custom' && typeof path.at(-1) === 'string' && isNullAt(raw, path)
}

function isNullAt(value: unknown, [name, ...rest]: readonly PropertyKey[]): boolean {
  if (name === undefined) return value === null
  const part = Object.entries(Object(value)).find(([other]) => other === String(name))
  return part !== undefined && isNullAt(part[1], rest)
}

/** A copy of the input without the member at a path. */
function withoutMember(raw: unknown, { path }: Pick<z.core.$ZodIssue, 'path'>): unknown {
  const [name, ...rest] = path
  if (Array.isArray(raw)) return raw.map((item, at) => (at === name ? withoutMember(item, { path: rest }) : item))
  if (!isRecord(raw)) return raw
  const members = Object.entries(raw)
  return Object.fromEntries(
    rest.length === 0
      ? members.filter(([other]) => other !== name)
      : members.map(([other, value]) => [other, other === name ? withoutMember(value, { path: rest }) : value]),
  )
}

/** Former members that priced an offer by the token, in any input. */
const PER_TOKEN_PRICES = /(?:^|\.)(?:(?:effective|price)(?:Input|Output)|(?:input|output)Price|price)Per1m$/

/** The problems of an issue. Each unknown member of the input is a problem under its own name. */
function problemsOf(issue: z.core.$ZodIssue): readonly Problem[] {
  const { path, message } = issue
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => {
      const param = [...path, cleanLine(key, MAX_SHOWN_NAME)].map(String).join('.')
      return { param, message: `${param} is not a field of this request.` }
    })
  }
  const param = path.map(String).join('.')
  return [{ param: param === '' ? null : param, message }]
}
