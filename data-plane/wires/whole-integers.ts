import { randomUUID } from 'node:crypto'
import type { JsonBody, UpstreamRequest } from '#data-plane/call.ts'
import { readJsonObject } from '#shared/json-members.ts'

/** A place of a possible integer beyond a double's precision. Most requests have none, and are parsed once. */
const MAYBE = /[\s:,[]-?\d{16}/
/** A string or a number of JSON. */
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g
const INTEGER = /^-?\d{16,}$/

/**
 * A body in which every integer past 2^53 is a text, so that its digits can be restored in the request: {@link
 * withWholeIntegers}. JSON's own parser rounds such a number (RFC 8259, section 6). Top-level members are left as they
 * are, because none of them takes such a number. The text stays unchanged.
 */
export function keepIntegers(json: JsonBody): JsonBody {
  if (!MAYBE.test(json.text)) return json
  const integerMark = `int-${randomUUID()}-`
  let isFound = false
  const markedText = json.text.replace(TOKEN, (token) => {
    if (token.startsWith('"') || !INTEGER.test(token) || Number.isSafeInteger(Number(token))) return token
    isFound = true
    return `"${integerMark}${token}"`
  })
  if (!isFound) return json
  const body: Record<string, unknown> = { ...json.body }
  const exact = readJsonObject(markedText) ?? {}
  for (const name in exact) if (typeof exact[name] === 'object') body[name] = exact[name]
  return { ...json, body, integerMark }
}

/** A request with the digits of its integers, including those in JSON that is a text itself. */
export function withWholeIntegers(
  request: UpstreamRequest,
  { integerMark: mark }: Pick<JsonBody, 'integerMark'>,
): UpstreamRequest {
  if (mark === undefined) return request
  return { ...request, body: request.body.replace(new RegExp(`(\\\\*)"${mark}(-?\\d+)\\1"`, 'g'), '$2') }
}
