import { errorBody } from '#dev/provider/answer.ts'
import type { Reply } from '#dev/provider/reply.ts'
import { embed } from './embeddings.ts'
import type { MediaAnswer } from './media-call.ts'
import { actOf, sendMedia } from './media-call.ts'
import { speak } from './speech.ts'
import { transcribe } from './transcriptions.ts'

const ANSWERS: Readonly<Record<string, (body: unknown, act: string) => MediaAnswer | undefined>> = {
  '/v1/embeddings': embed,
  '/v1/audio/speech': speak,
  '/v1/audio/transcriptions': transcribe,
}

/** True when the path asks for embeddings or audio. */
export function isMediaPath(path: string): boolean {
  return Object.hasOwn(ANSWERS, path)
}

/** Answers a request for embeddings or audio with the behaviour of `model`. */
export async function serveMedia(path: string, body: unknown, model: string, reply: Reply): Promise<void> {
  const act = actOf(model)
  const answer = ANSWERS[path]?.(body, act)
  if (answer !== undefined) return sendMedia(reply, act, answer)
  reply.json(400, errorBody('The body is no such request.', 'invalid_request_error', null))
}
