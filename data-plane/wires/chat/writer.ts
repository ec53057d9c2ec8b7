import type { AttemptPlan, Receipt } from '#data-plane/call.ts'
import type { AnswerEnd, AnswerEvent, AnswerWriter } from '#data-plane/dialects/answer.ts'
import { FINISH_WORDS } from '#data-plane/dialects/translate.ts'
import { chatUsageJson } from '#data-plane/dialects/usage.ts'
import { openAiErrorBody } from '#data-plane/wires/envelopes/openai.ts'

/** A comment with a single newline: it dispatches no event, not even an empty one. */
const KEEP_ALIVE = ': keep-alive\n'

/** Writes events as an answer of the chat wire. */
export function chatWriter(plan: AttemptPlan, isStreamed: boolean): AnswerWriter {
  return isStreamed ? streamWriter(plan) : wholeWriter(plan)
}

function streamWriter(plan: AttemptPlan): AnswerWriter {
  const head =
    `data: {"id":"chatcmpl-${plan.rid}","object":"chat.completion.chunk","created":${plan.createdAt},` +
    `"model":${JSON.stringify(plan.target.model.id)},"choices":[`
  let hasRole = false
  return {
    write(event) {
      const delta = deltaOf(event)
      if (delta === '') return ''
      const role = hasRole ? '' : '"role":"assistant",'
      hasRole = true
      return `${head}{"index":0,"delta":{${role}${delta}},"finish_reason":null}]}\n\n`
    },
    finish(receipt, end) {
      return (
        `${head}{"index":0,"delta":{},${endMembers(end)}}]}\n\n` +
        `${head}],"usage":${chatUsageJson(receipt)}}\n\ndata: [DONE]\n\n`
      )
    },
    fail: (error) => `data: ${openAiErrorBody(error, plan.rid)}\n\ndata: [DONE]\n\n`,
    keepAlive: () => KEEP_ALIVE,
  }
}

/** The members of a delta as JSON text. Thoughts go out under all their names. */
function deltaOf(event: AnswerEvent): string {
  switch (event.kind) {
    case 'text':
      return `"content":${JSON.stringify(event.text)}`
    case 'refusal':
      return `"refusal":${JSON.stringify(event.text)}`
    case 'reasoning': {
      const text = JSON.stringify(event.text)
      return `"reasoning":${text},"reasoning_content":${text},"reasoning_details":[{"type":"reasoning.text","text":${text}}]`
    }
    case 'signature':
      return `"reasoning_details":[{"type":"reasoning.text","text":"","signature":${JSON.stringify(event.text)}}]`
    case 'redactedReasoning':
      return `"reasoning_details":[{"type":"reasoning.encrypted","data":${JSON.stringify(event.text)}}]`
    case 'toolStart':
      return (
        `"tool_calls":[{"index":${event.index},"id":${JSON.stringify(event.id)},"type":"function",` +
        `"function":{"name":${JSON.stringify(event.name)},"arguments":""}}]`
      )
    case 'toolInput':
      return `"tool_calls":[{"index":${event.index},"function":{"arguments":${JSON.stringify(event.text)}}}]`
    default:
      return ''
  }
}

function endMembers({ reason, isCeiling }: AnswerEnd): string {
  return `"finish_reason":"${FINISH_WORDS[reason]}"${isCeiling ? ',"native_finish_reason":"cost_ceiling_reached"' : ''}`
}

type Call = { readonly id: string; readonly name: string; input: string }

/** A whole answer as it comes together. */
type Message = {
  text: string
  refusal: string
  reasoning: string
  readonly details: { type: string; text?: string; signature?: string; data?: string }[]
  readonly calls: Map<number, Call>
}

function wholeWriter(plan: AttemptPlan): AnswerWriter {
  const message: Message = { text: '', refusal: '', reasoning: '', details: [], calls: new Map() }
  return {
    write(event) {
      gather(message, event)
      return ''
    },
    finish: (receipt, end) => wholeText(plan, message, receipt, end),
    fail: (error) => openAiErrorBody(error, plan.rid),
    keepAlive: () => '',
  }
}

function gather(message: Message, event: AnswerEvent): void {
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
      calls.set(event.index, { id: event.id, name: event.name, input: '' })
      break
    case 'toolInput': {
      const call = calls.get(event.index)
      if (call) call.input += event.text
      break
    }
    case 'finish':
      break
  }
}

function wholeText(plan: AttemptPlan, message: Message, receipt: Receipt, end: AnswerEnd): string {
  const { text, refusal, reasoning, details, calls } = message
  const toolCalls = [...calls.values()].map(({ id, name, input }) => ({
    id,
    type: 'function',
    function: { name, arguments: input },
  }))
  const body = JSON.stringify({
    role: 'assistant',
    content: text === '' && (toolCalls.length > 0 || refusal !== '') ? null : text,
    refusal: refusal === '' ? null : refusal,
    ...(reasoning === '' ? {} : { reasoning, reasoning_content: reasoning }),
    ...(details.length === 0 ? {} : { reasoning_details: details }),
    ...(toolCalls.length === 0 ? {} : { tool_calls: toolCalls }),
  })
  return (
    `{"id":"chatcmpl-${plan.rid}","object":"chat.completion","created":${plan.createdAt},` +
    `"model":${JSON.stringify(plan.target.model.id)},` +
    `"choices":[{"index":0,"message":${body},"logprobs":null,${endMembers(end)}}],"usage":${chatUsageJson(receipt)}}`
  )
}
