import type { JsonObject } from '#shared/json-members.ts'
import { readJsonObject } from '#shared/json-members.ts'
import type { CitedSource } from '#shared/protocols/answers/cited-sources.ts'

/** The index of an item in `output`, and its id. */
type Placed = { readonly place: number; readonly id: string }

/** The open part of a message. */
export type OpenPart = {
  readonly kind: 'text' | 'refusal'
  readonly index: number
  text: string
  /** Citations as JSON texts. */
  readonly annotations: string[]
}

/** A message: its finished parts as JSON text, and the open one. */
export type OpenMessage = Placed & {
  /** The maker's name of the message's phase, which it expects back. */
  readonly phase: string | undefined
  readonly parts: string[]
  part: OpenPart
}

export type OpenThought = Placed & {
  text: string
  member: string | undefined
  readonly details: JsonObject[]
  /** Data that only the maker can read: its signature over the text, or the reasoning itself. */
  seal: { readonly kind: 'signature' | 'redacted'; readonly text: string } | undefined
}

export type OpenCall = Placed & {
  callId: string
  readonly name: string
  readonly namespace: string | undefined
  /** A custom call has free text, and a search shows its arguments only at its end. */
  readonly form: 'function' | 'custom' | 'search'
  input: string
}

export type ItemStatus = 'in_progress' | 'completed' | 'incomplete'

/** An item as JSON text, with an empty list at its start. */
export function messageText(
  { id, phase }: Pick<OpenMessage, 'id' | 'phase'>,
  parts: readonly string[],
  status: ItemStatus,
): string {
  const word = phase === undefined ? '' : `"phase":${JSON.stringify(phase)},`
  return `{"type":"message","id":"${id}","status":"${status}","role":"assistant",${word}"content":[${parts.join(',')}]}`
}

export function partText({ kind, text, annotations }: Omit<OpenPart, 'index'>): string {
  const json = JSON.stringify(text)
  if (kind === 'refusal') return `{"type":"refusal","refusal":${json}}`
  return `{"type":"output_text","text":${json},"annotations":[${annotations.join(',')}],"logprobs":[]}`
}

/** A citation. It concerns the whole text before it, of this many characters. */
export function annotationText({ url, title }: CitedSource, chars: number): string {
  return JSON.stringify({ type: 'url_citation', url, title, start_index: 0, end_index: chars })
}

export function summaryText(text: string): string {
  return `{"type":"summary_text","text":${JSON.stringify(text)}}`
}

/** A reasoning item; `sealed` is the data that its provider expects back. */
export function thoughtText({ id, text }: Pick<OpenThought, 'id' | 'text'>, sealed: string | undefined): string {
  const summary = text === '' ? '' : summaryText(text)
  return `{"type":"reasoning","id":"${id}","summary":[${summary}],"encrypted_content":${sealed === undefined ? 'null' : JSON.stringify(sealed)}}`
}

export function callText(call: Omit<OpenCall, 'place'>, status: ItemStatus): string {
  const { id, callId, name, namespace, form, input } = call
  if (form === 'search') {
    return (
      `{"type":"tool_search_call","id":"${id}","call_id":${JSON.stringify(callId)},"execution":"client",` +
      `"arguments":${readJsonObject(input) === undefined ? '{}' : input},"status":"${status}"}`
    )
  }
  const [type, member] = form === 'custom' ? ['custom_tool_call', 'input'] : ['function_call', 'arguments']
  const group = namespace === undefined ? '' : `"namespace":${JSON.stringify(namespace)},`
  return (
    `{"type":"${type}","id":"${id}","call_id":${JSON.stringify(callId)},"name":${JSON.stringify(name)},${group}` +
    `"${member}":${JSON.stringify(input)},"status":"${status}"}`
  )
}
