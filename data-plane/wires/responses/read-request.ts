import type { JsonBody, RawRequest } from '#data-plane/call.ts'
import type { Content } from '#data-plane/wires/content.ts'
import { textBytesOf } from '#data-plane/wires/content.ts'
import type { Routing } from '#data-plane/wires/hints.ts'
import { ROUTING_FIELDS, readRouting } from '#data-plane/wires/hints.ts'
import { readJsonBody, readModelName } from '#data-plane/wires/json-body.ts'
import { flagOf, readSampling, readStop, SAMPLING_FIELDS, wordOf } from '#data-plane/wires/sampling.ts'
import { keepIntegers } from '#data-plane/wires/whole-integers.ts'
import { invalidMember } from '#shared/invalid-member.ts'
import { isRecord } from '#shared/json-members.ts'
import { SERVICE_MEMBERS } from '#shared/members/of-text.ts'
import type { AskedMembers } from '#shared/members/read-members.ts'
import { readMembers } from '#shared/members/read-members.ts'
import { serviceOf } from '#shared/members/surcharge.ts'
import type { Conversation, ReasoningSettings, ResponseFormat } from '#shared/protocols/middle-form/conversation.ts'
import { extrasIn } from '#shared/protocols/middle-form/taken-extras.ts'
import { readInput } from './input-items.ts'
import { checkParameters, isAbsent, unsaidParameters } from './parameters.ts'
import type { Tools } from './tools.ts'
import { readToolChoice, readTools } from './tools.ts'

/** A parsed responses request, in the middle form, with the facts for routing and for the answer. */
export type ResponsesRequest = Routing & {
  readonly json: JsonBody
  readonly model: string
  readonly conversation: Conversation
  /** The original tools, when some were left out. */
  readonly keptTools: readonly object[] | undefined
  /** True when the client wants reasoning in a form that it can send back. */
  readonly wantsSealed: boolean
  readonly content: Content
  readonly itemCount: number
  readonly textBytes: number
  readonly askedMembers: AskedMembers
}

/** Members that the middle form holds, that decide the form of the answer, or that ask for nothing. */
const KNOWN: ReadonlySet<string> = new Set([
  'model',
  'input',
  'instructions',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'stream',
  'stream_options',
  'max_output_tokens',
  'max_tool_calls',
  'reasoning',
  'text',
  'user',
  'safety_identifier',
  'stop',
  'n',
  'store',
  'metadata',
  'include',
  'truncation',
  'background',
  'top_logprobs',
  'service_tier',
  ...SAMPLING_FIELDS,
  ...ROUTING_FIELDS,
])

/** This protocol's names for parameters with another name on the chat wire. */
const SPELLING = {
  max_tokens: 'max_output_tokens',
  max_completion_tokens: 'max_output_tokens',
  response_format: 'text.format',
  reasoning_effort: 'reasoning',
  verbosity: 'text.verbosity',
  tool_calls: 'input.function_call',
  reasoning_details: 'input.reasoning',
}

/** The name of a schema without a name in its request. */
export const UNNAMED_FORMAT = 'answer'

type Body = Readonly<Record<string, unknown>>

/** Reads the body of a responses request. Throws AppError: `invalid_json`, `invalid_request`, `request_too_large` … */
export function readResponsesRequest(raw: RawRequest): ResponsesRequest {
  const json = keepIntegers(readJsonBody(raw, 'input'))
  const { body } = json
  const model = readModelName(body['model'])
  checkParameters(body)
  const input = readInput(body['input'], json)
  const tools = readTools(body['tools'], toolsIn(body['input']))
  const { include } = body
  const instructions = wordOf(body['instructions'])
  const content = { ...input.content, spokenChars: input.content.spokenChars + (instructions?.length ?? 0) }
  return {
    json,
    model,
    conversation: {
      ...settingsOf(body, tools, input.adaptedParams),
      system: [...(instructions === undefined ? [] : [{ kind: 'text' as const, text: instructions }]), ...input.system],
      turns: input.turns,
    },
    keptTools: tools.adaptedParams.includes('tools') ? tools.kept : undefined,
    wantsSealed: Array.isArray(include) && include.includes('reasoning.encrypted_content'),
    content,
    itemCount: input.itemCount,
    textBytes: textBytesOf(raw.body, content),
    askedMembers: readMembers(SERVICE_MEMBERS, body),
    ...readRouting(body, raw),
  }
}

/** The tools that items of the input add. */
function toolsIn(input: unknown): readonly unknown[] {
  if (!Array.isArray(input)) return []
  return input.flatMap((item) => (isRecord(item) && ADDING.has(item['type']) ? item['tools'] : []))
}

const ADDING: ReadonlySet<unknown> = new Set(['additional_tools', 'tool_search_output'])

type Settings = Omit<Conversation, 'system' | 'turns'>

function settingsOf(body: Body, given: Tools, leftOut: readonly string[]): Settings {
  const { tools, toolChoice, isAdapted } = readToolChoice(body['tool_choice'], given)
  const maxTokens = body['max_output_tokens']
  const verbosity = isRecord(body['text']) ? body['text']['verbosity'] : undefined
  return {
    tools,
    toolChoice,
    origins: given.origins,
    parallelToolCalls: flagOf(body['parallel_tool_calls']),
    sampling: readSampling(body),
    stop: readStop(body['stop']),
    responseFormat: readFormat(body['text']),
    reasoning: readReasoning(body['reasoning']),
    extras: extrasIn({ ...body, verbosity }),
    ...serviceOf(body),
    user: wordOf(body['safety_identifier']) ?? wordOf(body['user']),
    maxTokens: typeof maxTokens === 'number' ? maxTokens : undefined,
    isStreamed: body['stream'] === true,
    spelling: SPELLING,
    adaptedParams: [
      ...unsaidParameters(body, KNOWN),
      ...given.adaptedParams,
      ...(isAdapted ? ['tool_choice'] : []),
      ...leftOut,
    ],
  }
}

function readFormat(text: unknown): ResponseFormat | undefined {
  const format = isRecord(text) ? text['format'] : undefined
  if (isAbsent(format)) return undefined
  if (!isRecord(format)) throw invalidMember('text.format', 'text.format must be an object.')
  const { type, schema } = format
  if (type === 'text') return undefined
  if (type === 'json_object') return { kind: 'json' }
  if (type !== 'json_schema')
    throw invalidMember('text.format.type', 'A format must be text, json_object or json_schema.')
  if (!isRecord(schema)) throw invalidMember('text.format.schema', 'A json_schema format needs a schema.')
  const description = wordOf(format['description'])
  return {
    kind: 'schema',
    name: wordOf(format['name']) ?? UNNAMED_FORMAT,
    schema,
    isStrict: flagOf(format['strict']),
    ...(description === undefined ? {} : { description }),
  }
}

function readReasoning(value: unknown): ReasoningSettings | undefined {
  if (!isRecord(value)) return undefined
  const { effort, max_tokens: maxTokens } = value
  if (!isAbsent(effort) && typeof effort !== 'string')
    throw invalidMember('reasoning.effort', 'reasoning.effort must be a word.')
  const word = wordOf(effort)
  const summary = wordOf(value['summary'])
  if ((word ?? summary) === undefined && typeof maxTokens !== 'number') return undefined
  return {
    ...(summary === undefined ? {} : { summary }),
    ...(word === undefined ? {} : { effort: word }),
    ...(typeof maxTokens === 'number' ? { maxTokens } : {}),
  }
}
