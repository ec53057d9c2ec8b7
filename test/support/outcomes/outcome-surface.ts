import { wavTone } from '#dev/provider/media/sound.ts'
import type { OutcomeRow } from './outcome-rows.ts'

export type SurfaceRequest = {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | FormData
}

const JSON_HEADERS = { 'content-type': 'application/json' }
const AUDIO_SECONDS = 2
/** The path where long jobs are submitted and polled. */
export const JOB_PATH = '/v1/video/generations'

/** The request of a row of the table. */
export function requestOf(model: string, row: OutcomeRow): SurfaceRequest {
  const json = (path: string, body: object): SurfaceRequest => ({
    path,
    headers: JSON_HEADERS,
    body: JSON.stringify({ model, ...body, ...row.body }),
  })
  if (row.job !== undefined) return json(JOB_PATH, { prompt: 'A quiet sea.', seconds: 5 })
  switch (row.surface) {
    case 'embeddings':
      return json('/v1/embeddings', { input: ['A few words.', 'And some more.'] })
    case 'speech':
      return json('/v1/audio/speech', { voice: 'alloy', input: 'Say a few words.', response_format: 'wav' })
    case 'transcriptions':
      return { path: '/v1/audio/transcriptions', headers: {}, body: formOf(model, row) }
    case 'pictures':
      return json('/v1/images/generations', {
        prompt: 'A few boats.',
        quality: 'low',
        size: '64x64',
        ...(row.isStreamed === true && { stream: true, partial_images: 2 }),
      })
    default:
      return json('/v1/chat/completions', {
        stream: row.isStreamed === true,
        messages: [{ role: 'user', content: 'Say a few words.' }],
      })
  }
}

function formOf(model: string, row: OutcomeRow): FormData {
  const form = new FormData()
  form.append('file', new Blob([new Uint8Array(wavTone(row.audioSeconds ?? AUDIO_SECONDS))]), 'talk.wav')
  form.append('model', model)
  if (row.isStreamed === true) form.append('stream', 'true')
  return form
}

/** Reads a sound as far as it arrives. */
export async function readSound(response: Response): Promise<{ readonly bytes: number; readonly isBroken: boolean }> {
  const reader = response.body?.getReader()
  let bytes = 0
  try {
    for (let part = await reader?.read(); part?.done === false; part = await reader?.read()) bytes += part.value.length
    return { bytes, isBroken: false }
  } catch {
    return { bytes, isBroken: true }
  }
}
