import { StringDecoder } from 'node:string_decoder'
import type { AnswerHead, Decoder, Ending, ModelPlan, UpstreamRequest } from '#data-plane/call.ts'
import type { AnswerWriter, WrittenEnd } from '#data-plane/wires/answer-writer.ts'
import { chatCodecOf } from '#shared/protocols/index.ts'
import type { AnswerEvent, AnswerReader, FinishReason } from '#shared/protocols/middle-form/answer.ts'
import { FINISH_WORDS, NO_EVENTS } from '#shared/protocols/middle-form/answer.ts'
import { askByTool, readByTool } from '#shared/protocols/middle-form/answer-tool.ts'
import type {
  Conversation,
  ConversationTurn,
  ResponseFormat,
  UserPart,
} from '#shared/protocols/middle-form/conversation.ts'
import { NO_ORIGINS } from '#shared/protocols/middle-form/conversation.ts'
import { readByOrigin } from '#shared/protocols/middle-form/tool-origin.ts'
import { eitherForm } from './either-form.ts'
import { followObject } from './followed-object.ts'
import { openSeals } from './opened-seals.ts'

/** The parts of a conversation that decide the reading of its answer. */
export type AnswerContext = Pick<Conversation, 'isStreamed' | 'tools' | 'toolChoice' | 'responseFormat' | 'origins'>

/** A request without a format. */
export const NO_FORMAT: Omit<AnswerContext, 'isStreamed'> = {
  tools: [],
  toolChoice: undefined,
  responseFormat: undefined,
  origins: NO_ORIGINS,
}

type State = {
  readonly plan: ModelPlan
  readonly reader: AnswerReader
  readonly writer: AnswerWriter
  /** True until the end of a stream whose buyer waits for an object. */
  isHeld: boolean
  /** Text that the reader releases only when the provider's bytes have ended. It is sent with the last bytes. */
  late: string
  pieces: number
  contentBytes: number
  reasoningBytes: number
  hasTools: boolean
  isStopped: boolean
  finish: { readonly reason: FinishReason; readonly stopSequence: string | null } | undefined
}

/**
 * The request for the plan's provider, in its protocol. When neither the protocol nor the model has a member for the
 * answer's format, the answer is requested as a call of a tool, and the format is named as adapted.
 */
export function translateRequest(request: Conversation, plan: ModelPlan): UpstreamRequest {
  const protocol = chatCodecOf(plan.offer)
  const openConversation = openSeals({ ...request, turns: resultsFirst(request.turns) }, plan)
  const conversation = hasLeftOver(openConversation) ? withoutChoice(openConversation) : openConversation
  if (!needsTool(conversation.responseFormat, plan, conversation.tools.length > 0))
    return protocol.encode(conversation, plan)
  const adaptedParams = [...conversation.adaptedParams, spelled(conversation, 'response_format')]
  return protocol.encode({ ...askByTool(conversation), adaptedParams }, plan)
}

/** The turns in an order that providers require: after an answer, results of its calls come first, then other parts. */
function resultsFirst(turns: readonly ConversationTurn[]): readonly ConversationTurn[] {
  const orderedTurns: ConversationTurn[] = []
  for (const turn of turns) {
    const place = orderedTurns.findLastIndex(({ role }) => role === 'assistant') + 1
    const before = place === 0 ? undefined : orderedTurns[place]
    const results = turn.role === 'user' ? turn.parts.filter(isResult) : []
    if (turn.role === 'assistant' || results.length === 0 || before?.role !== 'user') {
      orderedTurns.push(turn)
      continue
    }
    const others = turn.parts.filter((part) => !isResult(part))
    const among = before.parts.filter(isResult)
    const saidParts = before.parts.filter((part) => !isResult(part))
    if (among.length > 0) orderedTurns[place] = { role: 'user', parts: [...among, ...results, ...saidParts] }
    else orderedTurns.splice(place, 0, { role: 'user', parts: results })
    if (others.length > 0) orderedTurns.push({ role: 'user', parts: others })
  }
  return orderedTurns
}

function isResult({ kind }: UserPart): boolean {
  return kind === 'toolResult'
}

/** True for a choice among tools that could not be passed on. Providers refuse it, so it is left out, too. */
function hasLeftOver({ tools, toolChoice, parallelToolCalls }: Conversation): boolean {
  if (tools.length === 0) return toolChoice !== undefined || parallelToolCalls !== undefined
  return typeof toolChoice === 'object' && !tools.some(({ name }) => name === toolChoice.name)
}

function withoutChoice(conversation: Conversation): Conversation {
  const { tools, toolChoice, parallelToolCalls } = conversation
  const leftOut = [
    ...(toolChoice === undefined ? [] : ['tool_choice']),
    ...(tools.length > 0 || parallelToolCalls === undefined ? [] : ['parallel_tool_calls']),
  ]
  return {
    ...conversation,
    toolChoice: undefined,
    parallelToolCalls: tools.length > 0 ? parallelToolCalls : undefined,
    adaptedParams: [...conversation.adaptedParams, ...leftOut.map((name) => spelled(conversation, name))],
  }
}

/** OpenAI's name of a parameter in the buyer's spelling. */
function spelled({ spelling }: Conversation, name: string): string {
  return spelling[name] ?? name
}

/** True when the plan's provider does not support the format itself, beside the buyer's own tools or without any. */
export function needsTool(
  format: ResponseFormat | undefined,
  { offer, target }: ModelPlan,
  hasTools: boolean,
): boolean {
  return format !== undefined && !chatCodecOf(offer).saysFormat(target.model, format, hasTools)
}

/**
 * The answer of the plan's provider, parsed in its protocol and in the form in which it arrives, and written by a wire.
 * A wire gets the figures that the provider has reported so far, for text before the end. `own` writes the answer of a
 * provider with the buyer's protocol, in the requested form.
 */
export function translateAnswer(
  plan: ModelPlan,
  answerContext: AnswerContext,
  writerOf: (reported: AnswerReader['reported']) => AnswerWriter,
  own?: (reported: AnswerReader['reported']) => AnswerWriter,
): Decoder {
  const { isStreamed, responseFormat, origins, tools } = answerContext
  let headers: AnswerHead['headers'] | undefined
  let lastReader: AnswerReader | undefined
  const codec = chatCodecOf(plan.offer)
  const read = (isEvents: boolean) => {
    const owned = own !== undefined && isEvents === isStreamed ? codec.ownReader?.(isEvents) : undefined
    const answerReader = owned ?? codec.reader(isEvents)
    lastReader = answerReader
    if (headers !== undefined) answerReader.takeHeaders?.(headers)
    if (own !== undefined && owned !== undefined) return join(owned, own(owned.reported), plan, false)
    const plain = isStreamed && !isEvents ? endingItself(answerReader) : answerReader
    const formatted = needsTool(responseFormat, plan, tools.length > 0) ? readByTool(plain, answerContext) : plain
    const reader = readByOrigin(formatted, origins)
    return join(reader, writerOf(reader.reported), plan, isEvents && !isStreamed)
  }
  return eitherForm(isStreamed, read, {
    streamType: codec.streamType,
    takeHeaders(answerHeaders) {
      headers = answerHeaders
      lastReader?.takeHeaders?.(answerHeaders)
    },
  })
}

/** Reads a whole answer until its object is complete, for a buyer of a stream. */
function endingItself(reader: AnswerReader): AnswerReader {
  const utf8 = new StringDecoder('utf8')
  const object = followObject()
  return {
    ...reader,
    push(chunk) {
      if (object.isComplete()) return NO_EVENTS
      object.take(utf8.write(chunk))
      reader.push(chunk)
      return object.isComplete() ? reader.end() : NO_EVENTS
    },
    end: () => (object.isComplete() ? NO_EVENTS : reader.end()),
    isDone: () => object.isComplete(),
  }
}

/**
 * Joins a reader to a writer. Content is counted here, once, for any two protocols. No part of a held answer counts as
 * delivered before its end.
 */
function join(reader: AnswerReader, writer: AnswerWriter, plan: ModelPlan, isHeld: boolean): Decoder {
  const state: State = {
    plan,
    reader,
    writer,
    isHeld,
    late: '',
    pieces: 0,
    contentBytes: 0,
    reasoningBytes: 0,
    hasTools: false,
    isStopped: false,
    finish: undefined,
  }
  return {
    push(chunk) {
      return state.isStopped ? '' : writeAll(state, reader.push(chunk))
    },
    end() {
      if (!state.isStopped) state.late = writeAll(state, reader.end())
      state.isHeld = false
    },
    contentPieces() {
      return state.isHeld ? 0 : state.pieces
    },
    isDone() {
      return state.isStopped || (!isHeld && reader.isDone())
    },
    failure() {
      return reader.failure()
    },
    ending() {
      return endingOf(state)
    },
    stop() {
      state.isStopped = true
      state.isHeld = false
    },
    finish(receipt) {
      return state.late + writer.finish(receipt, endOf(state))
    },
    fail(error) {
      return writer.fail(error)
    },
    keepAlive() {
      return writer.keepAlive()
    },
  }
}

function writeAll(state: State, events: readonly AnswerEvent[]): string {
  let out = ''
  for (const event of events) {
    if (event.kind === 'finish') {
      state.finish = event
      continue
    }
    count(state, event)
    out += state.writer.write(event)
  }
  return out
}

function count(state: State, event: Exclude<AnswerEvent, { readonly kind: 'finish' }>): void {
  switch (event.kind) {
    case 'toolStart':
      state.hasTools = true
      state.contentBytes += event.name.length
      break
    case 'reasoning':
    case 'redactedReasoning': {
      const bytes = Buffer.byteLength(event.text)
      state.reasoningBytes += bytes
      state.contentBytes += bytes
      break
    }
    // A signature only seals content that was counted already. So do citations, and members that are not parsed.
    case 'signature':
    case 'toolMembers':
    case 'textStart':
    case 'citation':
      return
    case 'own':
      if (event.bytes === 0) return
      state.contentBytes += event.bytes
      break
    // Results of a search are input of the model, and no output.
    case 'makersBlock':
      break
    default:
      state.contentBytes += Buffer.byteLength(event.text)
  }
  state.pieces++
}

/**
 * The end of an answer. An answer without a cut ends with `toolCalls` exactly when it has calls, whatever its provider
 * reports.
 */
function endOf({ finish, hasTools, isStopped, plan }: State): WrittenEnd {
  const finishReason = isStopped ? 'length' : (finish?.reason ?? 'stop')
  const reason =
    finishReason === 'stop' || finishReason === 'toolCalls' ? (hasTools ? 'toolCalls' : 'stop') : finishReason
  return {
    reason,
    stopSequence: reason === 'stop' ? (finish?.stopSequence ?? null) : null,
    isCeiling: reason === 'length' && plan.isCeilingBound,
  }
}

function endingOf(state: State): Ending {
  const { reason, isCeiling } = endOf(state)
  const isBlank = state.pieces === 0 && state.finish === undefined && !state.isStopped
  return {
    reported: state.reader.reported(),
    finishReason: isBlank ? null : isCeiling ? 'cost_ceiling_reached' : FINISH_WORDS[reason],
    contentBytes: state.isHeld ? 0 : state.contentBytes,
    reasoningBytes: state.isHeld ? 0 : state.reasoningBytes,
  }
}
