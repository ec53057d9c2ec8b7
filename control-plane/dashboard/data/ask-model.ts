import { answerOf, at } from './answer-of.ts'

const ANSWER_MS = 120_000

/** The answer of a call, with its cost. */
export type AnswerFacts = {
  readonly text: string
  readonly costMicro: number | undefined
  readonly provider: string | null
  readonly tookMs: number
}

type Question = { readonly model: string; readonly key: string; readonly prompt: string; readonly maxTokens: number }

/** Makes one chat call with a key of the reader. Throws an Error with the message of the market. */
export async function askModel({ model, key, prompt, maxTokens }: Question): Promise<AnswerFacts> {
  const began = performance.now()
  const { body, headers } = await answerOf('/v1/chat/completions', {
    key,
    body: { model, max_tokens: maxTokens, messages: [{ role: 'user', content: prompt }] },
    withinMs: ANSWER_MS,
  })
  const text = at(body, 'choices', 0, 'message', 'content')
  const cost = at(body, 'usage', 'buyer_cost_micro')
  return {
    text: typeof text === 'string' ? text : 'The answer has no text.',
    costMicro: typeof cost === 'number' ? cost : undefined,
    provider: headers.get('x-mkt-provider-family'),
    tookMs: performance.now() - began,
  }
}
