import { z } from 'zod'
import type { SampleChatRequest } from './chat-request.ts'
import { readChatRequest } from './chat-request.ts'
import type { Completion } from './completion.ts'
import { complete, usageOf } from './completion.ts'
import type { Reply } from './reply.ts'

const TextsSchema = z.looseObject({
  model: z.string(),
  prompt: z.union([z.string(), z.array(z.string()).min(1)]),
  n: z.number().int().min(1).max(128).nullish(),
  stream: z.boolean().nullish(),
  echo: z.boolean().nullish(),
  max_tokens: z.number().int().positive().nullish(),
  stop: z.union([z.string(), z.array(z.string())]).nullish(),
})

/** A request of the older protocol: texts to continue. */
export type TextsRequest = z.infer<typeof TextsSchema>

/** Reads a request of OpenAI's legacy completions. Undefined when the body is not one. */
export function readTextsRequest(body: unknown): TextsRequest | undefined {
  return TextsSchema.safeParse(body).data
}

/** The chat request with the same content as one prompt. */
export function chatOfText({ model, max_tokens, stop, stream }: TextsRequest, prompt: string): object {
  return { model, max_tokens, stop, stream, messages: [{ role: 'user', content: prompt }] }
}

/** Responds to every prompt as often as requested. The texts of a stream come in turns. */
export async function answerTexts(request: TextsRequest, now: number, reply: Reply): Promise<void> {
  const { prompt, n } = request
  const prompts = (typeof prompt === 'string' ? [prompt] : prompt).flatMap((text) =>
    Array.from({ length: n ?? 1 }, () => text),
  )
  const completions = prompts.map((text) => completionOf(request, text, now))
  const head = { id: `cmpl-${now}`, object: 'text_completion', created: now, model: request.model }
  if (request.stream !== true) {
    const choices = completions.map((completion, index) => ({
      index,
      text: shownText(request, prompts[index] ?? '', completion),
      logprobs: null,
      finish_reason: completion.finishReason,
    }))
    return reply.json(200, { ...head, choices, usage: sumOf(completions) })
  }
  reply.openStream()
  const frame = (choices: readonly object[], more: object = {}) =>
    reply.event(JSON.stringify({ ...head, choices, ...more }))
  const longest = Math.max(...completions.map(({ content }) => content.length))
  for (let at = 0; at < longest; at++) {
    for (const [index, { content }] of completions.entries()) {
      const text = content[at]
      if (text !== undefined) await frame([{ index, text, logprobs: null, finish_reason: null }])
    }
  }
  for (const [index, { finishReason }] of completions.entries()) {
    await frame([{ index, text: '', logprobs: null, finish_reason: finishReason }])
  }
  await frame([], { usage: sumOf(completions) })
  reply.end('data: [DONE]\n\n')
}

function completionOf(request: TextsRequest, prompt: string, now: number): Completion {
  const asked: SampleChatRequest | undefined = readChatRequest(chatOfText(request, prompt))
  if (asked === undefined) throw new Error('a prompt that is no question')
  return complete(asked, { cachedTokens: 0, now, ...(request.model.endsWith('/echo') ? { text: prompt } : {}) })
}

function shownText({ echo }: TextsRequest, prompt: string, { content }: Completion): string {
  return `${echo === true ? prompt : ''}${content.join('')}`
}

function sumOf(completions: readonly Completion[]): object {
  const sum = (count: (completion: Completion) => number) =>
    completions.reduce((total, completion) => total + count(completion), 0)
  return usageOf(
    sum(({ usage }) => usage.prompt_tokens),
    sum(({ usage }) => usage.completion_tokens),
    { cached: 0, reasoning: 0 },
  )
}
