import { ROUTING_FIELDS } from '#data-plane/wires/hints.ts'
import { AppError } from '#shared/errors.ts'
import type { FormField } from './form.ts'

/** A form's fields, with the routing fields in the form of another wire's JSON body. */
export type SplitFields = {
  readonly routing: Readonly<Record<string, unknown>>
  readonly fields: readonly FormField[]
}

/**
 * Takes the routing fields out of a form. A name given twice or with `[]` is a list, objects and lists may be JSON, and
 * numbers and switches are parsed from their plain spelling.
 */
export function routingBody(all: readonly FormField[]): SplitFields {
  const fields: FormField[] = []
  const routing = new Map<string, unknown>()
  for (const field of all) {
    const name = field.name.replace(/\[\]$/, '')
    if (!ROUTING_FIELDS.has(name)) {
      fields.push(field)
      continue
    }
    const value = readValue(name, field.value)
    const before = routing.get(name)
    if (before === undefined && name === field.name) routing.set(name, value)
    else routing.set(name, [...(Array.isArray(before) ? before : before === undefined ? [] : [before]), value])
  }
  return { routing: Object.fromEntries(routing), fields }
}

function readValue(name: string, text: string): unknown {
  if (name === 'min_discount_pct') return /^(?:0|[1-9]\d?|100)$/.test(text) ? Number(text) : text
  if (name === 'allow_untrusted') return text === 'true' ? true : text === 'false' ? false : text
  if (!/^\s*[[{]/.test(text)) return text
  try {
    return JSON.parse(text)
  } catch {
    throw new AppError('invalid_request', { message: `${name} cannot be read.`, param: name })
  }
}
