import type { AnswerWriter } from '#data-plane/wires/answer-writer.ts'
import { messagesErrorBody } from '#data-plane/wires/envelopes/messages.ts'
import type { FollowedObject } from '#data-plane/wires/followed-object.ts'
import { followObject } from '#data-plane/wires/followed-object.ts'
import type { PhaseMarks } from '#data-plane/wires/phase-marks.ts'
import { phaseMarks } from '#data-plane/wires/phase-marks.ts'
import { readJsonObject } from '#shared/json-members.ts'
import type { AnswerEvent } from '#shared/protocols/middle-form/answer.ts'
import { citationText } from './citations.ts'
import type { HiddenThought } from './hidden-thought.ts'
import { hiddenThought } from './hidden-thought.ts'
import { messageHead, stopMembers } from './message-members.ts'
import { messagesUsageMembers } from './usage-json.ts'
import type { WriterOptions } from './writer-options.ts'

type Block =
  | { readonly kind: 'text'; text: string; citations?: string[] }
  | { readonly kind: 'makers'; readonly text: string }
  | { readonly kind: 'thinking'; text: string; signature: string }
  | { readonly kind: 'redacted'; readonly data: string }
  | {
      readonly kind: 'tool'
      readonly index: number
      id: string
      readonly name: string
      readonly follow: FollowedObject
      input: string
    }

type State = {
  readonly blocks: Block[]
  readonly hidden: HiddenThought
  readonly phases: PhaseMarks
  hasRefused: boolean
}

/** A whole message, assembled and written at the end. */
export function wholeWriter({ plan, showsThoughts }: WriterOptions): AnswerWriter {
  const state: State = { blocks: [], hidden: hiddenThought(plan), phases: phaseMarks(plan), hasRefused: false }
  return {
    write(event) {
      gather(state, event, showsThoughts)
      return ''
    },
    finish(receipt, end) {
      const { blocks, hasRefused } = state
      const cut = end.reason === 'length' ? blocks.filter((block) => isCutOff(block, block === blocks.at(-1))) : []
      const texts = blocks.filter((block) => !cut.includes(block)).map(blockText)
      const hasTools = cut.length === 0 && blocks.some(({ kind }) => kind === 'tool')
      return (
        `{${messageHead(plan)},"content":[${texts.join(',')}],${stopMembers(end, hasTools, hasRefused)},` +
        `"usage":{${messagesUsageMembers(receipt)}}}`
      )
    },
    fail: (error) => messagesErrorBody(error, plan.rid),
    keepAlive: () => '',
  }
}

function gather(state: State, event: AnswerEvent, showsThoughts: boolean): void {
  const { blocks } = state
  const last = blocks.at(-1)
  switch (event.kind) {
    case 'refusal':
    case 'text':
      if (event.kind === 'refusal') state.hasRefused = true
      takePhase(state, event)
      if (blocks.at(-1) === last && last?.kind === 'text') last.text += event.text
      else blocks.push({ kind: 'text', text: event.text })
      break
    case 'textStart':
      blocks.push({ kind: 'text', text: '', ...(event.hasCitations && { citations: [] }) })
      break
    case 'citation': {
      const citation = citationText(event)
      if (last?.kind !== 'text' || citation === undefined) break
      last.citations ??= []
      last.citations.push(citation)
      break
    }
    case 'makersBlock':
      blocks.push({ kind: 'makers', text: event.text })
      break
    case 'reasoning':
      if (!showsThoughts) {
        state.hidden.add(event)
        break
      }
      if (last?.kind === 'thinking' && last.signature === '') last.text += event.text
      else blocks.push({ kind: 'thinking', text: event.text, signature: '' })
      break
    case 'signature':
      if (!showsThoughts) break
      if (last?.kind === 'thinking') last.signature += event.text
      else blocks.push({ kind: 'thinking', text: '', signature: event.text })
      break
    case 'redactedReasoning':
      if (showsThoughts) blocks.push({ kind: 'redacted', data: event.text })
      break
    case 'toolStart': {
      const { index, name } = event
      const data = state.hidden.take()
      if (data !== undefined) blocks.push({ kind: 'redacted', data })
      const id = state.hidden.idOf(event)
      blocks.push({ kind: 'tool', index, id, name, follow: followObject(), input: '' })
      break
    }
    case 'toolInput': {
      const block = blocks.find((one) => one.kind === 'tool' && one.index === event.index)
      if (block?.kind === 'tool') block.input += block.follow.take(event.text)
      break
    }
    case 'toolMembers': {
      const block = blocks.find((one) => one.kind === 'tool' && one.index === event.index)
      if (block?.kind === 'tool') block.id = state.hidden.idOf({ id: block.id, members: event.members })
      break
    }
    case 'own':
    case 'finish':
      break
  }
}

/** Puts a sealed block in front of a text that begins another phase. The text of a refusal has no phase. */
function takePhase({ blocks, phases }: State, event: Parameters<PhaseMarks['take']>[0]): void {
  const data = phases.take(event)
  if (data !== undefined) blocks.push({ kind: 'redacted', data })
}

/**
 * True for a call whose input the limit cut off: a client could not run that call. A call without any input counts as
 * cut off only as the last block.
 */
function isCutOff(block: Block, isLast: boolean): boolean {
  return block.kind === 'tool' && (block.follow.isOpen() || (isLast && !block.follow.isComplete()))
}

function blockText(block: Block): string {
  switch (block.kind) {
    case 'text':
      return `{"type":"text","text":${JSON.stringify(block.text)}${citationsOf(block)}}`
    case 'makers':
      return block.text
    case 'thinking':
      return `{"type":"thinking","thinking":${JSON.stringify(block.text)},"signature":${JSON.stringify(block.signature)}}`
    case 'redacted':
      return `{"type":"redacted_thinking","data":${JSON.stringify(block.data)}}`
    case 'tool': {
      const { id, name, input } = block
      const inputText = input !== '' && readJsonObject(input) !== undefined ? input : '{}'
      return `{"type":"tool_use","id":${JSON.stringify(id)},"name":${JSON.stringify(name)},"input":${inputText}}`
    }
  }
}

function citationsOf({ citations }: { readonly citations?: readonly string[] }): string {
  return citations === undefined ? '' : `,"citations":[${citations.join(',')}]`
}
