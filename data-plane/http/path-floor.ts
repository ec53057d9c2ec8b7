import { AppError } from '#shared/errors.ts'

const FLOOR = /^(?:0|[1-9]\d?|100)$/

/** A path without its `min{N}` segment, and the text after `min` in that segment. */
export type FlooredPath = { readonly floor: string; readonly rest: string }

/** Removes the `min{N}` segment that follows `behind` from a path. Undefined without one. The path is not decoded. */
export function splitFloor(path: string, behind: string): FlooredPath | undefined {
  const from = behind.length + '/min'.length
  if (!path.startsWith(behind) || !path.startsWith('/min', behind.length)) return undefined
  const end = path.indexOf('/', from)
  return end < 0 ? undefined : { floor: path.slice(from, end), rest: behind + path.slice(end) }
}

export function isFloor(text: string): boolean {
  return FLOOR.test(text)
}

/** Reads the minimum discount in percent. Throws `invalid_minimum_discount` for any other text. */
export function readFloor(text: string): number {
  if (!isFloor(text)) throw new AppError('invalid_minimum_discount')
  return Number(text)
}
