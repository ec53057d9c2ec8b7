/** OpenAI's names of the numeric sampling parameters, each with its member in the middle form. */
export const SAMPLING_KNOBS = [
  ['temperature', 'temperature'],
  ['top_p', 'topP'],
  ['top_k', 'topK'],
  ['min_p', 'minP'],
  ['seed', 'seed'],
  ['frequency_penalty', 'frequencyPenalty'],
  ['presence_penalty', 'presencePenalty'],
  ['repetition_penalty', 'repetitionPenalty'],
] as const

/** Sampling parameters that Claude's protocols lack, each with its member in the middle form. */
export const UNKNOWN_TO_CLAUDE = [
  ['seed', 'seed'],
  ['min_p', 'minP'],
  ['frequency_penalty', 'frequencyPenalty'],
  ['presence_penalty', 'presencePenalty'],
  ['repetition_penalty', 'repetitionPenalty'],
  ['logit_bias', 'logitBias'],
] as const
