import { AppError } from '#shared/errors.ts'
import { isRecord } from '#shared/json-members.ts'

/** Limits of single parameters. */
const MAX_CHOICES = 8
const MAX_STOPS = 16
const MAX_TOOLS = 512
const MAX_LOGIT_BIASES = 2_048
const MAX_METADATA_CHARS = 16_384
const MAX_USER_CHARS = 4_096

type Body = Readonly<Record<string, unknown>>
type Check = (value: unknown) => boolean

const between =
  (low: number, high: number): Check =>
  (value) =>
    typeof value === 'number' && value >= low && value <= high
const isText: Check = (value) => typeof value === 'string'
const isFlag: Check = (value) => typeof value === 'boolean'

function isTool(tool: unknown): boolean {
  return isRecord(tool) && typeof tool['type'] === 'string'
}

function isResponseFormat(format: unknown): boolean {
  if (!isRecord(format) || typeof format['type'] !== 'string') return false
  if (format['type'] !== 'json_schema') return true
  const schema = format['json_schema']
  return isRecord(schema) && isRecord(schema['schema'])
}

/** The check of each known parameter, with its text; null counts as absent everywhere. */
const CHECKS: readonly (readonly [name: string, words: string, check: Check])[] = [
  ['temperature', 'a number from 0 to 2', between(0, 2)],
  ['top_p', 'a number from 0 to 1', between(0, 1)],
  ['frequency_penalty', 'a number from -2 to 2', between(-2, 2)],
  ['presence_penalty', 'a number from -2 to 2', between(-2, 2)],
  ['n', `a whole number from 1 to ${MAX_CHOICES}`, (n) => Number.isInteger(n) && between(1, MAX_CHOICES)(n)],
  ['stream', 'true or false', isFlag],
  [
    'stop',
    `a text or up to ${MAX_STOPS} texts`,
    (stop) =>
      (isText(stop) && stop !== '') ||
      (Array.isArray(stop) && stop.length <= MAX_STOPS && stop.every((text) => isText(text) && text !== '')),
  ],
  [
    'tools',
    `a list of up to ${MAX_TOOLS} tools`,
    (tools) => Array.isArray(tools) && tools.length <= MAX_TOOLS && tools.every(isTool),
  ],
  ['tool_choice', 'a word or an object', (choice) => isText(choice) || isRecord(choice)],
  ['parallel_tool_calls', 'true or false', isFlag],
  ['response_format', 'an object with a type, and a schema where it is json_schema', isResponseFormat],
  ['reasoning_effort', 'a word', isText],
  ['reasoning', 'an object', isRecord],
  ['include_reasoning', 'true or false', isFlag],
  ['seed', 'a whole number', (seed) => Number.isInteger(seed)],
  ['logprobs', 'true or false', isFlag],
  ['top_logprobs', 'a whole number from 0 to 20', (top) => Number.isInteger(top) && between(0, 20)(top)],
  [
    'logit_bias',
    `an object of up to ${MAX_LOGIT_BIASES} numbers`,
    (bias) => isRecord(bias) && Object.keys(bias).length <= MAX_LOGIT_BIASES,
  ],
  [
    'metadata',
    `an object of up to ${MAX_METADATA_CHARS} characters`,
    (data) => isRecord(data) && JSON.stringify(data).length <= MAX_METADATA_CHARS,
  ],
  [
    'user',
    `a text of up to ${MAX_USER_CHARS} characters`,
    (user) => isText(user) && String(user).length <= MAX_USER_CHARS,
  ],
  ['stream_options', 'an object', isRecord],
]

const CHECK_BY_NAME: ReadonlyMap<string, readonly [string, Check]> = new Map(
  CHECKS.map(([name, words, check]) => [name, [words, check]]),
)

/** Checks one parameter that the wire knows; others pass. Throws `invalid_request`. */
export function checkParameter(name: string, value: unknown): void {
  const row = CHECK_BY_NAME.get(name)
  if (row === undefined || value === null || row[1](value)) return
  throw new AppError('invalid_request', { message: `${name} must be ${row[0]}.`, param: name })
}

/** The output limit under either of its names; of two the smaller counts. Throws `invalid_request`. */
export function readMaxTokens(body: Body): number | undefined {
  let least: number | undefined
  for (const name of ['max_tokens', 'max_completion_tokens']) {
    const value = body[name]
    if (value === undefined || value === null) continue
    if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 1) {
      throw new AppError('invalid_request', { message: `${name} must be a whole number of at least 1.`, param: name })
    }
    if (least === undefined || value < least) least = value
  }
  return least
}
