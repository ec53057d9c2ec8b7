import type { InlinedSource } from '#data-plane/call.ts'
import { piecesOf } from '#data-plane/wires/inlined-data.ts'

/** Characters of base64 that are decoded at once. Four of them are three bytes. */
const STEP_CHARS = 262_144
const HEAD_CHARS = 32
const UNKNOWN_TYPE = 'application/octet-stream'

/**
 * Decodes the base64 of an image step by step, wherever its data is, so that memory never holds the whole of it twice.
 * Throws RangeError for data after its padding.
 */
export function* pictureBytes(base64: string, source: InlinedSource): Generator<Buffer> {
  let left = ''
  let isPadded = false
  for (const piece of piecesOf(base64, source)) {
    for (let at = 0; at < piece.length; at += STEP_CHARS) {
      // JSON may write a slash as `\/`.
      const step = piece.toString('latin1', at, at + STEP_CHARS).replaceAll('\\', '')
      const text = left + step
      if (/=[^=]/.test(text) || (isPadded && /[^=]/.test(step))) throw new RangeError('base64 continues after its end')
      isPadded ||= step.endsWith('=')
      const whole = text.length - (text.length % 4)
      left = text.slice(whole)
      if (whole > 0) yield Buffer.from(text.slice(0, whole), 'base64')
    }
  }
  const rest = Buffer.from(left, 'base64')
  if (rest.length > 0) yield rest
}

/** The media type of an image, by its first bytes; the type of any file for a kind that browsers do not show. */
export function pictureType(base64: string, source: InlinedSource): string {
  const [first] = piecesOf(base64, source).filter(({ length }) => length > 0)
  const head = Buffer.from(first?.toString('latin1', 0, HEAD_CHARS).replaceAll('\\', '') ?? '', 'base64')
  const text = head.toString('latin1')
  if (text.startsWith('\x89PNG')) return 'image/png'
  if (text.startsWith('\xff\xd8\xff')) return 'image/jpeg'
  if (text.startsWith('GIF8')) return 'image/gif'
  if (text.startsWith('RIFF') && text.startsWith('WEBP', 8)) return 'image/webp'
  return /^.{4}ftypavi[fs]/s.test(text) ? 'image/avif' : UNKNOWN_TYPE
}
