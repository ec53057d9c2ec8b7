import { z } from 'zod'

/**
 * The schemas of texts from outside that are stored or searched. Such a text has a bound, and holds no control
 * characters and no half of a surrogate pair: a database accepts neither, and no reader can show them.
 */

const ONE_LINE = /^[^\p{Cc}\p{Cs}]*$/u
const EVERY_UNSTORABLE = /\p{Cc}|\p{Cs}/gu
/** The control characters that a text of many lines may hold. */
const LINE_BREAKS = /[\t\n\r]/g

/** True for a text of one line that can be stored. */
export function isOneLine(text: string): boolean {
  return ONE_LINE.test(text)
}

/** True for a text of any number of lines that can be stored. */
export function isManyLines(text: string): boolean {
  return isOneLine(text.replace(LINE_BREAKS, ' '))
}

/** A text of one line with at most `most` characters. */
export const oneLine = (most: number) =>
  z.string().max(most).regex(ONE_LINE, 'the text must be one line without control characters')

/** A text of any number of lines with at most `most` characters. Tabs are allowed. */
export const manyLines = (most: number) =>
  z.string().max(most).refine(isManyLines, 'the text must have no control characters')

/**
 * Makes a storable line of at most `most` characters from a provider's text: each character that cannot be stored
 * becomes a space. Such a text is shown, never acted on, so it is cleaned and not refused.
 */
export function cleanLine(text: string, most: number): string {
  // A cut may leave half of a surrogate pair, so it comes first.
  const cut = text.length > most ? text.slice(0, most) : text
  return isOneLine(cut) ? cut : cut.replace(EVERY_UNSTORABLE, ' ')
}

/** A whole number as people write it, without a sign, spaces, leading zeros or an exponent. */
const DIGITS = /^(?:0|[1-9]\d{0,14})$/

/** Reads plain digits as a number. Anything else stays as it is, for a schema to refuse. */
export function readDigits(value: unknown): unknown {
  return typeof value === 'string' && DIGITS.test(value) ? Number(value) : value
}

/** A whole number within bounds: a number, or plain digits in a query string. */
export const wholeNumber = (least: number, most: number) =>
  z.preprocess(readDigits, z.number().int().min(least).max(most))
