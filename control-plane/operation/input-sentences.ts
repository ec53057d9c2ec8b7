import type { z } from 'zod'

/** Most allowed values that a sentence lists. */
const MAX_NAMED_VALUES = 12

const KINDS: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
}

const SIZED: Readonly<Record<string, string>> = { string: 'characters', array: 'entries' }

/**
 * The error sentence for a value whose schema has no sentence of its own. It names the value by its path in the input
 * (`rules.0.label is required.`).
 */
export function inputSentence(issue: z.core.$ZodRawIssue): string {
  const path = issue.path?.map(String).join('.') ?? ''
  return `${path === '' ? 'The input' : path} ${claimOf(issue)}.`
}

function claimOf(issue: z.core.$ZodRawIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      if (issue.input === undefined) return 'is required'
      return `must be ${KINDS[issue.expected] ?? 'of another type'}`
    case 'invalid_value':
      if (issue.values.length > MAX_NAMED_VALUES) return 'is none of the values that are accepted'
      return `must be ${issue.values.map(String).join(' or ')}`
    case 'too_small':
      if (issue.origin in SIZED && issue.minimum === 1) return 'must not be empty'
      return `must ${bound(issue.origin, issue.inclusive === false ? 'above' : 'at least', issue.minimum)}`
    case 'too_big':
      return `must ${bound(issue.origin, issue.inclusive === false ? 'below' : 'at most', issue.maximum)}`
    default:
      return 'is not valid'
  }
}

function bound(origin: string, relation: string, limit: number | bigint): string {
  const what = SIZED[origin]
  return what === undefined ? `be ${relation} ${limit}` : `have ${relation} ${limit} ${what}`
}
