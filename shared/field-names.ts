import { AppError } from './errors.ts'
import { cleanLine } from './texts.ts'

/**
 * Field names between our code (camelCase) and REST bodies (snake_case): `effectiveInputPer1m`,
 * `effective_input_per_1m`.
 */

/** Most characters of an unknown name that the error quotes. */
const MAX_TOLD_NAME = 64
const SNAKE = /^[a-z][a-z0-9]*(?:_[a-z0-9]+)*$/

export function toSnakeName(name: string): string {
  return name
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replace(/([a-z])(\d)/g, '$1_$2')
    .toLowerCase()
}

export function toCamelName(name: string): string {
  return name.replace(/_([a-z0-9])/g, (_match, char: string) => char.toUpperCase())
}

/** Spells the name at the beginning of a sentence as REST does. */
export function toSnakeSentence(message: string, param: string | null | undefined): string {
  if (param === null || param === undefined || !message.startsWith(`${param} `)) return message
  return toSnakeName(param) + message.slice(param.length)
}

/** Writes a value for a REST body, with every field name in snake_case at any depth. Bigint amounts become digits. */
export function toSnakeBody(value: unknown): unknown {
  if (typeof value === 'bigint') return value.toString()
  if (Array.isArray(value)) return value.map(toSnakeBody)
  if (!isPlainObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [toSnakeName(name), toSnakeBody(part)]))
}

/** The prototype of values whose names belong to another standard. */
const AS_WRITTEN: object = Object.freeze(Object.create(null))

/** Marks a value whose field names stay as they are, at any depth, because another standard names them. */
export function asWritten(value: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.assign(Object.create(AS_WRITTEN), value)
}

/**
 * The top-level fields of a REST body in camelCase. Throws `invalid_request` for a name that is not in snake_case,
 * because every field of the API is in snake_case.
 */
export function toCamelFields(body: unknown): unknown {
  if (!isPlainObject(body)) return body
  return Object.fromEntries(
    Object.entries(body).map(([name, part]) => {
      if (!SNAKE.test(name)) throw unknownMember(cleanLine(name, MAX_TOLD_NAME))
      return [toCamelName(name), part]
    }),
  )
}

function unknownMember(name: string): AppError {
  return new AppError('invalid_request', { message: `${name} is not a field of this request.`, param: name })
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}
