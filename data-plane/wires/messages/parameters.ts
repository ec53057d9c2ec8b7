import { invalidMember } from '#shared/invalid-member.ts'
import { isRecord } from '#shared/json-members.ts'
import { MIN_THINKING_TOKENS } from '#shared/protocols/middle-form/conversation.ts'

/** Limits of single parameters. */
const MAX_STOPS = 64
const MAX_STOP_CHARS = 16_384
const MAX_TOOLS = 512
const MAX_NAME_CHARS = 200
const MAX_USER_CHARS = 4_096
const CHOICES: ReadonlySet<unknown> = new Set(['auto', 'any', 'none'])

type Json = Readonly<Record<string, unknown>>
type Check = (value: unknown) => boolean

const between =
  (low: number, high: number): Check =>
  (value) =>
    typeof value === 'number' && value >= low && value <= high

/** The check of each known parameter, with its text; null counts as absent everywhere. */
const CHECKS: readonly (readonly [name: string, words: string, check: Check])[] = [
  ['temperature', 'a number from 0 to 1', between(0, 1)],
  ['top_p', 'a number from 0 to 1', between(0, 1)],
  ['top_k', 'a whole number of at least 0', (value) => Number.isSafeInteger(value) && Number(value) >= 0],
  ['stream', 'true or false', (value) => typeof value === 'boolean'],
  ['stop_sequences', `up to ${MAX_STOPS} texts of ${MAX_STOP_CHARS} characters in all`, areStops],
  ['metadata', 'an object whose user_id is a text', isMetadata],
  ['tools', `a list of up to ${MAX_TOOLS} tools with a name and an input_schema`, areTools],
  ['tool_choice', 'auto, any, none or a tool by its name', isToolChoice],
  [
    'output_config',
    'an object whose format is a json_schema with a schema, and whose effort is a word',
    isOutputConfig,
  ],
  ['output_format', 'a json_schema with a schema', isFormat],
]

/** Checks the parameters of a message request. Throws `invalid_request`. */
export function checkParameters(body: Json): void {
  for (const [name, words, check] of CHECKS) {
    const value = body[name]
    if (value !== undefined && value !== null && !check(value)) throw invalidMember(name, `${name}: ${words}.`)
  }
}

/** The output limit. Throws `invalid_request`: this wire always has one. */
export function readMaxTokens({ max_tokens: value }: Json): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 1) return value
  throw invalidMember('max_tokens', 'max_tokens: a whole number of at least 1.')
}

/** Checks `thinking` against the output limit. Throws `invalid_request`. */
export function checkThinking(thinking: unknown, maxTokens: number): void {
  if (thinking === undefined || thinking === null) return
  const param = 'thinking'
  const kind = isRecord(thinking) ? thinking['type'] : undefined
  if (!isRecord(thinking) || (kind !== 'enabled' && kind !== 'disabled' && kind !== 'adaptive')) {
    throw invalidMember(param, 'thinking: enabled with budget_tokens, adaptive or disabled.')
  }
  if (kind !== 'enabled') return
  const budget = thinking['budget_tokens']
  if (typeof budget !== 'number' || !Number.isSafeInteger(budget) || budget < MIN_THINKING_TOKENS) {
    throw invalidMember(
      'thinking.budget_tokens',
      `thinking.budget_tokens: a whole number of at least ${MIN_THINKING_TOKENS}.`,
    )
  }
  if (budget >= maxTokens)
    throw invalidMember('thinking.budget_tokens', 'thinking.budget_tokens: less than max_tokens.')
}

function areStops(stops: unknown): boolean {
  if (!Array.isArray(stops) || stops.length > MAX_STOPS) return false
  let chars = 0
  for (const stop of stops) {
    if (typeof stop !== 'string' || stop === '') return false
    chars += stop.length
  }
  return chars <= MAX_STOP_CHARS
}

function isMetadata(metadata: unknown): boolean {
  if (!isRecord(metadata)) return false
  const user = metadata['user_id']
  return user === undefined || user === null || (typeof user === 'string' && user.length <= MAX_USER_CHARS)
}

function areTools(tools: unknown): boolean {
  return Array.isArray(tools) && tools.length <= MAX_TOOLS && tools.every(isTool)
}

/** Tools of the protocol's own types have no schema: they are stripped later. */
function isTool(tool: unknown): boolean {
  if (!isRecord(tool)) return false
  const { name, type, description } = tool
  const hasName = typeof name === 'string' && name !== '' && name.length <= MAX_NAME_CHARS
  if (typeof type === 'string' && type !== 'custom') return true
  const isSaid = description === undefined || description === null || typeof description === 'string'
  return hasName && isSaid && isRecord(tool['input_schema'])
}

function isToolChoice(choice: unknown): boolean {
  if (!isRecord(choice)) return CHOICES.has(choice)
  if (choice['type'] === 'tool') return typeof choice['name'] === 'string' && choice['name'] !== ''
  return CHOICES.has(choice['type'])
}

function isOutputConfig(config: unknown): boolean {
  if (!isRecord(config)) return false
  const { format, effort } = config
  const isEffort = effort === undefined || effort === null || typeof effort === 'string'
  return isEffort && (format === undefined || format === null || isFormat(format))
}

function isFormat(format: unknown): boolean {
  return isRecord(format) && format['type'] === 'json_schema' && isRecord(format['schema'])
}
