import fc from 'fast-check'

/** The parameters of the tool in a conversation, and the schema of its answer. */
export const SCHEMA = { type: 'object', properties: { city: { type: 'string' }, days: { type: 'integer' } } }
const text = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 30 })
const value = fc.dictionary(fc.stringMatching(/^[a-z]{1,6}$/), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 })
/** A key `__proto__` would change the prototype of the objects that the comparison parses. */
const input = value.filter((given) => !JSON.stringify(given).includes('__proto__'))
const call = fc.record({ name: fc.stringMatching(/^[a-z_]{1,12}$/), input, result: fc.oneof(text, input) })
/** A user's text, and the model's answer: text, calls with their results, or both. */
const exchange = fc.record({
  said: text,
  picture: fc.option(fc.constant('iVBORw0KGgo='), { nil: undefined }),
  answered: fc.option(text, { nil: undefined }),
  calls: fc.array(call, { maxLength: 3 }),
})
/** A conversation with every optional member of a request. */
export const talk = fc.record({
  system: fc.option(text, { nil: undefined }),
  exchanges: fc.array(exchange, { maxLength: 3 }),
  question: text,
  hasTools: fc.boolean(),
  choice: fc.constantFrom('auto', 'none', 'required', undefined),
  temperature: fc.option(fc.constantFrom(0, 0.5, 2), { nil: undefined }),
  topP: fc.option(fc.constantFrom(0.1, 1), { nil: undefined }),
  seed: fc.option(fc.nat({ max: 2_147_483_647 }), { nil: undefined }),
  stops: fc.uniqueArray(text, { maxLength: 4 }),
  effort: fc.constantFrom('minimal', 'low', 'medium', 'high', undefined),
  hasFormat: fc.boolean(),
  isPriority: fc.boolean(),
  isStreamed: fc.boolean(),
})
export type Talk = typeof talk extends fc.Arbitrary<infer Value> ? Value : never

/** The signature of the first call of an exchange. */
export const signature = (at: number) => Buffer.from(`signature ${at}`).toString('base64')
export const idOf = (at: number, place: number) => `call_${at}_${place}`

/** The conversation as a request of the chat wire. */
export function asChat(model: string, { system, exchanges, question, ...rest }: Talk) {
  const messages = exchanges.flatMap(({ said, picture, answered, calls }, at) => [
    {
      role: 'user',
      content: [
        { type: 'text', text: said },
        ...(picture ? [{ type: 'image_url', image_url: { url: `data:image/png;base64,${picture}` } }] : []),
      ],
    },
    ...(answered === undefined && calls.length === 0
      ? []
      : [
          {
            role: 'assistant',
            content: answered ?? null,
            ...(calls.length > 0 && {
              tool_calls: calls.map((given, place) => ({
                id: idOf(at, place),
                type: 'function',
                function: { name: given.name, arguments: JSON.stringify(given.input) },
                ...(place === 0 && { extra_content: { google: { thought_signature: signature(at) } } }),
              })),
            }),
          },
        ]),
    ...calls.map(({ result }, place) => ({
      role: 'tool',
      tool_call_id: idOf(at, place),
      content: typeof result === 'string' ? result : JSON.stringify(result),
    })),
  ])
  return {
    model,
    max_tokens: 10_000,
    messages: [
      ...(system === undefined ? [] : [{ role: 'system', content: system }]),
      ...messages,
      { role: 'user', content: question },
    ],
    stream: rest.isStreamed,
    ...(rest.hasTools && {
      tools: [{ type: 'function', function: { name: 'weather', description: 'Weather.', parameters: SCHEMA } }],
      ...(rest.choice && { tool_choice: rest.choice }),
    }),
    temperature: rest.temperature,
    top_p: rest.topP,
    seed: rest.seed,
    ...(rest.stops.length > 0 && { stop: rest.stops }),
    reasoning_effort: rest.effort,
    ...(rest.hasFormat && { response_format: { type: 'json_schema', json_schema: { name: 'a', schema: SCHEMA } } }),
    ...(rest.isPriority && { service_tier: 'priority' }),
  }
}
