import { AppError } from '#shared/errors.ts'

/** A value of a form, as text. */
export type FormField = { readonly name: string; readonly value: string }

/** A file of a form; `bytes` are a view of the body, not a copy. */
export type FormFile = {
  readonly name: string
  readonly filename: string
  readonly contentType: string
  readonly bytes: Buffer
}

/** A form as it was sent. `boundary` occurs in none of its parts. */
export type Form = {
  readonly boundary: string
  readonly fields: readonly FormField[]
  readonly files: readonly FormFile[]
}

const MAX_PARTS = 64
const MAX_PART_HEADER_BYTES = 4_096
const MAX_FIELD_BYTES = 65_536
const BOUNDARY = /^[\w'()+,\-./:=? ]{0,69}[\w'()+,\-./:=?]$/
const FIELD_NAME = /^[\w.-]{1,64}(?:\[[\w.-]{0,64}\])?$/
const CRLF = '\r\n'
const DASH = 45

/**
 * Parses a form (RFC 7578) from its complete bytes. Throws AppError `unsupported_media_type` for another content type
 * and `invalid_request` for a form that is cut, too large in its parts, or malformed.
 */
export function readForm(contentType: string, body: Buffer): Form {
  const boundary = boundaryOf(contentType)
  const delimiter = `${CRLF}--${boundary}`
  const fields: FormField[] = []
  const files: FormFile[] = []
  let at = firstPart(body, boundary)
  while (!isClosing(body, at)) {
    if (fields.length + files.length === MAX_PARTS) throw invalid(`The form has more than ${MAX_PARTS} parts.`)
    const start = lineEnd(body, at)
    const head = readHead(body, start)
    const end = body.indexOf(delimiter, head.end - CRLF.length, 'latin1')
    if (end < 0) throw cutForm()
    const bytes = body.subarray(head.end, Math.max(head.end, end))
    if (head.filename === undefined) fields.push({ name: head.name, value: textOf(head.name, bytes) })
    else files.push({ name: head.name, filename: head.filename, contentType: head.contentType, bytes })
    at = end + delimiter.length
  }
  return { boundary, fields, files }
}

/** The boundary of a form's content type; any other content type cannot be parsed as a form. */
function boundaryOf(contentType: string): string {
  const [essence = ''] = contentType.split(';', 1)
  const match = /;\s*boundary=(?:"([^"]*)"|([^\s;"]+))/i.exec(contentType)
  const boundary = match?.[1] ?? match?.[2] ?? ''
  if (essence.trim().toLowerCase() !== 'multipart/form-data' || !BOUNDARY.test(boundary)) {
    throw new AppError('unsupported_media_type', { message: 'The body must be multipart/form-data with a boundary.' })
  }
  return boundary
}

/** The end of the first delimiter: text before it means nothing (RFC 2046, 5.1.1). */
function firstPart(body: Buffer, boundary: string): number {
  const opening = `--${boundary}`
  if (body.subarray(0, opening.length).toString('latin1') === opening) return opening.length
  const at = body.indexOf(CRLF + opening, 0, 'latin1')
  if (at < 0) throw cutForm()
  return at + CRLF.length + opening.length
}

function isClosing(body: Buffer, at: number): boolean {
  return body[at] === DASH && body[at + 1] === DASH
}

/** The start of the line after a delimiter, past the blanks that may follow it. */
function lineEnd(body: Buffer, at: number): number {
  const end = body.indexOf(CRLF, at, 'latin1')
  if (end < 0 || !/^[ \t]*$/.test(body.subarray(at, Math.min(end, at + 64)).toString('latin1'))) throw cutForm()
  return end + CRLF.length
}

type Head = {
  readonly name: string
  readonly filename: string | undefined
  readonly contentType: string
  /** The start of the part's content. */
  readonly end: number
}

function readHead(body: Buffer, start: number): Head {
  const end = body.subarray(start, start + MAX_PART_HEADER_BYTES).indexOf(CRLF + CRLF, 0, 'latin1')
  if (end < 0) throw invalid('A part of the form has no end of its header.')
  const lines = body
    .subarray(start, start + end)
    .toString('utf8')
    .split(CRLF)
  const disposition = headerOf(lines, 'content-disposition')
  const name = parameterOf(disposition, 'name')
  if (!/^form-data\b/i.test(disposition) || name === undefined || !FIELD_NAME.test(name)) {
    throw invalid('A part of the form has no plain name.')
  }
  return {
    name,
    filename: parameterOf(disposition, 'filename'),
    contentType: headerOf(lines, 'content-type'),
    end: start + end + CRLF.length * 2,
  }
}

function headerOf(lines: readonly string[], name: string): string {
  const line = lines.find((text) => text.toLowerCase().startsWith(`${name}:`))
  return line === undefined ? '' : line.slice(name.length + 1).trim()
}

function parameterOf(header: string, name: string): string | undefined {
  const match = new RegExp(`;\\s*${name}=(?:"((?:[^"\\\\]|\\\\.)*)"|([^\\s;"]+))`, 'i').exec(header)
  return match?.[1]?.replace(/\\(.)/g, '$1') ?? match?.[2]
}

function textOf(name: string, bytes: Buffer): string {
  if (bytes.length <= MAX_FIELD_BYTES) return bytes.toString('utf8')
  throw new AppError('invalid_request', { message: `${name} has at most ${MAX_FIELD_BYTES} bytes.`, param: name })
}

function cutForm(): AppError {
  return invalid('The form is cut or is no multipart/form-data.')
}

function invalid(message: string): AppError {
  return new AppError('invalid_request', { message })
}

/** A form as pieces of bytes: its files are views of what was received, never copied. */
export function writeForm({ boundary, fields, files }: Form): readonly Buffer[] {
  const opening = `--${boundary}${CRLF}content-disposition: form-data; name="`
  const pieces: Buffer[] = []
  let text = ''
  for (const { name, value } of fields) text += `${opening}${name}"${CRLF}${CRLF}${value}${CRLF}`
  for (const { name, filename, contentType, bytes } of files) {
    text += `${opening}${name}"; filename="${plainFilename(filename)}"${CRLF}content-type: ${contentType}${CRLF}${CRLF}`
    pieces.push(Buffer.from(text, 'utf8'), bytes)
    text = CRLF
  }
  pieces.push(Buffer.from(`${text}--${boundary}--${CRLF}`, 'utf8'))
  return pieces
}

/**
 * A file's name without characters that could end it early; its extension, by which providers identify the format,
 * stays.
 */
function plainFilename(filename: string): string {
  const plain = filename.replace(/[^\w.() -]/g, '_')
  return plain.length <= 200 ? plain : plain.slice(-200)
}
