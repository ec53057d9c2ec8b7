import { z } from 'zod'
import type { MediaAnswer } from './media-call.ts'
import { secondsOf } from './sound.ts'

const JSON_TYPE = 'application/json'
const TEXT_TYPE = 'text/plain; charset=utf-8'
const TOKENS_A_SECOND = 10
const STREAM_TYPE = 'text/event-stream; charset=utf-8'

/** Members that OpenAI's clients require in a segment. */
const SEGMENT = { tokens: [50_364], temperature: 0, avg_logprob: -0.3, compression_ratio: 0.9, no_speech_prob: 0.01 }

/** A received form: its fields, repeated ones as a list, and its file. */
export const TranscriptionForm = z.looseObject({
  model: z.string(),
  file: z.object({ name: z.string(), bytes: z.instanceof(Buffer) }),
  response_format: z.enum(['json', 'text', 'srt', 'verbose_json', 'vtt']).optional(),
  stream: z.enum(['true', 'false']).optional(),
  prompt: z.string().optional(),
})

type Form = z.infer<typeof TranscriptionForm>

/** Reads a form with the platform's own parser. Undefined when the body is not a form. */
export async function readForm(contentType: string, bytes: Buffer): Promise<Record<string, unknown> | undefined> {
  try {
    const form = await new Response(new Uint8Array(bytes), { headers: { 'content-type': contentType } }).formData()
    const entries = new Map<string, unknown>()
    for (const name of new Set(form.keys())) {
      const values = await Promise.all(
        form
          .getAll(name)
          .map(async (value) =>
            typeof value === 'string'
              ? value
              : { name: value.name, type: value.type, bytes: Buffer.from(await value.arrayBuffer()) },
          ),
      )
      entries.set(name, values.length === 1 ? values[0] : values)
    }
    return Object.fromEntries(entries)
  } catch {
    return undefined
  }
}

/** Makes a transcript that names its sources. Undefined when the form is not a request. */
export function transcribe(form: unknown, act: string): MediaAnswer | undefined {
  const request = TranscriptionForm.safeParse(form).data
  if (request === undefined) return undefined
  const seconds = secondsOf(request.file.bytes)
  const text = act === 'empty' ? '' : `This was heard in ${request.file.name}.`
  const usage = /transcribe$/.test(request.model) ? tokensOf(request, seconds, text, act) : usageOf(seconds, act)
  if (request.stream === 'true') return streamOf(text, usage)
  switch (request.response_format) {
    case 'text':
      return plain(`${text}\n`)
    case 'srt':
      return plain(`1\n00:00:00,000 --> ${stamp(seconds, ',')}\n${text}\n\n`)
    case 'vtt':
      return plain(`WEBVTT\n\n00:00:00.000 --> ${stamp(seconds, '.')}\n${text}\n\n`)
    case 'verbose_json':
      return json({
        task: 'transcribe',
        language: 'english',
        duration: seconds,
        text,
        segments: [{ id: 0, seek: 0, start: 0, end: seconds, text, ...SEGMENT }],
        words: [],
        ...usage,
      })
    default:
      return json({ text, ...usage })
  }
}

/** The usage of OpenAI's models that are billed by tokens. */
function tokensOf({ prompt = '' }: Form, seconds: number, text: string, act: string): object {
  if (act === 'usage-missing') return {}
  const details = { text_tokens: Math.ceil(prompt.length / 4), audio_tokens: Math.ceil(seconds * TOKENS_A_SECOND) }
  const input = details.text_tokens + details.audio_tokens
  const output = act === 'usage-absurd' ? 1e30 : Math.ceil(text.length / 4)
  const tokens = { input_tokens: input, output_tokens: output, total_tokens: input + output }
  return { usage: { type: 'tokens', ...tokens, input_token_details: details } }
}

function usageOf(seconds: number, act: string): object {
  if (act === 'usage-missing') return {}
  if (act === 'usage-zero') return { usage: { type: 'duration', seconds: 0 } }
  if (act === 'usage-absurd') return { usage: { type: 'duration', seconds: 1e30 } }
  return { usage: { type: 'duration', seconds: Math.ceil(seconds) } }
}

function json(body: object): MediaAnswer {
  const bytes = Buffer.from(JSON.stringify(body))
  return { contentType: JSON_TYPE, bytes, empty: bytes }
}

function plain(text: string): MediaAnswer {
  return { contentType: TEXT_TYPE, bytes: Buffer.from(text), empty: Buffer.alloc(0) }
}

function streamOf(text: string, usage: object): MediaAnswer {
  const deltas = text.split(/(?<= )/).map((delta) => ({ type: 'transcript.text.delta', delta }))
  const events = [...deltas, { type: 'transcript.text.done', text, ...usage }]
  const bytes = Buffer.from(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''))
  return { contentType: STREAM_TYPE, bytes, empty: Buffer.from('') }
}

function stamp(seconds: number, point: string): string {
  return new Date(Math.round(seconds * 1_000)).toISOString().slice(11, 23).replace('.', point)
}
