import type { SampleChatRequest } from './chat-request.ts'
import type { Completion } from './completion.ts'
import { choiceChunks, closingChunk, usageChunk, wholeBody } from './completion.ts'
import type { Reply } from './reply.ts'

/** A call to a behaviour. */
export type SampleCall = {
  readonly request: SampleChatRequest
  readonly completion: Completion
  /** Makes the same answer again with another text or with reasoning. */
  readonly recompose: (changes: { readonly text?: string; readonly isReasoning?: boolean }) => Completion
  readonly reply: Reply
}

export type Answer = (call: SampleCall) => Promise<void>

/** Answers like a working provider. */
export const answerPlainly: Answer = (call) => sendCompletion(call, call.completion)

/** Sends an answer whole or as a stream, as requested. */
export async function sendCompletion({ request, reply }: SampleCall, completion: Completion): Promise<void> {
  if (!request.isStream) return reply.json(200, wholeBody(completion))
  reply.openStream()
  // The whole answer is one write, because a model that is not slow on purpose should cost nothing.
  const usage = request.wantsUsage ? [usageChunk(completion)] : []
  const chunks = [...choiceChunks(completion), ...usage, '[DONE]']
  reply.end(chunks.map((chunk) => `data: ${chunk}\n\n`).join(''))
}

/** Ends a stream with the finish reason, the usage if requested, and the end mark. */
export async function sendEnding({ request, reply }: SampleCall, completion: Completion): Promise<void> {
  await reply.event(closingChunk(completion))
  if (request.wantsUsage) await reply.event(usageChunk(completion))
  reply.end('data: [DONE]\n\n')
}

/** An error in OpenAI's envelope. */
export function errorBody(
  message: string,
  type: string,
  code: string | null,
): { readonly error: Record<string, unknown> } {
  return { error: { message, type, param: null, code } }
}
