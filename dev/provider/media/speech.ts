import { z } from 'zod'
import type { MediaAnswer } from './media-call.ts'
import { mp3Silence, pcmTone, wavTone } from './sound.ts'

const SECONDS_A_CHARACTER = 0.06
const TOKENS_A_SECOND = 21

const Body = z.looseObject({
  model: z.string(),
  input: z.string().min(1),
  voice: z.union([z.string(), z.looseObject({ id: z.string() })]),
  response_format: z.enum(['mp3', 'opus', 'aac', 'flac', 'wav', 'pcm']).nullish(),
  stream_format: z.enum(['sse', 'audio']).nullish(),
})

const TYPES = {
  mp3: 'audio/mpeg',
  opus: 'audio/ogg',
  aac: 'audio/aac',
  flac: 'audio/flac',
  wav: 'audio/wav',
  pcm: 'audio/pcm',
} as const

/** Makes a sound as long as the spoken text. Undefined when the body is not a request. */
export function makeSpeech(body: unknown): MediaAnswer | undefined {
  const request = Body.safeParse(body).data
  if (request === undefined) return undefined
  const format = request.response_format ?? 'mp3'
  const seconds = request.input.length * SECONDS_A_CHARACTER
  const bytes = format === 'wav' ? wavTone(seconds) : format === 'pcm' ? pcmTone(seconds) : mp3Silence(seconds)
  if (request.stream_format === 'sse') {
    const [read, spoken] = [Math.ceil(request.input.length / 4), Math.ceil(seconds * TOKENS_A_SECOND)]
    const usage = { input_tokens: read, output_tokens: spoken, total_tokens: read + spoken }
    return {
      contentType: 'text/event-stream',
      bytes: Buffer.from(eventText('delta', { audio: bytes.toString('base64') }) + eventText('done', { usage })),
      empty: Buffer.from(eventText('done', { usage: { ...usage, output_tokens: 0, total_tokens: read } })),
    }
  }
  return { contentType: TYPES[format], bytes, empty: Buffer.alloc(0) }
}

function eventText(kind: 'delta' | 'done', members: object): string {
  return `data: ${JSON.stringify({ type: `speech.audio.${kind}`, ...members })}\n\n`
}
