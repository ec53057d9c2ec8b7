import { memberOf } from '#data-plane/wires/media-members.ts'
import { MAX_CLIP_SECONDS } from '#shared/clips.ts'
import { mustBe } from '#shared/invalid-member.ts'
import type { JsonObject } from '#shared/json-members.ts'
import { isGiven } from '#shared/json-members.ts'
import type { EncodedRequest } from '#shared/protocols/provider-request.ts'

/** No video or music is priced by the token. */
export const NO_TOKENS = { inputTokens: 0, inputImages: 0, inputBytes: 0, maxOutputTokens: 0, choices: 1 } as const

/** The names of a length, in seconds and in milliseconds. */
type LengthNames = { readonly seconds: readonly string[]; readonly milliseconds: readonly string[] }

/**
 * The length under any of its names, as a number or as a text; seconds with or without an `s`. Throws for two different
 * values.
 */
export function readSeconds(body: JsonObject, { seconds: names, milliseconds }: LengthNames): number | undefined {
  let duration: { readonly name: string; readonly seconds: number } | undefined
  for (const name of [...names, ...milliseconds]) {
    const value = body[name]
    if (!isGiven(value)) continue
    const isFine = milliseconds.includes(name)
    const seconds = secondsIn(value, isFine)
    if (seconds === undefined) throw mustBe(name, isFine ? 'whole seconds, in milliseconds' : WHOLE)
    if (duration !== undefined && duration.seconds !== seconds) throw mustBe(name, `the same as ${duration.name}`)
    duration ??= { name, seconds }
  }
  return duration?.seconds
}

const WHOLE = `a whole number from 1 to ${MAX_CLIP_SECONDS}`
const MILLISECONDS = 1_000

function secondsIn(value: unknown, isFine: boolean): number | undefined {
  const text = typeof value === 'string' ? /^(\d{1,6})s?$/.exec(value)?.[1] : undefined
  const number = text === undefined ? value : Number(text)
  if (typeof number !== 'number') return undefined
  const seconds = isFine ? number / MILLISECONDS : number
  return Number.isInteger(seconds) && seconds >= 1 && seconds <= MAX_CLIP_SECONDS ? seconds : undefined
}

/** A job makes a single video or piece of music. */
export function refuseSeveral(body: JsonObject, names: readonly string[]): void {
  const { name, value } = memberOf(body, names)
  if (isGiven(value) && value !== 1 && value !== '1') throw mustBe(name, '1: a job makes one')
}

/** The request with the length among its left-out members, for a model that decides its length alone. */
export function withoutLength(
  request: EncodedRequest,
  askedSeconds: number | undefined,
  reportedSeconds: number | undefined,
): EncodedRequest {
  // A default length is not reported when the provider has no member for it.
  if (askedSeconds === undefined)
    return { ...request, adaptedParams: request.adaptedParams.filter((name) => name !== 'seconds') }
  if (reportedSeconds !== undefined) return request
  return { ...request, adaptedParams: ['seconds', ...request.adaptedParams] }
}
