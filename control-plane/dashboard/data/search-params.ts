/** Readers of the search part of an address. A value that does not fit is left out, so every link opens. */

type SearchParams = Readonly<Record<string, unknown>>

const MAX_TEXT_CHARS = 300

export function textOf(search: SearchParams, name: string): string | undefined {
  const value = search[name]
  const text = typeof value === 'number' ? String(value) : value
  return typeof text === 'string' && text !== '' && text.length <= MAX_TEXT_CHARS ? text : undefined
}

/** A day as `2026-11-28`. */
export function dayOf(search: SearchParams, name: string): string | undefined {
  const text = textOf(search, name)
  return text !== undefined && /^\d{4}-\d\d-\d\d$/.test(text) ? text : undefined
}

export function oneOf<Choice extends string>(
  search: SearchParams,
  name: string,
  choices: readonly Choice[],
): Choice | undefined {
  // The router reads digits as a number.
  const value = String(search[name])
  return choices.find((choice) => choice === value)
}

export function numberOf(
  search: SearchParams,
  name: string,
  [least, most]: readonly [number, number],
): number | undefined {
  const value = Number(search[name] ?? Number.NaN)
  return Number.isFinite(value) && value >= least && value <= most ? value : undefined
}

/**
 * The members that a screen reads from its address. A member that did not fit is undefined and stays: left out, the
 * router would fill it with the text in the address.
 */
export function defined<Members extends object>(members: Members): Defined<Members> {
  return members
}

export type Defined<Members> = { [Name in keyof Members]?: Exclude<Members[Name], undefined> | undefined }
