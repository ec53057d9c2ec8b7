/**
 * A text model as an operator imports it. It costs 0.25 US dollars per million input tokens and 2 per million output
 * tokens.
 */
export function textModel(name: string, changes: object = {}) {
  return {
    id: `lab/${name}`,
    canonical: name,
    aliases: [],
    name,
    created: 1_760_000_000,
    description: '',
    context_length: 128_000,
    architecture: { input_modalities: ['text'], output_modalities: ['text'] },
    pricing: { prompt: '0.00000025', completion: '0.000002' },
    top_provider: { max_completion_tokens: 16_000 },
    supported_parameters: ['temperature'],
    supported_features: ['streaming'],
    endpoints: ['chat' as const],
    ...changes,
  }
}

/** Facts that turn a model into one that makes videos, at a price in US dollars per second. */
export function filmFacts(usdASecond: string) {
  return {
    architecture: { input_modalities: ['text'], output_modalities: ['video'] },
    pricing: { prompt: '0', completion: '0' },
    unit_pricing: { seconds: usdASecond },
    supported_features: [],
    endpoints: ['video' as const],
  }
}
