import { z } from 'zod'
import { toSnakeName } from '#shared/field-names.ts'
import { isRecord } from '#shared/json-members.ts'
import { memberText } from './members.ts'

/** A piece of the document. */
export type Json = { readonly [name: string]: unknown }

/** Named schemas. Each is written once, under components. */
export type Components = Map<string, Json>

type How = {
  /** Selects the description of inputs or of outputs. */
  readonly io: 'input' | 'output'
  /** True when REST writes the names of our code in snake_case. */
  readonly isSnake: boolean
}

/**
 * Writes a zod schema as JSON Schema in the dialect of OpenAPI 3.1. Named parts go to the components. Throws for two
 * different schemas of one name.
 */
export function describeSchema(components: Components, schema: z.ZodType, how: How): Json {
  const whole = z.toJSONSchema(z.object({ schema }), { io: how.io, unrepresentable: 'any' })
  const { $defs, properties } = readRoot(whole)
  for (const [name, part] of Object.entries($defs)) {
    const described = rewrite(part, how)
    const known = components.get(name)
    if (known !== undefined && JSON.stringify(known) !== JSON.stringify(described)) {
      throw new Error(`two schemas are called ${name}`)
    }
    components.set(name, described)
  }
  return rewrite(properties['schema'], how)
}

const Root = z.object({
  $defs: z.record(z.string(), z.unknown()).default({}),
  properties: z.record(z.string(), z.unknown()),
})

function readRoot(schema: unknown): z.output<typeof Root> {
  return Root.parse(schema)
}

function rewrite(whole: unknown, how: How): Json {
  if (!isRecord(whole)) return {}
  const schema = withoutInside(whole)
  const entries = Object.entries(schema).flatMap(([name, value]): [string, unknown][] => {
    if (isNoise(name, value, schema)) return []
    // Outputs may gain members, and a client that refuses unknown ones would break.
    if (name === 'additionalProperties' && value === false && how.io === 'output') return []
    if (name === '$ref' && typeof value === 'string')
      return [[name, value.replace('#/$defs/', '#/components/schemas/')]]
    if (name === 'properties' && isRecord(value)) return [[name, rewriteMembers(value, how)]]
    if (name === 'required' && Array.isArray(value)) return [[name, value.map((member) => nameOf(String(member), how))]]
    if (name === 'pattern' && typeof value === 'string') return [[name, plainPattern(value)]]
    if (name === 'examples' || name === 'default' || name === 'enum' || name === 'const') return [[name, value]]
    if (Array.isArray(value)) return [[name, value.map((part) => (isRecord(part) ? rewrite(part, how) : part))]]
    return [[name, isRecord(value) ? rewrite(value, how) : value]]
  })
  return Object.fromEntries(entries)
}

/** An object's schema without the internal members. No answer's body has them. */
function withoutInside(schema: Json): Json {
  const { properties, required } = schema
  if (!isRecord(properties)) return schema
  const seen = Object.entries(properties).filter(([, part]) => !isRecord(part) || part['isInside'] !== true)
  const names = new Set(seen.map(([name]) => name))
  return {
    ...schema,
    properties: Object.fromEntries(seen),
    ...(Array.isArray(required) ? { required: required.filter((name) => names.has(String(name))) } : {}),
  }
}

function rewriteMembers(members: Json, how: How): Json {
  return Object.fromEntries(
    Object.entries(members).map(([member, part]) => {
      const name = nameOf(member, how)
      const schema = rewrite(part, how)
      // A reference has the text of its schema.
      return [name, '$ref' in schema ? schema : { ...memberText(name, how.io), ...schema }]
    }),
  )
}

function nameOf(name: string, { isSnake }: How): string {
  return isSnake ? toSnakeName(name) : name
}

/**
 * Classes of characters of our patterns, in the form of a pattern without flags. There, a lone surrogate
 * cannot be distinguished from a pair, so the document allows both and only the server refuses the lone one.
 */
const CLASSES: Readonly<Record<string, string>> = {
  '\\p{Cc}': '\\u0000-\\u001f\\u007f-\\u009f',
  '\\p{Cs}': '',
}

/** A pattern for readers that set no flags. Throws for a class of characters that only the flag `u` knows. */
function plainPattern(pattern: string): string {
  return pattern.replace(/\\[pP]\{[^}]*\}/g, (name) => {
    const plain = CLASSES[name]
    if (plain === undefined) throw new Error(`${pattern} has no form without the flag u`)
    return plain
  })
}

/**
 * True for members without information for a reader: names of inner schemas, bounds of safe integers, a date's whole
 * grammar. `readOnly` only says that our code does not change a list. A default that is a list of words is in the
 * description, because code generators lose the type of the words.
 */
function isNoise(name: string, value: unknown, schema: Json): boolean {
  if (name === 'id' && typeof value === 'string') return true
  if (name === '$schema' || name === 'propertyNames' || name === 'readOnly') return true
  if (name === 'default' && Array.isArray(value) && value.length > 0) return true
  if (name === 'minimum' && value === Number.MIN_SAFE_INTEGER) return true
  if (name === 'maximum' && value === Number.MAX_SAFE_INTEGER) return true
  return name === 'pattern' && (schema['format'] === 'date-time' || schema['format'] === 'date')
}
