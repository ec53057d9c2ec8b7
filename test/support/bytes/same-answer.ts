import { isDeepStrictEqual } from 'node:util'
import { toSnakeBody } from '#shared/field-names.ts'
import { isRecord } from '#shared/json-members.ts'

type Fields = Readonly<Record<string, unknown>>

/** Values that differ between two calls of the same kind: times, ids, keys, links, and durations. */
const CHANGING: readonly (readonly [pattern: RegExp, instead: string])[] = [
  [/\b(inf|mkt_seller|mkt_mgmt|whsec)_[\w-]{6,}/g, '<key>'],
  [/\b([a-z]{2,4})_[0-9A-HJKMNP-TV-Z]{26}\b/g, '<$1>'],
  [/\b[0-9A-HJKMNP-TV-Z]{26}\b/g, '<ulid>'],
  [/0x[0-9a-fA-F]{40}\b/g, '<wallet>'],
  [/\b[0-9a-f]{64}\b/g, '<digest>'],
  [/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<time>'],
  [/\b1\d{12}\b/g, '<time>'],
  [/\/v1\/exports\/[\w.-]+/g, '/v1/exports/<token>'],
  [/#[\w-]{43}$/g, '#<secret>'],
]
const MEASURED = /(?:_at|_until|_ms|^since|^at)$/

/** Replaces the values that differ from call to call. */
export function steady(value: unknown, name = ''): unknown {
  if (typeof value === 'string') return CHANGING.reduce((text, [pattern, by]) => text.replace(pattern, by), value)
  if (typeof value === 'number') return MEASURED.test(name) ? '<measured>' : value
  if (Array.isArray(value)) return value.map((item) => steady(item, name))
  if (!isRecord(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, steady(part, key)]))
}

/** Sorts the items of every list by one of their members. */
export function inOrderOf(member: string, value: unknown): unknown {
  if (Array.isArray(value)) {
    const key = (item: unknown) => (isRecord(item) ? String(item[member]) : '')
    const items = value.map((item) => inOrderOf(member, item))
    return items.sort((left, right) => (key(left) < key(right) ? -1 : key(left) > key(right) ? 1 : 0))
  }
  if (!isRecord(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, inOrderOf(member, part)]))
}

/**
 * Compares two answers. Lists the leaves of `told` that differ in `whole` or are missing there, as paths with both
 * values. Names in `beyond` are skipped.
 *
 * Doors may nest the same fields differently and leave out nulls. A list may be the whole answer or its only list. It
 * may be reported by its length, or as pairs for an object. JSON may be a string, and a flag may have the prefix `is_`
 * or not.
 */
export function differences(told: unknown, whole: unknown, beyond: readonly string[] = [], path = '$'): string[] {
  if (Array.isArray(told)) {
    if (isRecord(whole) && arePairsOf(told, whole)) return []
    const list = listIn(whole)
    if (list?.length !== told.length) return [`${path}: ${told.length} items, ${show(whole)}`]
    return told.flatMap((item, at) => differences(item, list[at], beyond, `${path}[${at}]`))
  }
  if (isRecord(told)) {
    return Object.entries(told)
      .filter(([name]) => !beyond.includes(name))
      .flatMap(([name, part]) => differences(part, partOf(whole, name, part), beyond, `${path}.${name}`))
  }
  return isSaid(told, whole) ? [] : [`${path}: ${show(told)}, ${show(whole)}`]
}

function isSaid(told: unknown, whole: unknown): boolean {
  if (told === null || told === undefined) return whole === null || whole === undefined
  if (told === whole || (Array.isArray(whole) && told === whole.length)) return true
  return typeof told === 'string' && isDeepStrictEqual(toSnakeBody(parse(told)), whole)
}

/** The answer itself when it is a list, otherwise the only list in it. */
function listIn(whole: unknown): readonly unknown[] | undefined {
  if (Array.isArray(whole)) return whole
  const lists = isRecord(whole) ? Object.values(whole).filter((part) => Array.isArray(part)) : []
  return lists.length === 1 ? lists[0] : undefined
}

/** True for a list of pairs of a name and a value that says the same as an object. */
function arePairsOf(list: readonly unknown[], whole: Fields): boolean {
  const pairs = list.flatMap((item): [string, unknown][] => {
    const [first, second, ...rest] = isRecord(item) ? Object.values(item) : []
    if (rest.length > 0) return []
    if (typeof first === 'string' && first in whole) return [[first, second]]
    return typeof second === 'string' ? [[second, first]] : []
  })
  return pairs.length === list.length && isDeepStrictEqual(Object.fromEntries(pairs), whole)
}

/**
 * Finds the field with a name: in the object, or in an object inside it. An object whose fields are at the top level is
 * the whole answer.
 */
function partOf(whole: unknown, name: string, told: unknown): unknown {
  if (!isRecord(whole)) return undefined
  if (name in whole) return whole[name]
  if (`is_${name}` in whole) return whole[`is_${name}`]
  const inner = Object.values(whole).find((part) => isRecord(part) && name in part)
  if (isRecord(inner)) return inner[name]
  return isRecord(told) ? whole : undefined
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function show(value: unknown): string {
  return value === undefined ? 'nothing' : JSON.stringify(value).slice(0, 200)
}
