import type { JsonBody, RawRequest } from '#data-plane/call.ts'
import type { Routing } from '#data-plane/wires/hints.ts'
import { readRouting } from '#data-plane/wires/hints.ts'
import { readJsonBody, readModelName } from '#data-plane/wires/json-body.ts'
import { memberOf, refuseMembers } from '#data-plane/wires/media-members.ts'
import { mustBe } from '#shared/invalid-member.ts'
import { isGiven, isRecord } from '#shared/json-members.ts'
import { MEDIA_MEMBERS } from '#shared/media-members.ts'
import { SPEECH_MEMBERS } from '#shared/members/of-media.ts'
import type { AskedMembers } from '#shared/members/read-members.ts'
import { readMembers } from '#shared/members/read-members.ts'
import type { SpokenText } from '#shared/spoken-text.ts'

/** The formats of speech, with the media type of each. */
export const FORMATS = {
  mp3: 'audio/mpeg',
  opus: 'audio/ogg',
  aac: 'audio/aac',
  flac: 'audio/flac',
  wav: 'audio/wav',
  pcm: 'audio/pcm',
} as const
export type SpeechFormat = keyof typeof FORMATS

export type SpeechRequest = Routing & {
  readonly json: JsonBody
  readonly model: string
  readonly format: SpeechFormat
  /** True when the audio is requested in events. */
  readonly inEvents: boolean
  /** True when the request names a voice. */
  readonly hasVoice: boolean
  readonly text: SpokenText
  readonly askedMembers: AskedMembers
}

/** Some eighteen minutes of speech, which as raw audio still fit into the longest answer that is relayed. */
const MAX_INPUT_CHARS = 16_384
const MAX_INSTRUCTIONS_CHARS = 16_384
const MAX_VOICE_CHARS = 256
/** Most tokens for the frame around a text. */
const FRAME_TOKENS = 64

const MEMBERS = MEDIA_MEMBERS.speech

/**
 * Reads the body of a speech request. Throws AppError: `invalid_json`, `invalid_request`, `invalid_minimum_discount`.
 */
export function readSpeechRequest(raw: RawRequest): SpeechRequest {
  const json = readJsonBody(raw)
  const { body } = json
  const model = readModelName(body['model'])
  refuseMembers(body, MEMBERS)
  const { speed, instructions } = body
  const { name: inputName, value: input } = memberOf(body, MEMBERS.read.input)
  const { name: voiceName, value: voice } = memberOf(body, MEMBERS.read.voice)
  const { name: formatName, value: format } = memberOf(body, MEMBERS.read.response_format)
  if (typeof input !== 'string' || input === '' || input.length > MAX_INPUT_CHARS) {
    throw mustBe(inputName, `a text of 1 to ${MAX_INPUT_CHARS} characters`)
  }
  if (isGiven(voice) && !isVoice(voice)) throw mustBe(voiceName, 'the name of a voice')
  if (isGiven(speed) && (typeof speed !== 'number' || speed < 0.25 || speed > 4)) {
    throw mustBe('speed', 'a number from 0.25 to 4')
  }
  if (isGiven(instructions) && !isText(instructions, MAX_INSTRUCTIONS_CHARS)) {
    throw mustBe('instructions', `a text of up to ${MAX_INSTRUCTIONS_CHARS} characters`)
  }
  if (isGiven(format) && !isFormat(format)) throw mustBe(formatName, `one of ${Object.keys(FORMATS).join(', ')}`)
  checkStreaming(body)
  return {
    json,
    model,
    format: isFormat(format) ? format : 'mp3',
    inEvents: body['stream_format'] === 'sse',
    hasVoice: isGiven(voice),
    text: spokenText(input, body),
    askedMembers: readMembers(SPEECH_MEMBERS, body),
    ...readRouting(body, raw),
  }
}

/** Checks `stream`, which has no effect because audio is always sent on as it arrives, and `stream_format`. */
function checkStreaming({ stream, stream_format: format }: Readonly<Record<string, unknown>>): void {
  if (isGiven(stream) && typeof stream !== 'boolean') throw mustBe('stream', 'true or false')
  if (isGiven(format) && format !== 'audio' && format !== 'sse') throw mustBe('stream_format', '"audio" or "sse"')
}

function isText(value: unknown, maxChars: number): boolean {
  return typeof value === 'string' && value.length <= maxChars
}

/** A name, or an object that names a voice of the buyer's own at the provider. */
function isVoice(voice: unknown): boolean {
  const name = isRecord(voice) ? voice['id'] : voice
  return isText(name, MAX_VOICE_CHARS) && name !== ''
}

function isFormat(format: unknown): format is SpeechFormat {
  return typeof format === 'string' && Object.hasOwn(FORMATS, format)
}

function spokenText(input: string, { instructions, speed }: Readonly<Record<string, unknown>>): SpokenText {
  const about = typeof instructions === 'string' ? instructions : ''
  return {
    inputTokens: Buffer.byteLength(input) + Buffer.byteLength(about) + FRAME_TOKENS,
    characters: countCharacters(input),
    isInstructed: about !== '',
    speed: typeof speed === 'number' ? speed : 1,
  }
}

/** A pair of surrogates is one character. */
function countCharacters(text: string): number {
  let characters = 0
  for (const _ of text) characters++
  return characters
}
