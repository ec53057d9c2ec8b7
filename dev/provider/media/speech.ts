import { z } from 'zod'
import type { MediaAnswer } from './media-call.ts'
import { mp3Silence, pcmTone, wavTone } from './sound.ts'

const SECONDS_A_CHARACTER = 0.06

const Body = z.looseObject({
  model: z.string(),
  input: z.string().min(1),
  voice: z.union([z.string(), z.looseObject({ id: z.string() })]),
  response_format: z.enum(['mp3', 'opus', 'aac', 'flac', 'wav', 'pcm']).nullish(),
})

const TYPES = {
  mp3: 'audio/mpeg',
  opus: 'audio/ogg',
  aac: 'audio/aac',
  flac: 'audio/flac',
  wav: 'audio/wav',
  pcm: 'audio/pcm',
} as const

/** Makes a sound as long as the spoken text. Undefined when the body is no request. */
export function makeSpeech(body: unknown): MediaAnswer | undefined {
  const request = Body.safeParse(body).data
  if (request === undefined) return undefined
  const format = request.response_format ?? 'mp3'
  const seconds = request.input.length * SECONDS_A_CHARACTER
  const bytes = format === 'wav' ? wavTone(seconds) : format === 'pcm' ? pcmTone(seconds) : mp3Silence(seconds)
  return { contentType: TYPES[format], bytes, empty: Buffer.alloc(0) }
}
