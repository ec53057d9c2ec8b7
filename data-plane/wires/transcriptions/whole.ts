import { isUtf8 } from 'node:buffer'
import type { Decoder, ModelPlan } from '#data-plane/call.ts'
import { openAiErrorBody } from '#data-plane/wires/envelopes/openai.ts'
import type { AnswerFindings } from '#data-plane/wires/whole-answer.ts'
import { foundMalformed, gatherWhole, readWholeAnswer } from '#data-plane/wires/whole-answer.ts'
import { memberText } from '#shared/json-members.ts'
import { errorInside } from '#shared/protocols/answers/openai-answer.ts'
import type { ReportedUsage } from '#shared/protocols/answers/reported-usage.ts'
import { heardJson, mergeCues, mergeHeard } from './heard-usage.ts'
import { isTranscriptMember } from './members.ts'
import type { TranscriptFormat, TranscriptionRequest } from './read-request.ts'

/** Members of a transcript that pass besides its text. */
const PASSED: Readonly<Record<'json' | 'verbose_json', readonly string[]>> = {
  json: ['logprobs'],
  verbose_json: ['task', 'language', 'duration', 'segments', 'words'],
}
const PLAIN_TYPE = 'text/plain; charset=utf-8'

type Answer = {
  readonly reported: ReportedUsage
  /** True while the provider's answer is JSON. */
  isJson: boolean
  text: string
  /** Other members as text, each with a comma before it. */
  extra: string
}

/** A transcript, whole, in the requested format. */
export function wholeTranscript({ format }: TranscriptionRequest, plan: ModelPlan): Decoder {
  const answer: Answer = { reported: { insaneFields: 0 }, isJson: true, text: '', extra: '' }
  const whole = gatherWhole((bytes) => readTranscript(answer, bytes, format))
  return {
    head: {
      contentType: () => (format === 'json' || format === 'verbose_json' ? 'application/json' : PLAIN_TYPE),
      takes({ status, contentType }) {
        answer.isJson = contentType.includes('json')
        return status === 200 && isTypeOf(format, contentType)
      },
    },
    ending: () => ({
      reported: answer.reported,
      finishReason: null,
      contentBytes: whole.contentBytes(),
      reasoningBytes: 0,
    }),
    finish: (receipt) => writeTranscript(answer, format, heardJson(receipt, plan)),
    fail: (error) => openAiErrorBody(error, plan.rid),
    ...whole,
  }
}

/** Whether an answer of this media type can have the format. A web page is a text and no transcript. */
function isTypeOf(format: TranscriptFormat, contentType: string): boolean {
  const isText = contentType.startsWith('text/') && !contentType.startsWith('text/html')
  switch (format) {
    case 'json':
    case 'verbose_json':
      return contentType.includes('json')
    case 'text':
      return contentType.includes('json') || isText
    default:
      return isText || contentType.startsWith('application/x-subrip')
  }
}

/** Parses a provider's transcript into `answer`. */
function readTranscript(answer: Answer, bytes: Buffer, format: TranscriptFormat): AnswerFindings {
  return answer.isJson ? readJson(answer, bytes, format) : readPlain(answer, bytes, format)
}

function readJson(answer: Answer, bytes: Buffer, format: TranscriptFormat): AnswerFindings {
  const wholeAnswer = readWholeAnswer(bytes)
  if (wholeAnswer === undefined) return foundMalformed('not a JSON object of a sane depth')
  const { body, text, members } = wholeAnswer
  const failure = errorInside(body)
  if (failure) return { failure, contentBytes: 0 }
  if (typeof body['text'] !== 'string') return foundMalformed('no text')
  answer.text = body['text']
  mergeHeard(answer.reported, body)
  for (const name of format === 'verbose_json' ? PASSED.verbose_json : PASSED.json) {
    if (!isTranscriptMember(name, body[name])) return foundMalformed(`a value of another type under ${name}`)
    const value = memberText(text, members, name)
    if (value !== undefined) answer.extra += `,"${name}":${value}`
  }
  return { contentBytes: Buffer.byteLength(answer.text) }
}

function readPlain(answer: Answer, bytes: Buffer, format: TranscriptFormat): AnswerFindings {
  if (!isUtf8(bytes)) return foundMalformed('not UTF-8')
  answer.text = bytes.toString('utf8')
  if (format === 'text') return { contentBytes: answer.text.trim() === '' ? 0 : bytes.length }
  mergeCues(answer.reported, answer.text)
  const isBlank = answer.text.replace(/^\uFEFF?WEBVTT/, '').trim() === ''
  if (!isBlank && answer.reported.milliseconds === undefined) return foundMalformed('no cue')
  return { contentBytes: isBlank ? 0 : bytes.length }
}

function writeTranscript({ text, extra, isJson }: Answer, format: TranscriptFormat, usage: string): string {
  if (format === 'json' || format === 'verbose_json') {
    return `{"text":${JSON.stringify(text)}${extra},"usage":${usage}}`
  }
  return isJson ? `${text}\n` : text
}
