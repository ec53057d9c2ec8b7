import type { RawRequest } from '#data-plane/call.ts'
import { refuseElsewhereInForm } from '#data-plane/wires/elsewhere.ts'
import type { Form, FormField, FormFile } from '#data-plane/wires/form.ts'
import { readForm } from '#data-plane/wires/form.ts'
import type { Routing } from '#data-plane/wires/hints.ts'
import { readRouting } from '#data-plane/wires/hints.ts'
import { readModelName } from '#data-plane/wires/json-body.ts'
import { refuseMembers } from '#data-plane/wires/media-members.ts'
import { routingBody } from '#data-plane/wires/routing-fields.ts'
import { AppError } from '#shared/errors.ts'
import type { HeardAudio } from '#shared/heard-audio.ts'
import { mustBe } from '#shared/invalid-member.ts'
import { MEDIA_MEMBERS } from '#shared/media-members.ts'
import { TRANSCRIPTION_MEMBERS } from '#shared/members/of-media.ts'
import type { AskedMembers } from '#shared/members/read-members.ts'
import { readMembers } from '#shared/members/read-members.ts'
import { audioDuration } from './audio-duration.ts'

/** The formats of a transcript. */
export const FORMATS = ['json', 'text', 'srt', 'verbose_json', 'vtt'] as const
export type TranscriptFormat = (typeof FORMATS)[number]

export type TranscriptionRequest = Routing & {
  readonly form: Form
  readonly file: FormFile
  /** Fields that are neither the model nor for routing, unchanged. */
  readonly fields: readonly FormField[]
  readonly model: string
  readonly format: TranscriptFormat
  readonly isStreamed: boolean
  readonly wantsTimestamps: boolean
  readonly audio: HeardAudio
  readonly askedMembers: AskedMembers
}

/** The largest audio file: 25 MB. */
const MAX_AUDIO_BYTES = 26_214_400
const MAX_LANGUAGE_CHARS = 35
/**
 * A price of time does not cover a long prompt, which a provider may bill by its tokens. Whisper reads the last 224.
 */
const MAX_PROMPT_CHARS = 2_048
const TIMESTAMPS = 'timestamp_granularities[]'
/** Fields that may be given more than once. */
const REPEATED = /\[[\w.-]*\]$/

/**
 * Reads a transcription request. Throws AppError: `unsupported_media_type`, `invalid_request`, `request_too_large` for
 * a file over 25 MB, `invalid_minimum_discount`.
 */
export function readTranscriptionRequest(raw: RawRequest): TranscriptionRequest {
  const form = readForm(raw.headers['content-type'] ?? '', raw.body)
  refuseElsewhereInForm(form.fields)
  const { routing, fields: formFields } = routingBody(form.fields)
  const fields = underOurNames(formFields)
  checkOnce(fields)
  const values = new Map(fields.map(({ name, value }) => [name, value]))
  refuseMembers(Object.fromEntries(values), MEDIA_MEMBERS.transcription)
  const file = readFile(form)
  const format = readFormat(values.get('response_format'))
  const isStreamed = readFlag(values.get('stream'), 'stream')
  if (isStreamed && format !== 'json' && format !== 'text') throw mustBe('stream', 'false for this response_format')
  checkValues(values)
  return {
    form,
    file,
    fields: fields.filter(({ name }) => name !== 'model'),
    model: readModelName(values.get('model')),
    format,
    isStreamed,
    wantsTimestamps: readTimestamps(fields, format),
    audio: heardAudio(file, values.get('prompt') ?? '', fields),
    askedMembers: readMembers(TRANSCRIPTION_MEMBERS, Object.fromEntries(fields.map(memberOf))),
    ...readRouting(routing, raw),
  }
}

const OUR_NAMES: ReadonlyMap<string, string> = new Map(
  Object.entries(MEDIA_MEMBERS.transcription.read).flatMap(([own, names]) => names.map((name) => [name, own] as const)),
)

/** A field as a member: an element of a list counts as the list, and a member of an object as the object. */
function memberOf({ name, value }: FormField): [string, string] {
  return [memberName(name), value]
}

/** The member that a field belongs to: `chunking_strategy` of `chunking_strategy[type]`. */
export function memberName(field: string): string {
  return field.replace(/[[.].*$/s, '')
}

/** The fields under their parsed names. A list may be JSON. */
function underOurNames(fields: readonly FormField[]): readonly FormField[] {
  return fields.flatMap(({ name: fieldName, value }) => {
    const name = OUR_NAMES.get(fieldName) ?? fieldName
    const words = name === TIMESTAMPS && value.startsWith('[') ? value.match(/\w+/g) : null
    return words === null ? [{ name, value }] : words.map((word) => ({ name, value: word }))
  })
}

function checkOnce(fields: readonly FormField[]): void {
  const names = new Set<string>()
  for (const { name } of fields) {
    if (names.has(name) && !REPEATED.test(name)) throw mustBe(name, 'given once')
    names.add(name)
  }
}

function readFile({ files }: Form): FormFile {
  const [file] = files
  if (file === undefined || files.length > 1 || file.name !== 'file') throw mustBe('file', 'one file of audio')
  if (file.bytes.length === 0) throw mustBe('file', 'a file that is not empty')
  if (file.bytes.length > MAX_AUDIO_BYTES) {
    throw new AppError('request_too_large', {
      message: `An audio file has at most ${MAX_AUDIO_BYTES} bytes.`,
      param: 'file',
    })
  }
  return file
}

function heardAudio({ bytes }: FormFile, prompt: string, fields: readonly FormField[]): HeardAudio {
  return {
    ...audioDuration(bytes),
    promptBytes: Buffer.byteLength(prompt),
    isCut: fields.some(({ name }) => memberName(name) === 'chunking_strategy'),
  }
}

function readFormat(value: string | undefined): TranscriptFormat {
  const format = FORMATS.find((name) => name === (value ?? 'json'))
  if (format === undefined) throw mustBe('response_format', `one of ${FORMATS.join(', ')}`)
  return format
}

function readFlag(value: string | undefined, param: string): boolean {
  if (value === undefined || value === 'false') return false
  if (value !== 'true') throw mustBe(param, 'true or false')
  return true
}

function checkValues(values: ReadonlyMap<string, string>): void {
  const temperature = values.get('temperature')
  const isHeat = temperature === undefined || (/^\d(?:\.\d{1,16})?$/.test(temperature) && Number(temperature) <= 1)
  if (!isHeat) throw mustBe('temperature', 'a number from 0 to 1')
  if ((values.get('prompt') ?? '').length > MAX_PROMPT_CHARS)
    throw mustBe('prompt', `at most ${MAX_PROMPT_CHARS} characters`)
  const language = values.get('language')
  if (language !== undefined && (language.length > MAX_LANGUAGE_CHARS || !/^[A-Za-z-]*$/.test(language))) {
    throw mustBe('language', 'the code of a language')
  }
}

function readTimestamps(fields: readonly FormField[], format: TranscriptFormat): boolean {
  const askedFields = fields.filter(({ name }) => name === TIMESTAMPS)
  if (askedFields.length === 0) return false
  if (askedFields.some(({ value }) => value !== 'word' && value !== 'segment')) {
    throw mustBe('timestamp_granularities', '"word", "segment" or both')
  }
  if (format !== 'verbose_json') throw mustBe('timestamp_granularities', 'used with response_format verbose_json')
  return true
}
