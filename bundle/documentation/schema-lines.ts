import { isRecord } from '#shared/json-members.ts'
import type { Schema } from './description.ts'

/** The depth up to which members of members are shown in place. A named schema is a link. */
const MAX_DEPTH = 5
const REF = '#/components/schemas/'

/** The members that a list marks: a caller has to send some, and an answer may lack some. */
export type Marked = 'required' | 'optional'

/** The members of a schema as a list in Markdown. Empty when it has none. */
export function memberLines(schema: Schema, marked: Marked = 'optional', depth = 0): readonly string[] {
  if (depth > MAX_DEPTH) return []
  const { properties, items } = schema
  if (!isRecord(properties) || Object.keys(properties).length === 0) {
    return isRecord(items) && isRecord(items['properties']) ? memberLines(items, marked, depth) : []
  }
  const required = Array.isArray(schema['required']) ? schema['required'] : []
  return Object.entries(properties).flatMap(([name, part]) => {
    if (!isRecord(part)) return []
    const indent = '  '.repeat(depth)
    const about = typeof part['description'] === 'string' ? part['description'].replaceAll('\n', ' ') : ''
    const mark = required.includes(name) === (marked === 'required') ? `, ${marked}` : ''
    // A backslash before the end of the line breaks the line.
    const lines = [`${indent}- \`${name}\` *${typeOf(part)}${mark}*`, ...(about === '' ? [] : [`${indent}  ${about}`])]
    return [lines.join('\\\n'), ...memberLines(part, marked, depth + 1)]
  })
}

/** The kind of a value in words. A named schema is a link. */
export function typeOf(schema: Schema): string {
  const { $ref: ref, items, enum: choices, const: only, type } = schema
  if (typeof ref === 'string') return linkTo(ref)
  if (only !== undefined) return `\`${JSON.stringify(only)}\``
  if (Array.isArray(choices)) return choices.map((choice) => `\`${String(choice)}\``).join(' or ')
  const options = schema['anyOf'] ?? schema['oneOf']
  if (Array.isArray(options)) {
    const kinds = options.map((option: unknown) => (isRecord(option) ? typeOf(option) : ''))
    return [...new Set(kinds)].filter((kind) => kind !== '').join(' or ')
  }
  if (type === 'array' && isRecord(items)) return `list of ${typeOf(items)}`
  if (Array.isArray(type)) return type.map(String).join(' or ')
  return `${typeof type === 'string' ? type : 'anything'}${rangeOf(schema)}`
}

function rangeOf({ minimum, maximum }: Schema): string {
  if (typeof minimum === 'number' && typeof maximum === 'number') return ` from ${minimum} to ${maximum}`
  if (typeof minimum === 'number') return ` of at least ${minimum}`
  return typeof maximum === 'number' ? ` of at most ${maximum}` : ''
}

function linkTo(ref: string): string {
  const name = ref.slice(REF.length)
  return `[${name}](/docs/reference/schemas/${name})`
}
