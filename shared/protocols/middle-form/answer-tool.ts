import { isRecord, readJsonObject } from '#shared/json-members.ts'
import type { AnswerEvent, AnswerReader } from './answer.ts'
import type { Conversation, FunctionTool, ResponseFormat, ToolChoice } from './conversation.ts'

/** The tool's name. Underscores follow it while one of the buyer's tools has the same name. */
const NAME = 'give_answer'
/** A tool's input is an object. An answer of another shape becomes the one member of such an object. */
const WRAPPER = 'answer'

/** The tool through which a model gives its answer where the protocol has no response format. */
type AnswerTool = { readonly name: string; readonly isWrapped: boolean; readonly schema: FunctionTool['schema'] }

type AnswerSettings = Pick<Conversation, 'tools' | 'toolChoice' | 'responseFormat'>

/** A call that the buyer forces comes first. The format then applies to a later turn. */
function answerToolOf({ tools, toolChoice, responseFormat }: AnswerSettings): AnswerTool | undefined {
  if (responseFormat === undefined || isForced(toolChoice)) return undefined
  let name = NAME
  while (tools.some((tool) => tool.name === name)) name += '_'
  const schema = schemaOf(responseFormat)
  const isWrapped = schema['type'] !== 'object'
  return { name, isWrapped, schema: isWrapped ? wrap(schema) : schema }
}

function isForced(choice: ToolChoice | undefined): boolean {
  return choice === 'required' || typeof choice === 'object'
}

function schemaOf(format: ResponseFormat): FunctionTool['schema'] {
  return format.kind === 'json' ? { type: 'object', additionalProperties: true } : format.schema
}

/** Definitions stay at the root, because their references begin there. */
function wrap({ $defs, definitions, ...schema }: FunctionTool['schema']): FunctionTool['schema'] {
  return {
    type: 'object',
    properties: { [WRAPPER]: schema },
    required: [WRAPPER],
    additionalProperties: false,
    ...($defs === undefined ? {} : { $defs }),
    ...(definitions === undefined ? {} : { definitions }),
  }
}

/**
 * Requests the answer as a call of a tool with the schema of the response format. The model must call it, or one of the
 * buyer's tools. The conversation then has no response format.
 */
export function askByTool(conversation: Conversation): Conversation {
  const answerTool = answerToolOf(conversation)
  const rest = { ...conversation, responseFormat: undefined }
  if (answerTool === undefined) return rest
  const { tools, toolChoice, responseFormat } = conversation
  const described = responseFormat?.kind === 'schema' ? responseFormat.description : undefined
  const tool: FunctionTool = {
    name: answerTool.name,
    description: `Gives the final answer to the user. ${described ?? ''}`.trim(),
    schema: answerTool.schema,
  }
  const mayCall = tools.length > 0 && toolChoice !== 'none'
  return {
    ...rest,
    tools: mayCall ? [...tools, tool] : [tool],
    toolChoice: mayCall ? 'required' : { name: answerTool.name },
    parallelToolCalls: mayCall ? conversation.parallelToolCalls : undefined,
  }
}

/**
 * Reads the call of the answer tool as the answer's text. Text beside the call would make that JSON invalid, so it is
 * held back and passed on only when no call follows.
 */
export function readByTool(reader: AnswerReader, settings: AnswerSettings): AnswerReader {
  const answerTool = answerToolOf(settings)
  if (answerTool === undefined) return reader
  const state: State = { ...answerTool, heldEvents: [], answer: undefined, input: '', skipped: 0, isReleased: false }
  return {
    ...reader,
    push: (chunk) => reader.push(chunk).flatMap((event) => translate(state, event)),
    end: () => [...reader.end().flatMap((event) => translate(state, event)), ...release(state, true)],
  }
}

type State = AnswerTool & {
  /** Text beside the call. */
  readonly heldEvents: AnswerEvent[]
  /** The index of the call of the answer tool. */
  answer: number | undefined
  /** The input of a wrapped answer so far. */
  input: string
  /** The number of calls that are not passed on. */
  skipped: number
  isReleased: boolean
}

function translate(state: State, event: AnswerEvent): readonly AnswerEvent[] {
  switch (event.kind) {
    case 'text':
      state.heldEvents.push(event)
      return []
    case 'toolStart':
      if (event.name === state.name) {
        if (state.answer === undefined) state.answer = event.index
        state.skipped += 1
        return []
      }
      return [{ ...event, index: event.index - state.skipped }]
    case 'toolInput':
      if (event.index !== state.answer) return [{ ...event, index: event.index - state.skipped }]
      state.input += event.text
      return state.isWrapped || event.text === '' ? [] : [{ kind: 'text', text: event.text }]
    case 'finish':
      return [...release(state, event.reason === 'length'), event]
    default:
      return [event]
  }
}

/** The events at the end: a wrapped answer, an empty answer, or the held text where there was no call. */
function release(state: State, isCut: boolean): readonly AnswerEvent[] {
  const { heldEvents, answer, input, isWrapped, isReleased } = state
  if (isReleased) return []
  state.isReleased = true
  if (answer === undefined) return heldEvents
  // A call without arguments has no input.
  if (input === '') return isCut ? [] : [{ kind: 'text', text: '{}' }]
  return isWrapped ? [{ kind: 'text', text: unwrap(input) }] : []
}

/** The wrapped value; the text itself where the call was cut off. */
function unwrap(input: string): string {
  const value = readJsonObject(input)
  return isRecord(value) && WRAPPER in value ? JSON.stringify(value[WRAPPER]) : input
}
