import { AppError } from '#shared/errors.ts'
import type { EncodePlan } from '#shared/protocols/encode-plan.ts'
import type { Conversation, Turn } from '#shared/protocols/middle-form/conversation.ts'
import { textOf } from '#shared/protocols/middle-form/conversation.ts'
import type { EncodedRequest } from '#shared/protocols/provider-request.ts'

export function pathOf(model: string, isStreamed: boolean): string {
  return `/models/${encodeURIComponent(model)}:${isStreamed ? 'streamGenerateContent?alt=sse' : 'generateContent'}`
}

/** Writes a conversation of texts. Throws `invalid_request` for parts of other kinds. */
export function encodeContents(conversation: Conversation, plan: EncodePlan): EncodedRequest {
  const { system, turns, sampling, stop, isStreamed } = conversation
  const body = {
    ...(system.length === 0 ? {} : { systemInstruction: { parts: [{ text: textOf(system) }] } }),
    contents: turns.map(contentOf),
    generationConfig: {
      maxOutputTokens: plan.maxOutputTokens,
      temperature: sampling.temperature,
      topP: sampling.topP,
      ...(stop.length === 0 ? {} : { stopSequences: stop }),
    },
  }
  return {
    path: pathOf(plan.offer.providerModel, isStreamed),
    body: JSON.stringify(body),
    contentType: 'application/json',
    accept: isStreamed ? 'text/event-stream' : 'application/json',
    adaptedParams: conversation.adaptedParams,
  }
}

function contentOf({ role, parts }: Turn): object {
  if (parts.some(({ kind }) => kind !== 'text')) {
    throw new AppError('invalid_request', { message: 'This provider takes texts only.', param: 'messages' })
  }
  return { role: role === 'assistant' ? 'model' : 'user', parts: [{ text: textOf(parts) }] }
}
