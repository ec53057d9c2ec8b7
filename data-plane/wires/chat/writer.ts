import type { ModelPlan, Receipt } from '#data-plane/call.ts'
import type { AnswerWriter, WrittenEnd } from '#data-plane/wires/answer-writer.ts'
import { openAiErrorBody } from '#data-plane/wires/envelopes/openai.ts'
import { shownDetails } from '#data-plane/wires/maker-of.ts'
import { endMembers, failedStream, KEEP_ALIVE, streamEnd } from '#data-plane/wires/openai-frames.ts'
import { phaseMarks } from '#data-plane/wires/phase-marks.ts'
import { chatUsageJson } from '#data-plane/wires/usage-json.ts'
import type { JsonObject } from '#shared/json-members.ts'
import type { CitedSource } from '#shared/protocols/answers/cited-sources.ts'
import type { AnswerEvent } from '#shared/protocols/middle-form/answer.ts'
import { FINISH_WORDS } from '#shared/protocols/middle-form/answer.ts'
import { frameHead, wholeHead } from './frames.ts'

/** Writes events as an answer of the chat wire. */
export function chatWriter(plan: ModelPlan, isStreamed: boolean): AnswerWriter {
  return isStreamed ? streamWriter(plan) : wholeWriter(plan)
}

function streamWriter(plan: ModelPlan): AnswerWriter {
  const head = frameHead(plan)
  const phases = phaseMarks(plan)
  let hasRole = false
  return {
    write(event) {
      const mark = event.kind === 'text' ? phases.take(event) : undefined
      const saidDelta = deltaOf(event, plan)
      if (saidDelta === '') return ''
      const delta =
        mark === undefined ? saidDelta : `"reasoning_details":${JSON.stringify([detailOf(mark)])},${saidDelta}`
      const role = hasRole ? '' : '"role":"assistant",'
      hasRole = true
      return `${head}{"index":0,"delta":{${role}${delta}},"finish_reason":null}]}\n\n`
    },
    finish(receipt, end) {
      return `${head}{"index":0,"delta":{},${endText(end)}}]}\n\n${streamEnd(head, receipt)}`
    },
    fail: (error) => failedStream(error, plan.rid),
    keepAlive: () => KEEP_ALIVE,
  }
}

/** A seal as a reasoning detail, the form in which clients send it back. */
function detailOf(seal: string): Detail {
  return { type: 'reasoning.encrypted', data: seal }
}

/** The members of a delta as JSON text. Reasoning has all its names. */
function deltaOf(event: AnswerEvent, plan: ModelPlan): string {
  switch (event.kind) {
    case 'text':
      return `"content":${JSON.stringify(event.text)}`
    case 'refusal':
      return `"refusal":${JSON.stringify(event.text)}`
    case 'reasoning': {
      const text = JSON.stringify(event.text)
      const details =
        event.details === undefined
          ? `[{"type":"reasoning.text","text":${text}}]`
          : JSON.stringify(shownDetails(plan, event.details))
      const reasoningMembers = event.text === '' ? '' : `"reasoning":${text},"reasoning_content":${text},`
      return `${reasoningMembers}"reasoning_details":${details}`
    }
    case 'signature':
      return `"reasoning_details":[{"type":"reasoning.text","text":"","signature":${JSON.stringify(event.text)}}]`
    case 'redactedReasoning':
      return `"reasoning_details":[{"type":"reasoning.encrypted","data":${JSON.stringify(event.text)}}]`
    case 'toolStart': {
      const called = event.isCustom
        ? `"custom","custom":{"name":${JSON.stringify(event.name)},"input":""}`
        : `"function","function":{"name":${JSON.stringify(event.name)},"arguments":""}`
      return `"tool_calls":[{"index":${event.index},"id":${JSON.stringify(event.id)},"type":${called}${opaqueText(event.members)}}]`
    }
    case 'toolInput': {
      const text = JSON.stringify(event.text)
      const inputMember = event.isCustom ? `"custom":{"input":${text}}` : `"function":{"arguments":${text}}`
      return `"tool_calls":[{"index":${event.index},${inputMember}}]`
    }
    case 'toolMembers':
      return `"tool_calls":[{"index":${event.index}${opaqueText(event.members)}}]`
    case 'citation':
      return event.source === undefined ? '' : `"annotations":${JSON.stringify([annotationOf(event.source)])}`
    default:
      return ''
  }
}

/** A citation in this protocol. It concerns the text before it, at unknown places. */
function annotationOf({ url, title }: CitedSource): object {
  return { type: 'url_citation', url_citation: { url, title, start_index: 0, end_index: 0 } }
}

/** Members that only the provider understands, after others. */
function opaqueText(members: JsonObject | undefined): string {
  return members === undefined ? '' : `,${JSON.stringify(members).slice(1, -1)}`
}

function endText({ reason, isCeiling }: WrittenEnd): string {
  return endMembers(FINISH_WORDS[reason], isCeiling)
}

type Call = {
  readonly id: string
  readonly name: string
  readonly isCustom: boolean
  input: string
  members: JsonObject | undefined
}

type Detail = { type?: unknown; text?: string; signature?: string; data?: string }

/** A whole answer under construction. */
type Message = {
  text: string
  refusal: string
  reasoning: string
  readonly details: Detail[]
  readonly calls: Map<number, Call>
  readonly annotations: object[]
}

function wholeWriter(plan: ModelPlan): AnswerWriter {
  const message: Message = { text: '', refusal: '', reasoning: '', details: [], calls: new Map(), annotations: [] }
  const phases = phaseMarks(plan)
  return {
    write(event) {
      const mark = event.kind === 'text' ? phases.take(event) : undefined
      if (mark !== undefined) message.details.push(detailOf(mark))
      gather(message, event, plan)
      return ''
    },
    finish: (receipt, end) => wholeText(plan, message, receipt, end),
    fail: (error) => openAiErrorBody(error, plan.rid),
    keepAlive: () => '',
  }
}

function gather(message: Message, event: AnswerEvent, plan: ModelPlan): void {
  const { details, calls } = message
  switch (event.kind) {
    case 'text':
      message.text += event.text
      break
    case 'refusal':
      message.refusal += event.text
      break
    case 'reasoning': {
      message.reasoning += event.text
      if (event.details !== undefined) {
        details.push(...shownDetails(plan, event.details))
        break
      }
      const last = details.at(-1)
      if (last?.text !== undefined && last.signature === undefined) last.text += event.text
      else details.push({ type: 'reasoning.text', text: event.text })
      break
    }
    case 'signature': {
      const last = details.at(-1)
      if (last?.text !== undefined) last.signature = (last.signature ?? '') + event.text
      else details.push({ type: 'reasoning.text', text: '', signature: event.text })
      break
    }
    case 'redactedReasoning':
      details.push({ type: 'reasoning.encrypted', data: event.text })
      break
    case 'toolStart':
      calls.set(event.index, {
        id: event.id,
        name: event.name,
        isCustom: event.isCustom === true,
        input: '',
        members: event.members,
      })
      break
    case 'toolMembers': {
      const call = calls.get(event.index)
      if (call) call.members = { ...call.members, ...event.members }
      break
    }
    case 'toolInput': {
      const call = calls.get(event.index)
      if (call) call.input += event.text
      break
    }
    case 'citation':
      if (event.source !== undefined) message.annotations.push(annotationOf(event.source))
      break
    // This protocol has no place for blocks of a maker's tools.
    case 'textStart':
    case 'makersBlock':
    case 'own':
    case 'finish':
      break
  }
}

function wholeText(plan: ModelPlan, message: Message, receipt: Receipt, end: WrittenEnd): string {
  const { text, refusal, reasoning, details, calls, annotations } = message
  const toolCalls = [...calls.values()].map(({ id, name, isCustom, input, members }) =>
    isCustom
      ? { id, type: 'custom', custom: { name, input }, ...members }
      : { id, type: 'function', function: { name, arguments: input }, ...members },
  )
  const body = JSON.stringify({
    role: 'assistant',
    content: text === '' && (toolCalls.length > 0 || refusal !== '') ? null : text,
    refusal: refusal === '' ? null : refusal,
    ...(reasoning === '' ? {} : { reasoning, reasoning_content: reasoning }),
    ...(details.length === 0 ? {} : { reasoning_details: details }),
    ...(toolCalls.length === 0 ? {} : { tool_calls: toolCalls }),
    ...(annotations.length === 0 ? {} : { annotations }),
  })
  return (
    `${wholeHead(plan)}[{"index":0,"message":${body},"logprobs":null,${endText(end)}}],` +
    `"system_fingerprint":null,"usage":${chatUsageJson(receipt)}}`
  )
}
