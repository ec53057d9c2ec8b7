import type { Answer } from './answer.ts'
import { answerPlainly, errorBody, sendCompletion } from './answer.ts'
import * as replies from './faulty-replies.ts'
import * as streams from './faulty-streams.ts'

/** The fixed behaviour of a sandbox model. */
export type Behaviour = {
  /** A sentence for integrators. */
  readonly description: string
  readonly answer: Answer
}

/** The prefix of the canonical ids: `sandbox/echo`. */
export const SANDBOX_LAB = 'sandbox'

/** Every sandbox model by the name behind `sandbox/`. The catalogue's free test models are made from this table. */
export const BEHAVIOURS: Readonly<Record<string, Behaviour>> = {
  echo: {
    description: 'Answers with the last user message, word for word.',
    answer: (call) => sendCompletion(call, call.recompose({ text: call.request.question })),
  },
  'slow-first-token': { description: 'Answers after three seconds.', answer: streams.answerSlowly },
  silence: {
    description: 'Streams half of the answer, is silent for 90 seconds, then goes on.',
    answer: streams.answerWithSilence,
  },
  'cut-mid-stream': { description: 'Breaks the connection after half of the answer.', answer: streams.answerHalf },
  'cut-before-content': {
    description: 'Breaks the connection before any content.',
    answer: streams.answerNothing,
  },
  'rate-limited': {
    description: 'Answers 429 with Retry-After: 7.',
    answer: replies.answerError(429, ['Rate limit reached for requests.', 'requests', 'rate_limit_exceeded'], {
      'retry-after': '7',
    }),
  },
  overloaded: {
    description: 'Answers 529, the overload status of some providers.',
    answer: replies.answerError(529, ['Overloaded', 'overloaded_error', null]),
  },
  'server-error': {
    description: 'Answers 500.',
    answer: replies.answerError(500, ['The server had an error while processing your request.', 'server_error', null]),
  },
  unauthorized: {
    description: 'Answers 401 as if the seller’s credential were dead.',
    answer: replies.answerError(401, ['Incorrect API key provided.', 'invalid_request_error', 'invalid_api_key']),
  },
  'error-in-200': {
    description: 'Answers 200 with an error object in it.',
    answer: async ({ request, reply }) => {
      const body = errorBody('The engine is currently overloaded.', 'overloaded_error', 'engine_overloaded')
      if (!request.isStream) return reply.json(200, body)
      reply.openStream()
      await reply.event(JSON.stringify(body))
      reply.end('data: [DONE]\n\n')
    },
  },
  'html-in-200': { description: 'Answers 200 with a web page.', answer: replies.answerHtml },
  'malformed-sse': { description: 'Streams events that cannot be parsed.', answer: streams.answerMalformed },
  'split-utf8': {
    description: 'Sends characters of several bytes cut over packets, many of them of one byte.',
    answer: streams.answerInPieces,
  },
  'tool-call-whole': { description: 'Calls a tool in one piece.', answer: streams.answerToolWhole },
  'tool-call-crumbs': {
    description: 'Streams the arguments of a tool call character by character.',
    answer: streams.answerToolCrumbs(true),
  },
  'tool-call-missing-index': {
    description: 'Streams a tool call whose pieces lack their index.',
    answer: streams.answerToolCrumbs(false),
  },
  'tool-calls-one-index': {
    description: 'Streams two tool calls under one index, told apart by their ids.',
    answer: streams.answerToolsUnderOneIndex,
  },
  'kept-parts': {
    description: 'Thinks and calls a tool, and refuses the next turn without the thought and the call’s signature.',
    answer: streams.answerWithKeptParts,
  },
  'other-form': {
    description: 'Answers a call for a stream with an object, and a call for an object with a stream.',
    answer: streams.answerInOtherForm,
  },
  'usage-missing': { description: 'Reports no usage.', answer: streams.answerWithUsage(() => undefined) },
  'usage-zero': {
    description: 'Reports zero tokens for a real answer.',
    answer: streams.answerWithUsage(() => ({ prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 })),
  },
  'usage-absurd': {
    description: 'Reports negative, huge and textual token counts.',
    answer: streams.answerWithUsage(
      () => ({ prompt_tokens: -5, completion_tokens: 1e30, total_tokens: '12' }),
      (_completion, index) => [{ prompt_tokens: '12' }, { completion_tokens: -1 }, null][index % 3],
    ),
  },
  'thoughts-only': { description: 'Thinks up to its limit and says nothing.', answer: streams.answerUnseen('length') },
  'stopped-at-once': { description: 'Stops before its first word.', answer: streams.answerUnseen('stop') },
  'usage-of-document': {
    description: 'Reports 60,000 tokens of input, as for a long document.',
    answer: streams.answerWithUsage(({ usage }) => ({
      ...usage,
      prompt_tokens: 60_000,
      total_tokens: 60_000 + usage.completion_tokens,
    })),
  },
  'usage-of-cache': {
    description: 'Reports 60,000 tokens of input, 59,000 of them from its cache.',
    answer: streams.answerWithUsage(({ usage }) => ({
      ...usage,
      prompt_tokens: 60_000,
      prompt_tokens_details: { cached_tokens: 59_000 },
      total_tokens: 60_000 + usage.completion_tokens,
    })),
  },
  'usage-above-window': {
    description: 'Reports 900,000 tokens of input, more than its model reads.',
    answer: streams.answerWithUsage(({ usage }) => ({
      ...usage,
      prompt_tokens: 900_000,
      total_tokens: 900_000 + usage.completion_tokens,
    })),
  },
  'other-clock': { description: 'Says that it answers on the ninth of September 2001.', answer: streams.answerLongAgo },
  'tier-priority': {
    description: 'Says that it served the priority tier.',
    answer: streams.answerWithUsage(({ usage }) => ({ ...usage, service_tier: 'priority' })),
  },
  'tier-standard': {
    description: 'Says that it served the standard tier.',
    answer: streams.answerWithUsage(({ usage }) => ({ ...usage, service_tier: 'default' })),
  },
  'usage-of-prediction': {
    description: 'Reports a thousand predicted tokens that it has rejected.',
    answer: streams.answerWithUsage(({ usage }) => ({
      ...usage,
      completion_tokens: usage.completion_tokens + 1_000,
      total_tokens: usage.total_tokens + 1_000,
      completion_tokens_details: { rejected_prediction_tokens: 1_000 },
    })),
  },
  'usage-every-chunk': {
    description: 'Reports usage in every chunk, rising and falling.',
    answer: streams.answerWithUsage(
      ({ usage }) => usage,
      ({ usage }, index) => ({ ...usage, completion_tokens: index % 3 === 2 ? 1 : index + 1 }),
    ),
  },
  'context-overflow': {
    description: 'Answers 400: the prompt is longer than the context.',
    answer: replies.answerError(400, [
      "This model's maximum context length is 128000 tokens. However, your messages resulted in 128001 tokens.",
      'invalid_request_error',
      'context_length_exceeded',
    ]),
  },
  'bad-request': {
    description: 'Answers 400: the provider takes the request for invalid.',
    answer: replies.answerError(400, ['Invalid value for a parameter.', 'invalid_request_error', 'invalid_value']),
  },
  empty: { description: 'Answers without a single token.', answer: streams.answerEmpty },
  drip: { description: 'Streams one token a second.', answer: streams.answerInDrips },
  endless: { description: 'Never stops by itself, whatever max_tokens says.', answer: streams.answerEndlessly },
  redirect: { description: 'Answers 302 to a loopback address.', answer: replies.answerRedirect },
  hang: { description: 'Accepts the call and never answers.', answer: replies.answerNever },
  'refuse-headers': {
    description: 'Answers correctly, with headers that must not be passed on.',
    answer: replies.answerHostileHeaders,
  },
  'crlf-injection': {
    description: 'Mixes line ends, foreign events and text after the end into the stream.',
    answer: streams.answerWithInjection,
  },
  'big-line': { description: 'Sends one event of more than a megabyte.', answer: streams.answerBigLine },
  reasoning: {
    description: 'Thinks aloud before it answers.',
    answer: (call) => sendCompletion(call, call.recompose({ isReasoning: true })),
  },
  'wrong-model': {
    description: 'Names another model in its answer.',
    answer: (call) => sendCompletion(call, { ...call.completion, model: 'some-other-model-9000' }),
  },
  'not-found': {
    description: 'Answers 404: the provider does not know the model.',
    answer: replies.answerError(404, [
      'The model does not exist or you do not have access to it.',
      'invalid_request_error',
      'model_not_found',
    ]),
  },
  'payment-required': {
    description: 'Answers 402 as if the seller’s account were empty.',
    answer: replies.answerError(402, ['Insufficient credits.', 'billing_error', 'insufficient_quota']),
  },
  'no-credit': {
    description: 'Answers 400 as if the seller’s account had no credit, in the words of Anthropic.',
    answer: replies.answerBody(400, {
      type: 'error',
      error: {
        type: 'invalid_request_error',
        message:
          'Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.',
      },
    }),
  },
  'no-credit-in-200': {
    description: 'Answers 200 with an error about the credit of the seller’s account, in the form of MiniMax.',
    answer: replies.answerBody(200, {
      choices: null,
      base_resp: { status_code: 1_008, status_msg: 'insufficient balance' },
    }),
  },
  'wrong-key-in-array': {
    description: 'Answers 400 with an array that holds an error about the seller’s key, in the form of Google.',
    answer: replies.answerBody(400, [
      {
        error: {
          code: 400,
          message: 'API key not valid. Please pass a valid API key.',
          status: 'INVALID_ARGUMENT',
          details: [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'API_KEY_INVALID' }],
        },
      },
    ]),
  },
  'quota-used-up': {
    description: 'Answers 429: the quota of the seller’s account is used up.',
    answer: replies.answerError(429, [
      'You exceeded your current quota, please check your plan and billing details.',
      'insufficient_quota',
      'insufficient_quota',
    ]),
  },
  'small-limit': {
    description: 'Answers 429 to a prompt above 1 KB, for which the limit of the seller’s account is too small.',
    answer: replies.answerTooLarge,
  },
  'tools-elsewhere': {
    description: 'Answers 400: the model takes tools with thoughts on responses alone.',
    answer: replies.answerError(400, [
      "Function tools with reasoning_effort are not supported for this-model in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'.",
      'invalid_request_error',
      null,
    ]),
  },
  'unknown-member': {
    description: 'Answers 400: the provider does not know a member of the request.',
    answer: replies.answerError(400, ['Unknown parameter: extra.', 'invalid_request_error', 'unknown_parameter']),
  },
  'no-content': { description: 'Answers 204 without a body.', answer: replies.answerNoContent },
  'early-hints': {
    description: 'Sends a thousand informational answers before a good one.',
    answer: replies.answerEarlyHints,
  },
  'deep-json': {
    description: 'Sends a document nested a hundred thousand levels deep.',
    answer: replies.answerDeepJson,
  },
  'huge-id': { description: 'Answers under an id of a megabyte.', answer: replies.answerHugeId },
  'length-lie': { description: 'Announces a longer body than it sends.', answer: replies.answerLengthLie },
  'gzip-bomb': {
    description: 'Answers with a small compressed body that unpacks to a gigabyte.',
    answer: replies.answerGzipBomb,
  },
}

/** The behaviour of a model id, with or without the prefix. Undefined for a model without one. */
export function behaviourOf(model: string): Behaviour | undefined {
  const name = model.startsWith(`${SANDBOX_LAB}/`) ? model.slice(SANDBOX_LAB.length + 1) : model
  return Object.hasOwn(BEHAVIOURS, name) ? BEHAVIOURS[name] : undefined
}

/** The function that answers calls to a model. */
export function answerFor(model: string): Answer {
  return (model.startsWith(`${SANDBOX_LAB}/`) ? behaviourOf(model)?.answer : undefined) ?? answerPlainly
}

/** The table in the form of catalogue entries: `sandbox/echo`, `Sandbox: echo`, the sentence. */
export const SANDBOX_BEHAVIOUR_ENTRIES = Object.entries(BEHAVIOURS).map(([name, { description }]) => ({
  id: `${SANDBOX_LAB}/${name}`,
  title: `Sandbox: ${name}`,
  description,
}))
