import type { JsonObject } from '#shared/json-members.ts'
import { isRecord } from '#shared/json-members.ts'

/** Text members of a call, by the type of its item. */
const CALL_TEXTS: Readonly<Record<string, readonly string[]>> = {
  function_call: ['call_id', 'name', 'arguments'],
  custom_tool_call: ['call_id', 'name', 'input'],
}
/** The text member of a part, by its type. Parts of other types are passed on unchanged. */
const PART_TEXTS: Readonly<Record<string, string>> = {
  output_text: 'text',
  refusal: 'refusal',
  summary_text: 'text',
  reasoning_text: 'text',
}

/**
 * True for an output item that clients of the protocol can read: its type is known and its members have the types of
 * that item.
 */
export function isSoundItem(item: unknown): item is JsonObject {
  if (!isRecord(item)) return false
  const { type, id, content, summary } = item
  if (typeof type !== 'string' || !isTextOrAbsent(id)) return false
  const texts = CALL_TEXTS[type] ?? []
  if (!texts.every((name) => typeof item[name] === 'string')) return false
  if (type === 'message') return isListOfParts(content)
  if (type === 'reasoning') return isListOfParts(summary) && (content == null || isListOfParts(content))
  return true
}

function isListOfParts(parts: unknown): boolean {
  return Array.isArray(parts) && parts.every(isSoundPart)
}

/** True for a part of a content or of a summary that clients can read. */
function isSoundPart(part: unknown): boolean {
  if (!isRecord(part) || typeof part['type'] !== 'string') return false
  const { annotations } = part
  const text = PART_TEXTS[part['type']]
  return (text === undefined || typeof part[text] === 'string') && (annotations == null || isListOfNotes(annotations))
}

function isListOfNotes(notes: unknown): boolean {
  return Array.isArray(notes) && notes.every((note) => isRecord(note) && typeof note['type'] === 'string')
}

function isTextOrAbsent(value: unknown): boolean {
  return value == null || typeof value === 'string'
}
