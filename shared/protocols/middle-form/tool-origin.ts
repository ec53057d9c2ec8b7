import { createHash } from 'node:crypto'
import { isRecord } from '#shared/json-members.ts'
import type { AnswerEvent, AnswerReader } from './answer.ts'
import type { ArgumentText } from './argument-text.ts'
import { readArgumentText } from './argument-text.ts'
import type { FunctionTool, ToolOrigins } from './conversation.ts'
import { NO_ORIGINS } from './conversation.ts'

/** The one argument of a function that replaces a custom tool. */
const INPUT = 'input'

/**
 * Names that every protocol accepts: OpenAI and Bedrock allow these characters, at most 64 of them; Gemini allows no
 * digit or dash in front.
 */
const TAKEN_NAME = /^[a-zA-Z_][\w-]{0,63}$/
const MAX_NAME_CHARS = 64
const HASH_CHARS = 8

/**
 * The name of a tool at sellers. A name that some seller would refuse is replaced by one that ends with a hash, so that
 * all turns use the same name.
 */
export function sellerName(name: string): string {
  if (name === '' || TAKEN_NAME.test(name)) return name
  const hash = createHash('sha256').update(name).digest('hex').slice(0, HASH_CHARS)
  const letters = name.slice(0, MAX_NAME_CHARS).replace(/[^\w-]/g, '_')
  const start = /^[a-zA-Z_]/.test(letters) ? letters : `_${letters}`
  return `${start.slice(0, MAX_NAME_CHARS - HASH_CHARS - 1)}_${hash}`
}

/** The buyer's own names of the tools that have another name at sellers. */
export function renamedTools(names: readonly string[]): ToolOrigins {
  const renamed = names.filter((name) => sellerName(name) !== name)
  return renamed.length === 0
    ? NO_ORIGINS
    : new Map(renamed.map((name) => [sellerName(name), { name, isCustom: false }]))
}

/** A custom tool as the buyer defined it. */
export type CustomTool = {
  readonly name: string
  readonly description: string | undefined
  readonly format: unknown
}

/**
 * The function that replaces a custom tool. No seller enforces a grammar, so the function's description contains it.
 */
export function customAsFunction({ name, description, format }: CustomTool): FunctionTool {
  const grammar = grammarOf(format)
  const grammarNote =
    grammar === undefined ? [] : [`The input follows this ${grammar.syntax} grammar:\n${grammar.definition}`]
  return {
    name,
    description: [...(description === undefined ? [] : [description]), ...grammarNote].join('\n\n') || undefined,
    schema: {
      type: 'object',
      properties: { [INPUT]: { type: 'string', description: 'The whole input of the tool as plain text.' } },
      required: [INPUT],
      additionalProperties: false,
    },
  }
}

/** The grammar of a custom tool's input. Undefined where any text is valid. */
export function grammarOf(format: unknown): { readonly syntax: string; readonly definition: string } | undefined {
  if (!isRecord(format) || format['type'] !== 'grammar') return undefined
  // OpenAI's chat has one more level than its responses.
  const grammar = isRecord(format['grammar']) ? format['grammar'] : format
  const { syntax, definition } = grammar
  return typeof definition === 'string' ? { syntax: typeof syntax === 'string' ? syntax : '', definition } : undefined
}

/** Writes a custom tool's input as the arguments of the function that replaces it. */
export function customArguments(input: string): string {
  return JSON.stringify({ [INPUT]: input })
}

/** Reads a custom tool's input from the arguments of the function that replaces it. */
export function customInput(text: string): string {
  const reader = readArgumentText(INPUT)
  return reader.take(text) + reader.end()
}

/** Reads the calls of functions as calls of the tools that they replace. */
export function readByOrigin(reader: AnswerReader, origins: ToolOrigins): AnswerReader {
  if (origins.size === 0) return reader
  const texts = new Map<number, ArgumentText>()
  return {
    ...reader,
    push: (chunk) => reader.push(chunk).flatMap((event) => translate(event, origins, texts)),
    end: () => [...reader.end().flatMap((event) => translate(event, origins, texts)), ...rest(texts)],
  }
}

function translate(event: AnswerEvent, origins: ToolOrigins, texts: Map<number, ArgumentText>): readonly AnswerEvent[] {
  switch (event.kind) {
    case 'toolStart': {
      const origin = origins.get(event.name)
      if (origin === undefined) return [event]
      const { custom: _, ...functionOrigin } = origin
      // A seller who supports custom tools returns their text directly.
      const isFunction = origin.isCustom && event.isCustom !== true
      if (isFunction && !texts.has(event.index)) texts.set(event.index, readArgumentText(INPUT))
      return [{ ...event, ...functionOrigin }]
    }
    case 'toolInput': {
      const argumentText = texts.get(event.index)
      return argumentText === undefined ? [event] : inputEvents(event.index, argumentText.take(event.text))
    }
    case 'finish':
      return [...rest(texts), event]
    default:
      return [event]
  }
}

/** The text that was held back until no more can come. */
function rest(texts: Map<number, ArgumentText>): readonly AnswerEvent[] {
  const events = [...texts].flatMap(([index, argumentText]) => inputEvents(index, argumentText.end()))
  texts.clear()
  return events
}

function inputEvents(index: number, text: string): readonly AnswerEvent[] {
  return text === '' ? [] : [{ kind: 'toolInput', index, text, isCustom: true }]
}
