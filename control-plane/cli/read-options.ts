import type { CommandInput, CommandOptions } from './command.ts'
import { usageError } from './failure.ts'

/** The text of an option. Undefined when it was not given. */
export function textOption(options: CommandOptions, name: string): string | undefined {
  const value = options[name]
  return typeof value === 'string' ? value : undefined
}

/** The text of a required option. */
export function requiredOption(options: CommandOptions, name: string): string {
  const value = textOption(options, name)
  if (value === undefined || value === '') throw usageError(`--${dashed(name)} is needed.`)
  return value
}

export function isSet(options: CommandOptions, name: string): boolean {
  return options[name] === true
}

/** A number within bounds. */
export function numberOption(
  options: CommandOptions,
  name: string,
  { min, max }: { min: number; max: number },
): number | undefined {
  const text = textOption(options, name)
  if (text === undefined) return undefined
  const value = Number(text)
  if (text.trim() === '' || !Number.isFinite(value) || value < min || value > max) {
    throw usageError(`--${dashed(name)} is a number from ${min} to ${max}.`)
  }
  return value
}

/** A whole number within bounds. */
export function wholeOption(
  options: CommandOptions,
  name: string,
  bounds: { min: number; max: number },
): number | undefined {
  const value = numberOption(options, name, bounds)
  if (value !== undefined && !Number.isSafeInteger(value)) throw usageError(`--${dashed(name)} must be a whole number.`)
  return value
}

/** The page of a list that `--limit` and `--next-token` ask for. */
export function pageOf(options: CommandOptions): { maxItems: number | undefined; nextToken: string | undefined } {
  return {
    maxItems: wholeOption(options, 'limit', { min: 1, max: 100 }),
    nextToken: textOption(options, 'nextToken'),
  }
}

/** Reads an option that takes one of several words. */
export function choiceOption<const Word extends string>(
  options: CommandOptions,
  name: string,
  words: readonly Word[],
): Word | undefined {
  const text = textOption(options, name)
  const chosen = words.find((word) => word === text)
  if (text !== undefined && chosen === undefined) throw usageError(`--${dashed(name)} must be ${words.join(' or ')}.`)
  return chosen
}

/** The items of a list with commas. */
export function listOption(options: CommandOptions, name: string): string[] | undefined {
  const items = textOption(options, name)
    ?.split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '')
  return items === undefined || items.length === 0 ? undefined : items
}

/** Reads a list with commas of words that are known. */
export function choicesOption<const Word extends string>(
  options: CommandOptions,
  name: string,
  words: readonly Word[],
): Word[] | undefined {
  return listOption(options, name)?.map((item) => {
    const chosen = words.find((word) => word === item)
    if (chosen === undefined) throw usageError(`--${dashed(name)} takes ${words.join(', ')}.`)
    return chosen
  })
}

/** Reads an instant in ISO 8601 as Unix milliseconds. */
export function instantOption(options: CommandOptions, name: string): number | undefined {
  const text = textOption(options, name)
  if (text === undefined) return undefined
  const at = Date.parse(text)
  if (!Number.isFinite(at)) throw usageError(`--${dashed(name)} must be a time such as 2026-11-21T15:00:00Z.`)
  return at
}

/** The argument at a place. Commander has made sure that a required one is there. */
export function argument({ args }: CommandInput, at = 0): string {
  return args[at] ?? ''
}

function dashed(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
}
