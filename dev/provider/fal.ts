import type { IncomingHttpHeaders } from 'node:http'
import { z } from 'zod'
import type { MediaAnswer } from './media/media-call.ts'
import { actOf, sendMedia } from './media/media-call.ts'
import { pngOf } from './media/png.ts'
import type { Reply } from './reply.ts'

const PREFIX = '/v1/'
const GOOD_KEY = /^Key (?!sk-bad)\S+$/

const Body = z.looseObject({
  prompt: z.string().min(1),
  image_size: z.object({ width: z.number().int().positive(), height: z.number().int().positive() }),
  num_images: z.number().int().min(1).default(1),
  sync_mode: z.boolean().default(false),
})

/** True for a call with a key in fal's scheme. */
export function isFalCall({ authorization = '' }: IncomingHttpHeaders): boolean {
  return authorization.startsWith('Key ')
}

/** The model in a path: all of it. */
export function falModelOf(path: string): string {
  return path.startsWith(PREFIX) ? decodeURIComponent(path.slice(PREFIX.length)) : ''
}

/** A call of fal's synchronous endpoints: the behaviour is that of `model`, and files are below `origin`. */
export type FalCall = {
  readonly method: string
  readonly headers: IncomingHttpHeaders
  readonly body: unknown
  readonly model: string
  readonly origin: string
}

/** Draws pictures with fal's members. */
export async function serveFal({ method, headers, body, model, origin }: FalCall, reply: Reply): Promise<void> {
  if (!GOOD_KEY.test(headers.authorization ?? '')) return reply.json(401, { detail: 'Cannot access application.' })
  if (method !== 'POST') return reply.json(405, { detail: 'Method Not Allowed' })
  const request = Body.safeParse(body)
  if (!request.success) return reply.json(422, { detail: request.error.issues.map(faultOf) })
  const { prompt, image_size: size, num_images: count, sync_mode: isWhole } = request.data
  const images = Array.from({ length: count }, (_, index) => {
    const name = `${prompt} ${index}`
    const data = () => `data:image/png;base64,${pngOf(name, size.width, size.height).toString('base64')}`
    const url = `${origin}/files/${size.width}x${size.height}/${encodeURIComponent(name.slice(0, 60))}.png`
    return { url: isWhole ? data() : url, ...size, content_type: 'image/png' }
  })
  await sendMedia(
    reply,
    actOf(model),
    answerOf({ images, seed: 42, has_nsfw_concepts: images.map(() => false), prompt }),
  )
}

function faultOf({ path, message }: z.core.$ZodIssue) {
  return { loc: ['body', ...path.map(String)], msg: message, type: 'value_error' }
}

function answerOf(answer: Readonly<Record<string, unknown>>): MediaAnswer {
  return {
    contentType: 'application/json',
    bytes: Buffer.from(JSON.stringify(answer)),
    empty: Buffer.from(JSON.stringify({ ...answer, images: [] })),
  }
}
