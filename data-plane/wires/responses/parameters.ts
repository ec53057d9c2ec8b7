import { checkParameter } from '#data-plane/wires/parameters.ts'
import { invalidMember } from '#shared/invalid-member.ts'
import { isRecord } from '#shared/json-members.ts'

const MAX_INSTRUCTION_CHARS = 2_097_152
const MAX_KEY_CHARS = 4_096

type Body = Readonly<Record<string, unknown>>

/** Parameters that cannot be served and would change the answer if they were ignored, each with its refusal. */
const REFUSED: readonly (readonly [name: string, isRefused: (value: unknown) => boolean, words: string])[] = [
  ['previous_response_id', () => true, 'No answers are kept here: send the whole conversation as input.'],
  ['conversation', () => true, 'No conversations are kept here: send the whole conversation as input.'],
  ['prompt', () => true, 'No prompts are kept here: send instructions and input.'],
  ['background', (value) => value === true, 'Answers are not made in the background.'],
  ['top_logprobs', (value) => value !== 0, 'Log probabilities are not given on this route.'],
  ['n', (value) => value !== 1, 'One answer is given on this route.'],
  ['include', hasLogprobs, 'Log probabilities are not given on this route.'],
]

/** Parameters of the chat wire, and where this protocol has them. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  messages: 'input',
  max_tokens: 'max_output_tokens',
  max_completion_tokens: 'max_output_tokens',
  response_format: 'text.format',
  reasoning_effort: 'reasoning.effort',
  functions: 'tools',
  function_call: 'tool_choice',
}

type Check = readonly [name: string, words: string, check: (value: unknown) => boolean]

const CHECKS: readonly Check[] = [
  ['instructions', 'a text', (value) => typeof value === 'string' && value.length <= MAX_INSTRUCTION_CHARS],
  [
    'max_output_tokens',
    'a whole number of at least 1',
    (value) => typeof value === 'number' && Number.isSafeInteger(value) && value >= 1,
  ],
  ['max_tool_calls', 'a whole number of at least 1', (value) => Number.isSafeInteger(value) && Number(value) >= 1],
  ['store', 'true or false', isFlag],
  ['background', 'true or false', isFlag],
  ['truncation', '"auto" or "disabled"', (value) => value === 'auto' || value === 'disabled'],
  ['include', 'a list of words', (value) => Array.isArray(value) && value.every((word) => typeof word === 'string')],
  ['text', 'an object', isRecord],
  ['safety_identifier', `a text of up to ${MAX_KEY_CHARS} characters`, isKey],
  ['prompt_cache_key', `a text of up to ${MAX_KEY_CHARS} characters`, isKey],
]

/** Checks all but input, tools and text.format. Throws `invalid_request` with the parameter at fault. */
export function checkParameters(body: Body): void {
  for (const name in body) {
    if (isAbsent(body[name])) continue
    const place = ELSEWHERE[name]
    if (Object.hasOwn(ELSEWHERE, name)) throw invalidMember(name, `${name} is not known here: use ${place}.`)
    checkParameter(name, body[name])
  }
  for (const [name, words, check] of CHECKS) {
    if (!isAbsent(body[name]) && !check(body[name])) throw invalidMember(name, `${name} must be ${words}.`)
  }
  for (const [name, isRefused, words] of REFUSED) {
    if (!isAbsent(body[name]) && isRefused(body[name])) throw invalidMember(name, words)
  }
}

/** The parameters that are reported as left out: unknown ones, and settings that are never forwarded. */
export function unsaidParameters(body: Body, knownNames: ReadonlySet<string>): readonly string[] {
  const unsaid = Object.keys(body).filter((name) => !knownNames.has(name) && !isAbsent(body[name]))
  const { text, truncation } = body
  // Input is never shortened. Input that does not fit is refused, whatever this member says.
  if (truncation === 'auto') unsaid.push('truncation')
  return isRecord(text) && !isAbsent(text['verbosity']) ? [...unsaid, 'text.verbosity'] : unsaid
}

export function isAbsent(value: unknown): boolean {
  return value === undefined || value === null
}

function hasLogprobs(include: unknown): boolean {
  return Array.isArray(include) && include.includes('message.output_text.logprobs')
}

function isFlag(value: unknown): boolean {
  return typeof value === 'boolean'
}

function isKey(value: unknown): boolean {
  return typeof value === 'string' && value.length <= MAX_KEY_CHARS
}
