import { redact } from '#shared/errors.ts'
import type { ErrorBody } from '#shared/protocols/answers/error-body.ts'
import { cleanLine } from '#shared/texts.ts'

/**
 * The parts of a provider's text that leave this process. A provider's error may hold its key, its hosts, its code and
 * its stack. The buyer gets the provider's text only when every word of it is an ordinary word or is part of the
 * request. Otherwise the buyer gets our text with the names from the request. The seller's log keeps more, but never
 * the key.
 */
export type ProviderWords = {
  /** The text for the buyer after "The provider rejected the request"; empty when nothing may be shown. */
  readonly forBuyer: string
  /** The parameter of the buyer's request that the provider names, if any. */
  readonly param: string | undefined
  /** A line for the seller's health log. */
  readonly forLog: string
}

/** The provider of an attempt and its request. */
export type AskedProvider = {
  /** True when a text holds the attempt's credential, whole or in part. */
  holdsKey(text: string): boolean
  /** The request as it was sent, without its headers. */
  requestText(): string
}

const MAX_SHOWN_CHARS = 300
/** The name of a request's member, or a path of such names and indexes. */
const PARAM = /^[a-z][a-z_]{0,63}(?:[.[]{1,2}[\w'"]{1,32}\]?){0,8}$/
/** Words that name a limit, and the number after them. */
const LIMIT = /\b(?:at most|maximum|less than or equal to|limit|<=|up to)\D{0,24}(\d{1,9})\b/i
const ADDRESS = /:\/\/|@|\b\d{1,3}(?:\.\d{1,3}){3}\b|\blocalhost\b|\[?[0-9a-f]{0,4}(?::[0-9a-f]{0,4}){3,}/i
const PORT = /[a-z0-9\]]:\d{2,5}\b/i
const MARKUP = /<[a-z!/?]/i
const PATH = /(?:^|[\s"'(=,:[])(?:\.{0,2}|~|[a-z]:)[/\\][\w.-]|\\\w+\\/i
const TRACE =
  /\b(?:traceback|stack|exception|line \d+)\b|\bat [\w.$<>]+ ?\(|\.(?:py|js|ts|go|rs|java|cc?|cpp|php|rb):?\b/i
const SEPARATORS = /[\s"'`,;:(){}[\]<>=|!?*]+/
const CREDENTIAL_TOLD = 'the text held the credential and is not stored'

export function readProviderWords(body: Pick<ErrorBody, 'message' | 'param'>, speaker: AskedProvider): ProviderWords {
  const text = oneLine(body.message)
  const isTold = speaker.holdsKey(body.message)
  const requestText = speaker.requestText()
  const param = body.param !== undefined && isOwnParam(body.param, requestText) ? body.param : undefined
  const forBuyer = !isTold && isOrdinary(text, requestText) ? cleanLine(text, MAX_SHOWN_CHARS) : inOurWords(text, param)
  return {
    // The last check is on the finished texts, so no combination of them can leak a key.
    forBuyer: speaker.holdsKey(forBuyer) ? '' : forBuyer,
    param: param !== undefined && !speaker.holdsKey(param) ? param : undefined,
    forLog: isTold ? CREDENTIAL_TOLD : cleanLine(maskKeys(text), MAX_SHOWN_CHARS),
  }
}

function oneLine(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what has to go
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g, ' ').trim()
}

/** A parameter belongs to the buyer when its first name is a member of the request. */
function isOwnParam(param: string, requestText: string): boolean {
  return PARAM.test(param) && requestText.includes(`"${/^[a-z_]+/.exec(param)?.[0] ?? ''}"`)
}

function inOurWords(text: string, param: string | undefined): string {
  const limit = LIMIT.exec(text)?.[1]
  const parts = [
    ...(param === undefined ? [] : [`it names the parameter \`${param}\``]),
    ...(limit === undefined ? [] : [`it names the limit ${limit}`]),
  ]
  return parts.join(', and ')
}

/** True for a text that names no address and holds nothing that could be a key. */
function isOrdinary(text: string, requestText: string): boolean {
  if (
    redact(text) !== text ||
    ADDRESS.test(text) ||
    PORT.test(text) ||
    MARKUP.test(text) ||
    PATH.test(text) ||
    TRACE.test(text)
  )
    return false
  return wordsOf(text).every((word) => isOrdinaryWord(word) || (isName(word) && requestText.includes(word)))
}

function wordsOf(text: string): string[] {
  return text
    .split(SEPARATORS)
    .map((word) => word.replace(/^[.#$&+-]+|[.&%]+$/g, ''))
    .filter((word) => word !== '')
}

/** True for a word that may be a name of the buyer's: a model, a tool or a tool call. */
function isName(word: string): boolean {
  return word.length <= 128
}

const PLAIN_WORD = /^[A-Za-z]?[a-z]{0,19}$|^[A-Z]{1,12}$/
const CAMEL_WORD = /^[a-z]{2,12}(?:[A-Z][a-z]{1,11}){1,3}$|^(?:[A-Z][a-z]{1,11}){2,3}$/
const NUMBER = /^\d{1,9}(?:[.,]\d{1,3})*[kKmM]?$/
const SHORT_NAME = /^(?=.{1,7}$)[\w.-]+$/
/** A path of members with indexes: `messages.0.content`. A dotted name of letters alone could be a host. */
const MEMBER_PATH = /^[a-z_]+(?:\.(?:\d{1,4}|[a-z_]+))*\.\d{1,4}(?:\.(?:\d{1,4}|[a-z_]+))*$/

function isOrdinaryWord(word: string): boolean {
  if (NUMBER.test(word) || MEMBER_PATH.test(word)) return true
  if (/^(?:e\.g|i\.e|etc)$/i.test(word)) return true
  if (SHORT_NAME.test(word) && !word.includes('.')) return true
  // In a compound each part is a word of its own.
  const parts = word.split(/[-_/’]/)
  return parts.length <= 6 && parts.every((part) => part === '' || PLAIN_WORD.test(part) || CAMEL_WORD.test(part))
}

/** Hides everything in a log line that is no word, no number and no member path. */
function maskKeys(text: string): string {
  return text
    .split(/(\s+)/)
    .map((piece) =>
      /^\s*$/.test(piece) || wordsOf(piece).every((word) => isOrdinaryWord(word) || isPlace(word)) ? piece : '[hidden]',
    )
    .join('')
}

function isPlace(word: string): boolean {
  return (
    word.length <= 64 &&
    /^[a-z0-9-]{1,24}(?:[./][a-z0-9_-]{1,24})+$/i.test(word) &&
    !/[a-z]\d[a-z]|\d[a-z]\d/i.test(word)
  )
}
