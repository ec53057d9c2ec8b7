import type { Content } from '#data-plane/wires/content.ts'
import { noteKind } from '#data-plane/wires/content.ts'
import { AppError } from '#shared/errors.ts'
import { isRecord, readJsonObject } from '#shared/json-members.ts'
import { hasForeignCitations, withoutForeignCitations } from './citations.ts'
import { editedContent, editedTurns, withoutSeal } from './edited-turns.ts'

/** Blocks of tools that run at a model's maker. Only sellers of the messages protocol take them. */
const MAKERS_CALL = 'server_tool_use'
const MAKERS_RESULTS: ReadonlySet<unknown> = new Set([
  'web_search_tool_result',
  'web_fetch_tool_result',
  'code_execution_tool_result',
  'tool_search_tool_result',
  'bash_code_execution_tool_result',
  'text_editor_code_execution_tool_result',
])

/**
 * Blocks that the protocol has by beta headers only. Beta headers are not forwarded, so no seller gets such a block.
 */
const BETA_KINDS: ReadonlySet<unknown> = new Set([
  'mcp_tool_use',
  'mcp_tool_result',
  'mcp_tool_listing',
  'advisor_tool_result',
  'tool_addition',
  'tool_removal',
  'compaction',
  'fallback',
])

const MAX_ITEMS = 2_000

type Json = Readonly<Record<string, unknown>>

/** True for a block outside of the middle form, which is checked and recorded here. Throws `invalid_request`. */
export function checkOtherBlock(block: Json, param: string, content: Content): boolean {
  const { type } = block
  if (type === 'container_upload') throw new AppError('unresolvable_file_reference', { param })
  if (type === MAKERS_CALL) {
    want(isShort(block['id']) && isShort(block['name']) && isRecord(block['input']), param, 'id, name and input')
  } else if (MAKERS_RESULTS.has(type)) {
    want(isShort(block['tool_use_id']) && isContent(block['content']), param, 'tool_use_id and content')
  } else if (type === 'tool_reference') want(isShort(block['tool_name']), param, 'tool_name')
  else if (type === 'browser_state') want(isContent(block['tabs']), param, 'tabs')
  else if (!BETA_KINDS.has(type)) return false
  noteKind(content, String(type))
  // A page that was fetched may be a document.
  if (type === 'web_fetch_tool_result') content.isOpenEnded = true
  return true
}

/** Records a request for citations, which only the messages protocol has. */
export function noteCitations({ citations }: Json, content: Content): void {
  if (isRecord(citations) && citations['enabled'] === true) noteKind(content, 'citations')
}

function isShort(word: unknown): boolean {
  return typeof word === 'string' && word !== '' && word.length <= 256
}

function isContent(value: unknown): boolean {
  return isRecord(value) || (Array.isArray(value) && value.length <= MAX_ITEMS && value.every(isRecord))
}

function want(isThere: boolean, param: string, words: string): void {
  if (!isThere) throw new AppError('invalid_request', { message: `${param}: a block with ${words}.`, param })
}

/** The kinds that are left out for a seller of another protocol, as parameters. */
export function leftOutKinds({ otherKinds }: Content): readonly string[] {
  return otherKinds === undefined ? [] : [...otherKinds].map(paramOf)
}

function paramOf(kind: unknown): string {
  return `messages.${String(kind)}`
}

/**
 * The turns for a seller of the messages protocol, as JSON text, and the parts that were left out of them. Undefined
 * when all may stay.
 */
export function withoutForeignBlocks(
  turns: string,
  { otherKinds, hasSeals, hasForeignCitations: hasCitations }: Content,
): { readonly turns: string; readonly leftOut: readonly string[] } | undefined {
  const leftOut = [...(otherKinds ?? [])].filter((kind) => BETA_KINDS.has(kind)).map(paramOf)
  if (leftOut.length === 0 && hasSeals !== true && hasCitations !== true) return undefined
  return {
    turns: editedTurns(turns, keptBlock),
    leftOut: hasSeals === true ? [...leftOut, paramOf('redacted_thinking')] : leftOut,
  }
}

function keptBlock(block: Json, text: string): string | undefined {
  if (block['type'] === 'compaction') return JSON.stringify({ type: 'text', text: block['content'] })
  if (BETA_KINDS.has(block['type'])) return undefined
  if (block['type'] === 'text') return hasForeignCitations(block) ? withoutForeignCitations(text) : text
  const plain = withoutSeal(block, text)
  if (plain === undefined || block['type'] !== 'tool_result') return plain
  return editedContent(plain, keptBlock) ?? withoutContent(plain)
}

/** A result without its content, which was left out. It still answers its call. */
function withoutContent(result: string): string {
  const { content: _, ...rest } = readJsonObject(result) ?? {}
  return JSON.stringify(rest)
}

/** A search result as text: its title, its source and its passages. */
export function searchResultText({ title, source, content }: Json): string {
  const passages = Array.isArray(content)
    ? content.map((part) => (isRecord(part) ? String(part['text'] ?? '') : ''))
    : []
  return [`Search result: ${String(title)}`, `Source: ${String(source)}`, '', ...passages].join('\n')
}
