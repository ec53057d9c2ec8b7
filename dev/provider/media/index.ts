import { errorBody } from '#dev/provider/answer.ts'
import type { Reply } from '#dev/provider/reply.ts'
import { embed } from './embeddings.ts'
import { draw } from './images.ts'
import type { MediaAnswer } from './media-call.ts'
import { actOf, sendMedia } from './media-call.ts'
import { makeSpeech } from './speech.ts'
import { transcribe } from './transcriptions.ts'

const ANSWERS: Readonly<Record<string, (body: unknown, act: string, origin: string) => MediaAnswer | undefined>> = {
  '/v1/embeddings': embed,
  '/v1/audio/speech': makeSpeech,
  '/v1/audio/transcriptions': transcribe,
  '/v1/images/generations': draw,
  '/v1/images/edits': draw,
}

const MISSING: Readonly<Record<string, string>> = {
  '/v1/embeddings': 'input',
  '/v1/audio/speech': 'input',
  '/v1/audio/transcriptions': 'file',
  '/v1/images/generations': 'prompt',
  '/v1/images/edits': 'prompt',
}

/** True for paths of embeddings, audio or pictures. */
export function isMediaPath(path: string): boolean {
  return Object.hasOwn(ANSWERS, path)
}

/** A request for media: the behaviour is that of `model`, and files are below `origin`. */
export type MediaRequest = {
  readonly path: string
  readonly body: unknown
  readonly model: string
  readonly origin: string
}

/** Responds to a request for embeddings, audio or pictures. */
export async function serveMedia({ path, body, model, origin }: MediaRequest, reply: Reply): Promise<void> {
  const act = actOf(model)
  const answer = ANSWERS[path]?.(body, act, origin)
  if (answer !== undefined) return sendMedia(reply, act, answer)
  // The required member of each of these requests, under OpenAI's name.
  const missing = MISSING[path] ?? 'model'
  const { error } = errorBody(`Missing required parameter: '${missing}'.`, 'invalid_request_error', null)
  reply.json(400, { error: { ...error, param: missing } })
}
