import type { JsonBody, RawRequest } from '#data-plane/call.ts'
import type { Routing } from '#data-plane/wires/hints.ts'
import { readRouting } from '#data-plane/wires/hints.ts'
import { readJsonBody, readModelName } from '#data-plane/wires/json-body.ts'
import { checkParameter, readMaxTokens } from '#data-plane/wires/parameters.ts'
import { AppError } from '#shared/errors.ts'
import { mustBe } from '#shared/invalid-member.ts'
import { isGiven } from '#shared/json-members.ts'
import { COMPLETIONS_MEMBERS } from '#shared/members/of-text.ts'
import type { AskedMembers } from '#shared/members/read-members.ts'
import { readMembers } from '#shared/members/read-members.ts'

/** Limits of the legacy parameters. */
const MAX_CHOICES = 128
const MAX_PROMPT_CHARS = 2_097_152
const MAX_LOGPROBS = 5

/** Parameters that this wire checks itself: the chat wire lacks them, or gives them another meaning. */
const OWN_CHECKS: ReadonlySet<string> = new Set(['logprobs', 'echo', 'suffix', 'best_of', 'prompt'])

/** A parsed completions request with its own text, and the facts for routing. */
export type CompletionsRequest = Routing & {
  readonly json: JsonBody
  readonly model: string
  readonly prompts: readonly string[]
  readonly isStreamed: boolean
  readonly maxTokens: number | undefined
  /** The number of answers to each prompt; `choices` is the number for all prompts together. */
  readonly perPrompt: number
  readonly choices: number
  /** A member that only the completions protocol has. A call with one cannot become a conversation. */
  readonly nativeMember: string | undefined
  readonly wantsLogprobs: boolean
  readonly promptBytes: number
  readonly promptChars: number
  readonly askedMembers: AskedMembers
}

/** Reads the body of a completions request. Throws AppError: `invalid_json`, `invalid_request`, `request_too_large`. */
export function readCompletionsRequest(raw: RawRequest): CompletionsRequest {
  const json = readJsonBody(raw)
  const { body } = json
  const model = readModelName(body['model'])
  for (const name in body) if (!OWN_CHECKS.has(name)) checkParameter(name, body[name])
  const prompts = readPrompts(body['prompt'])
  const perPrompt = typeof body['n'] === 'number' ? body['n'] : 1
  const choices = prompts.length * perPrompt
  if (choices > MAX_CHOICES) throw mustBe('prompt', `at most ${MAX_CHOICES} answers in one call, n for each prompt`)
  checkBestOf(body['best_of'], perPrompt)
  const wantsLogprobs = readLogprobs(body['logprobs'])
  const native = [
    [wantsLogprobs, 'logprobs'],
    [readEcho(body['echo']), 'echo'],
    [readSuffix(body['suffix']), 'suffix'],
  ] as const
  return {
    json,
    model,
    prompts,
    isStreamed: body['stream'] === true,
    maxTokens: readMaxTokens(body),
    perPrompt,
    choices,
    nativeMember: native.find(([isAsked]) => isAsked)?.[1],
    wantsLogprobs,
    promptBytes: sum(prompts, (prompt) => Buffer.byteLength(prompt)) + bytesOf(body['suffix']),
    askedMembers: readMembers(COMPLETIONS_MEMBERS, body),
    promptChars: sum(prompts, ({ length }) => length),
    ...readRouting(body, raw),
  }
}

/** Reads a text or a list of texts. Lists of tokens are refused, because the tokenizer is unknown here. */
function readPrompts(prompt: unknown): readonly string[] {
  const list: readonly unknown[] = Array.isArray(prompt) ? prompt : [prompt]
  if (list.length === 0 || list.length > MAX_CHOICES) throw mustBe('prompt', `a text or 1 to ${MAX_CHOICES} texts`)
  return list.map((text) => {
    if (typeof text !== 'string') throw mustBe('prompt', 'a text or a list of texts; tokens are not taken')
    if (text.length > MAX_PROMPT_CHARS) {
      throw new AppError('request_too_large', {
        message: `A prompt has at most ${MAX_PROMPT_CHARS} characters.`,
        param: 'prompt',
      })
    }
    return text
  })
}

/** With `best_of` a provider makes more answers than it returns. The market does not sell such calls. */
function checkBestOf(value: unknown, perPrompt: number): void {
  if (isGiven(value) && value !== perPrompt) throw mustBe('best_of', 'absent or the same as n')
}

function readLogprobs(value: unknown): boolean {
  if (!isGiven(value) || value === false) return false
  const isCount = typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= MAX_LOGPROBS
  if (!isCount) throw mustBe('logprobs', `a whole number from 0 to ${MAX_LOGPROBS}`)
  return true
}

function readEcho(value: unknown): boolean {
  if (!isGiven(value)) return false
  if (typeof value !== 'boolean') throw mustBe('echo', 'true or false')
  return value
}

function readSuffix(value: unknown): boolean {
  if (!isGiven(value)) return false
  if (typeof value !== 'string' || value.length > MAX_PROMPT_CHARS) throw mustBe('suffix', 'a text')
  return value !== ''
}

function bytesOf(text: unknown): number {
  return typeof text === 'string' ? Buffer.byteLength(text) : 0
}

function sum(prompts: readonly string[], sizeOf: (prompt: string) => number): number {
  return prompts.reduce((total, prompt) => total + sizeOf(prompt), 0)
}
