import type { JsonObject } from '#shared/json-members.ts'
import { isRecord } from '#shared/json-members.ts'

/** Content in parts, by kind. */
export type ToldApart = {
  readonly text: string
  readonly thought: string
  readonly refusal: string
  /** Parts that are pictures. */
  readonly images: readonly JsonObject[]
}

/** Kinds of parts with reasoning. */
const THOUGHTS: ReadonlySet<unknown> = new Set(['thinking', 'reasoning', 'thought', 'reasoning_content', 'summary'])

/** Separates the parts of a message's content. Providers of reasoning models mix reasoning into them. */
export function tellApart(parts: readonly unknown[]): ToldApart {
  let text = ''
  let thought = ''
  let refusal = ''
  const images: JsonObject[] = []
  for (const part of parts) {
    if (typeof part === 'string') text += part
    if (!isRecord(part)) continue
    const { type } = part
    if (THOUGHTS.has(type) || part['thought'] === true) thought += textIn(part)
    else if (type === 'refusal') refusal += textIn(part)
    else if (type === 'image_url' && part['image_url'] !== undefined) images.push(part)
    else if (typeof part['text'] === 'string') text += part['text']
  }
  return { text, thought, refusal, images }
}

/** Members of a part with its text: a text, or a list of parts. */
const WORDS = ['thinking', 'text', 'reasoning', 'reasoning_content', 'summary', 'refusal', 'content'] as const

/** The words of a part. */
export function textIn(part: JsonObject): string {
  for (const name of WORDS) {
    const text = part[name]
    if (typeof text === 'string' && text !== '') return text
    if (Array.isArray(text)) return text.map((inner) => (isRecord(inner) ? wordsOf(inner) : '')).join('')
  }
  return ''
}

function wordsOf(part: JsonObject): string {
  return typeof part['text'] === 'string' ? part['text'] : ''
}
