import type { RawRequest } from '#data-plane/call.ts'
import type { Content } from '#data-plane/wires/content.ts'
import type { MessageInput } from './read-request.ts'
import { readSaid } from './read-request.ts'

/** Estimates: tokens differ from model to model. */
const ASCII_CHARS_A_TOKEN = 3.8
const OTHER_CHARS_A_TOKEN = 1.4
const TOKENS_A_MESSAGE = 4
/** The instructions for calls, which a model gets together with any tools. */
const TOKENS_OF_TOOL_USE = 340
const TOKENS_AN_IMAGE = 1_500

/** Estimates the input tokens of a message request. Throws the errors of the parser. */
export function countTokens(raw: RawRequest): { readonly model: string; readonly tokens: number } {
  const messageInput = readSaid(raw)
  return { model: messageInput.model, tokens: estimateTokens(messageInput) }
}

/** Input tokens of a request by its text: instructions, turns with calls and results, schemas of tools, images. */
export function estimateTokens({ body, content, messageCount }: MessageInput): number {
  const texts = wordsOf(body['system'], content) + wordsOf(body['messages'], content)
  const tools = Array.isArray(body['tools']) && body['tools'].length > 0 ? body['tools'] : undefined
  const tooling = tools === undefined ? 0 : TOKENS_OF_TOOL_USE + tokensIn(JSON.stringify(tools), content)
  return Math.ceil(texts + tooling + messageCount * TOKENS_A_MESSAGE + content.images * TOKENS_AN_IMAGE)
}

/** Tokens of all words in a value; the data of images and the names of members do not count. */
function wordsOf(value: unknown, content: Content): number {
  if (typeof value === 'string') return tokensIn(value, content)
  if (Array.isArray(value)) return value.reduce<number>((sum, inner) => sum + wordsOf(inner, content), 0)
  if (typeof value !== 'object' || value === null) return 0
  let sum = 0
  for (const [name, inner] of Object.entries(value)) {
    if (name === 'input') sum += tokensIn(JSON.stringify(inner), content)
    else if (name === 'content' || name === 'text' || name === 'thinking' || name === 'name') {
      sum += wordsOf(inner, content)
    } else if (name === 'source' && isTextSource(inner)) sum += wordsOf(inner.data, content)
  }
  return sum
}

function isTextSource(source: unknown): source is { readonly data: string } {
  return typeof source === 'object' && source !== null && 'type' in source && source.type === 'text' && 'data' in source
}

function tokensIn(text: string, { lengthOf }: Content): number {
  let other = 0
  for (let at = 0; at < text.length; at++) if (text.charCodeAt(at) > 126) other++
  return (lengthOf(text) - other) / ASCII_CHARS_A_TOKEN + other / OTHER_CHARS_A_TOKEN
}
