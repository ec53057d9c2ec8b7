import { wavTone } from '#dev/provider/media/sound.ts'
import { buildRaw } from './build-market.ts'

/** Seven and a half seconds of sound. */
export const TONE = wavTone(7.5)
export type FormFields = readonly (readonly [name: string, value: string])[]

/** A request for a transcript: the form with its fields, and a file. */
export function transcriptionForm(fields: FormFields, audio: Buffer = TONE) {
  const parts = fields.map(
    ([name, value]) => `--b\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  )
  const head =
    '--b\r\ncontent-disposition: form-data; name="file"; filename="talk.wav"\r\ncontent-type: audio/wav\r\n\r\n'
  const body = Buffer.concat([Buffer.from(head), audio, Buffer.from(`\r\n${parts.join('')}--b--\r\n`)])
  return buildRaw(body, { 'content-type': 'multipart/form-data; boundary=b' })
}
