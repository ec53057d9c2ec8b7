import { sample } from 'openapi-sampler'
import { isRecord } from '#shared/json-members.ts'
import type { Description, Schema } from './description.ts'

/** The depth of a named schema in itself. */
const MAX_DEPTH = 4
/** Items of a list: one shows the shape. */
const MAX_ITEMS = 1
/** 1 December 2026, in Unix milliseconds. */
const AN_INSTANT = 1_796_083_200_000

/** Adds examples of times to a description while its JSON is read: null where a time can be missing, or an instant. */
export function withExample(name: string, part: unknown): unknown {
  if (!name.endsWith('_at') || !isRecord(part)) return part
  const { type, anyOf } = part
  if (Array.isArray(type) && type.includes('null')) return { ...part, example: null }
  if (Array.isArray(anyOf) && anyOf.some((choice) => isRecord(choice) && choice['type'] === 'null'))
    return { ...part, example: null }
  return type === 'integer' || type === 'number' ? { ...part, example: AN_INSTANT } : part
}

/**
 * An answer as JSON, made of its schema. A member that the request names has the value that the caller sent. So the two
 * examples agree.
 */
export function answerText(schema: Schema, sent: unknown, { components }: Description): string {
  const known = isRecord(sent) ? sent : {}
  const made = sample(schema, { quiet: true, maxSampleDepth: MAX_DEPTH }, { components })
  return JSON.stringify(filled(made, known), null, 2)
}

function filled(value: unknown, known: Readonly<Record<string, unknown>>): unknown {
  if (Array.isArray(value)) return value.slice(0, MAX_ITEMS).map((item) => filled(item, known))
  if (!isRecord(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => {
      const own = known[name]
      if (own !== undefined && typeof own === typeof member && !isRecord(own)) return [name, own]
      return [name, filled(member, known)]
    }),
  )
}
