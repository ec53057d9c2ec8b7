import { isSealed, splitId } from '#data-plane/wires/turn-seal.ts'
import type { JsonObject } from '#shared/json-members.ts'
import { elementTexts, readJsonObject, scanMembers } from '#shared/json-members.ts'

/** A forwarded block, as JSON text; undefined leaves it out. */
export type BlockEdit = (block: JsonObject, text: string) => string | undefined

/**
 * The list of turns with some blocks changed or left out. Everything else stays letter by letter. An emptied turn is
 * left out, because sellers refuse it.
 */
export function editedTurns(turns: string, edit: BlockEdit): string {
  const turnTexts = elementTexts(turns).flatMap((turn) => editedContent(turn, edit) ?? [])
  return `[${turnTexts.join(',')}]`
}

/** The text of a turn, or of a result, with the blocks of its content edited. Undefined when no block is left. */
export function editedContent(holder: string, edit: BlockEdit): string | undefined {
  const member = scanMembers(holder)?.findLast(({ key }) => key === 'content')
  const content = member === undefined ? '' : holder.slice(member.start, member.end).trim()
  if (member === undefined || !content.startsWith('[')) return holder
  const blocks = elementTexts(content).flatMap((text) => {
    const block = readJsonObject(text)
    return block === undefined ? [text] : (edit(block, text) ?? [])
  })
  return blocks.length === 0
    ? undefined
    : `${holder.slice(0, member.start)}[${blocks.join(',')}]${holder.slice(member.end)}`
}

/** A block without our seals, for a seller that does not support them. */
export function withoutSeal({ type, data, id, tool_use_id: callId }: JsonObject, text: string): string | undefined {
  if (type === 'redacted_thinking' && typeof data === 'string' && isSealed(data)) return undefined
  if (type === 'tool_use' && typeof id === 'string') return withId(text, 'id', id)
  return type === 'tool_result' && typeof callId === 'string' ? withId(text, 'tool_use_id', callId) : text
}

function withId(block: string, name: string, callId: string): string {
  const { id, seal } = splitId(callId)
  const member = seal === undefined ? undefined : scanMembers(block)?.findLast(({ key }) => key === name)
  return member === undefined ? block : block.slice(0, member.start) + JSON.stringify(id) + block.slice(member.end)
}
