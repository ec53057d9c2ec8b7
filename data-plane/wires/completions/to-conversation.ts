import { ROUTING_FIELDS } from '#data-plane/wires/hints.ts'
import { readSampling, readStop, SAMPLING_FIELDS, wordOf } from '#data-plane/wires/sampling.ts'
import type { Conversation } from '#shared/protocols/middle-form/conversation.ts'
import { PLAIN_CONVERSATION } from '#shared/protocols/middle-form/conversation.ts'
import type { CompletionsRequest } from './read-request.ts'

/** Members that the middle form holds, that decide the form of the answer, or that ask for nothing. */
const SAID: ReadonlySet<string> = new Set([
  'model',
  'prompt',
  'max_tokens',
  'max_completion_tokens',
  'stream',
  'stream_options',
  'stop',
  'user',
  'n',
  'best_of',
  'echo',
  'suffix',
  'logprobs',
  ...SAMPLING_FIELDS,
])

/**
 * A prompt as the message of a user, which every seller of text can answer. Parameters that the message cannot hold are
 * named.
 */
export function toConversation(request: CompletionsRequest, prompt: string): Conversation {
  const { json, perPrompt, maxTokens, isStreamed } = request
  const { body } = json
  return {
    ...PLAIN_CONVERSATION,
    turns: [{ role: 'user', parts: [{ kind: 'text', text: prompt }] }],
    answers: perPrompt,
    sampling: readSampling(body),
    stop: readStop(body['stop']),
    user: wordOf(body['user']),
    maxTokens,
    isStreamed,
    spelling: { max_completion_tokens: 'max_tokens' },
    adaptedParams: Object.keys(body).filter(
      (name) => !SAID.has(name) && !ROUTING_FIELDS.has(name) && body[name] !== null,
    ),
  }
}
