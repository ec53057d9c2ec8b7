import { sample } from 'openapi-sampler'
import { isRecord } from '#shared/json-members.ts'
import type { Description, Schema } from './description.ts'
import { AN_INSTANT, listExample, numberExample, recordExamples, textExample } from './example-values.ts'

/** The depth of an example. Deeper parts are left out. */
const MAX_DEPTH = 8
/** Items of a list: one shows the shape. */
const MAX_ITEMS = 1

/**
 * Adds examples to a description while its JSON is read: times, ids, names and amounts as the market writes them. A
 * time that can be missing is null.
 */
export function withExample(name: string, part: unknown): unknown {
  if (!isRecord(part) || 'example' in part) return part
  const example = name.endsWith('_at') ? timeExample(part) : memberExample(name, part)
  return example === undefined ? withId(name, part) : { ...part, example }
}

type Part = Readonly<Record<string, unknown>>

/** The schemas of which one holds: the choices, or the schema itself. */
function choicesOf(part: Part): readonly Part[] {
  const { anyOf } = part
  return Array.isArray(anyOf) ? anyOf.filter(isRecord) : [part]
}

const typesOf = (part: Part): readonly unknown[] =>
  choicesOf(part).flatMap(({ type }) => (Array.isArray(type) ? type : [type]))

type Example = string | number | null | readonly string[]

function timeExample(part: Part): Example | undefined {
  const types = typesOf(part)
  if (types.includes('null')) return null
  if (types.includes('string')) return new Date(AN_INSTANT).toISOString()
  return types.includes('integer') || types.includes('number') ? AN_INSTANT : undefined
}

/** Keywords that fix the values of a member, so that the schema itself gives the example. */
const FIXED = ['enum', 'const', 'format']

/** The example of a member by its name. A member without one that can be missing is null. */
function memberExample(name: string, part: Part): Example | undefined {
  const types = typesOf(part)
  const [choice = part] = choicesOf(part).filter(({ type }) => type !== 'null')
  if (FIXED.some((keyword) => keyword in choice)) return undefined
  const missing = types.includes('null') ? null : undefined
  if (types.includes('string')) return textExample(name, choice['pattern'], part['description']) ?? missing
  if (types.includes('integer') || types.includes('number')) return numberExample(name) ?? missing
  const { items } = choice
  return isRecord(items) && items['type'] === 'string' && !('enum' in items) ? listExample(name) : undefined
}

/** A named schema with the id and the name of its kind of record. */
function withId(schema: string, part: Part): Part {
  const examples = recordExamples(schema)
  const { properties } = part
  if (examples === undefined || !isRecord(properties)) return part
  const filledIn = Object.entries(properties).map(([name, member]) => {
    const example = name === 'id' || name === 'name' ? examples[name] : undefined
    return [name, example === undefined || !isRecord(member) ? member : { ...member, example }]
  })
  return { ...part, properties: Object.fromEntries(filledIn) }
}

/**
 * An answer as JSON, made of its schema. A member that the request names has the value that the caller sent. So the two
 * examples agree. Texts without an example are left out.
 */
export function answerText(schema: Schema, sent: unknown, { components }: Description): string {
  const known = isRecord(sent) ? sent : {}
  const made = sample(schema, { quiet: true, maxSampleDepth: MAX_DEPTH }, { components })
  return JSON.stringify(filled(made, known), null, 2)
}

/** Members that the sampler makes up, and members that a usual answer does not have. */
const LEFT_OUT = /^(property[12]|tool_calls|logprobs)$/
/** The value that the sampler gives to a text without an example. */
const NO_TEXT = 'string'

/** True for a member without an example, which is left out. */
const isUnknown = (value: unknown) => value === NO_TEXT || (Array.isArray(value) && value[0] === NO_TEXT)

function filled(value: unknown, known: Readonly<Record<string, unknown>>): unknown {
  if (Array.isArray(value)) return value.slice(0, MAX_ITEMS).map((item) => filled(item, known))
  if (!isRecord(value)) return value
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, member]) => {
      if (LEFT_OUT.test(name)) return []
      const own = known[name]
      if (own !== undefined && (member === null || typeof own === typeof member) && !isRecord(own)) return [[name, own]]
      return isUnknown(member) ? [] : [[name, filled(member, known)]]
    }),
  )
}
