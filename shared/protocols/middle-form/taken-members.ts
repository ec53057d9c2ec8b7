import type { Model } from '#shared/catalog/model.ts'

/**
 * OpenAI's parameters that are forwarded only to models whose entry lists them, each with the names that count as
 * listed.
 */
const GATED: ReadonlyMap<string, readonly string[]> = new Map([
  ...[
    'temperature',
    'top_p',
    'top_k',
    'top_a',
    'min_p',
    'frequency_penalty',
    'presence_penalty',
    'repetition_penalty',
    'seed',
    'stop',
    'logit_bias',
    'logprobs',
    'top_logprobs',
    'reasoning_effort',
    'reasoning',
    'verbosity',
    'web_search_options',
  ].map((name): [string, readonly string[]] => [name, [name]]),
  ['tools', ['tools']],
  ['tool_choice', ['tools']],
  ['parallel_tool_calls', ['tools']],
  ['functions', ['tools']],
  ['function_call', ['tools']],
  ['response_format', ['response_format', 'structured_outputs']],
])

/** True when a model accepts a parameter, by its catalogue entry and under OpenAI's name. */
export function takesMember(model: Model, key: string): boolean {
  // The parameter is never forwarded, also where a model lists it.
  if (key === 'include_reasoning') return false
  const names = GATED.get(key)
  if (names === undefined) return true
  // An entry without a list forbids nothing.
  return model.parameters.length === 0 || names.some((name) => model.parameters.includes(name))
}
