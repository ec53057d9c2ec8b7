import { mustBe } from '#data-plane/wires/fields.ts'
import { MAX_CLIP_SECONDS } from '#shared/clips.ts'
import type { JsonObject } from '#shared/json-members.ts'
import { isGiven } from '#shared/json-members.ts'
import type { EncodedRequest } from '#shared/protocols/provider-request.ts'

/** Nothing of a film or of music is sold by the token. */
export const NO_TOKENS = { inputTokens: 0, inputImages: 0, inputBytes: 0, maxOutputTokens: 0, choices: 1 } as const

/** The length under any of its names, as a number or as a text with or without an `s`. Throws for two that differ. */
export function readSeconds(body: JsonObject): number | undefined {
  let seconds: number | undefined
  for (const name of ['seconds', 'duration']) {
    const value = body[name]
    if (!isGiven(value)) continue
    const text = typeof value === 'string' ? /^(\d{1,3})s?$/.exec(value)?.[1] : undefined
    const read = text === undefined ? value : Number(text)
    if (typeof read !== 'number' || !Number.isInteger(read) || read < 1 || read > MAX_CLIP_SECONDS) {
      throw mustBe(name, `a whole number from 1 to ${MAX_CLIP_SECONDS}`)
    }
    if (seconds !== undefined && seconds !== read) throw mustBe(name, 'the same as seconds')
    seconds = read
  }
  return seconds
}

/** A job makes one work. */
export function refuseSeveral(n: unknown): void {
  if (isGiven(n) && n !== 1) throw mustBe('n', '1: a job makes one')
}

/** The request with the length among what was left out, where the model alone decides how long its work is. */
export function withoutLength(
  request: EncodedRequest,
  asked: number | undefined,
  told: number | undefined,
): EncodedRequest {
  if (asked === undefined || told !== undefined) return request
  return { ...request, adaptedParams: ['seconds', ...request.adaptedParams] }
}
