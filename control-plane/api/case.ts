/** Field names between our code (camelCase) and REST bodies (snake_case): `effectiveInputPer1m`, `effective_input_per_1m`. */

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

/** Writes a value for a REST body, with every field name in snake_case at any depth. Bigint amounts become digits. */
export function toSnakeBody(value: unknown): unknown {
  if (typeof value === 'bigint') return value.toString()
  if (Array.isArray(value)) return value.map(toSnakeBody)
  if (!isPlainObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [toSnakeName(name), toSnakeBody(part)]))
}

/**
 * The top-level fields of a REST body in camelCase. A name that is not in snake_case is no field of ours and is left
 * out.
 */
export function toCamelFields(body: unknown): unknown {
  if (!isPlainObject(body)) return body
  return Object.fromEntries(
    Object.entries(body)
      .filter(([name]) => SNAKE.test(name))
      .map(([name, part]) => [toCamelName(name), part]),
  )
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}
