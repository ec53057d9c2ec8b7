import { AppError } from '#shared/errors.ts'
import { mustBe } from '#shared/invalid-member.ts'
import type { JsonObject } from '#shared/json-members.ts'
import { isGiven, isRecord } from '#shared/json-members.ts'
import type { MemberTable } from '#shared/media-members.ts'
import { ROUTING_FIELDS } from './hints.ts'

const MAX_PROMPT_CHARS = 32_768

/** The prompt for an image, a video or music. */
export function readPrompt(prompt: unknown): string {
  if (typeof prompt === 'string' && prompt.trim() !== '' && prompt.length <= MAX_PROMPT_CHARS) return prompt
  throw mustBe('prompt', `a text of 1 to ${MAX_PROMPT_CHARS} characters`)
}

/** The members that were not parsed. Each goes to a provider that supports it, or is named as left out. */
export function extrasOf(body: JsonObject, read: ReadonlySet<string>): JsonObject {
  const extras: Record<string, unknown> = {}
  for (const name in body) {
    if (!read.has(name) && !ROUTING_FIELDS.has(name) && isGiven(body[name])) extras[name] = body[name]
  }
  return extras
}

/** A member of a request, and the name that it had there. */
export type Named = { readonly name: string; readonly value: unknown }

/** The member under any of its names. Throws `invalid_request` for two different values. */
export function memberOf(body: JsonObject, names: readonly string[]): Named {
  let member: Named | undefined
  for (const name of names) {
    const value = body[name]
    if (!isGiven(value)) continue
    if (member !== undefined && JSON.stringify(value) !== JSON.stringify(member.value)) {
      throw mustBe(name, `the same as ${member.name}`)
    }
    member ??= { name, value }
  }
  return member ?? { name: names[0] ?? '', value: undefined }
}

/** Throws `invalid_request` for a member that would change the result and that no provider receives. */
export function refuseMembers(body: JsonObject, { refusals }: MemberTable): void {
  for (const name in body) {
    const words = Object.hasOwn(refusals, name) ? refusals[name] : undefined
    if (words === undefined || asksForNothing(body[name])) continue
    throw new AppError('invalid_request', { message: `${name} is not supported: ${words}.`, param: name })
  }
}

function asksForNothing(value: unknown): boolean {
  return !isGiven(value) || value === false || value === '' || (Array.isArray(value) && value.length === 0)
}

/** Width and height in one text, as some clients send a size. */
export const SIDES: readonly string[] = ['width', 'height']

/** The size under any of its names, as WIDTHxHEIGHT when it was given as two sides. */
export function sizeMember(body: JsonObject, names: readonly string[]): Named {
  const { name, value } = memberOf(body, names)
  const size = isRecord(value) ? sidesIn(value, name) : value
  const beside = sidesIn(body, 'width')
  if (beside !== undefined && isGiven(size) && size !== beside) throw mustBe('width', `the same as ${name}`)
  return { name, value: size ?? beside }
}

function sidesIn({ width, height }: JsonObject, param: string): string | undefined {
  if (!isGiven(width) && !isGiven(height)) return undefined
  if (isSide(width) && isSide(height)) return `${width}x${height}`
  throw mustBe(param, 'a size of two whole numbers, width and height')
}

function isSide(value: unknown): boolean {
  return /^[1-9]\d{0,4}$/.test(String(value))
}
