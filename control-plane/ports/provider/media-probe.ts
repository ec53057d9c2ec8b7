import type { Endpoint } from '#shared/catalog/model.ts'
import { isRecord } from '#shared/json-members.ts'
import { parseJson } from '#shared/parse-json.ts'
import { isErrorFree } from '#shared/protocols/answers/model-list.ts'
import type { ReportedUsage } from '#shared/protocols/answers/reported-usage.ts'
import { mergeAnswerUsage } from '#shared/protocols/answers/reported-usage.ts'
import { protocolOf } from '#shared/protocols/index.ts'
import type { ModelQuestion } from '#shared/protocols/protocol.ts'
import { JSON_REQUEST } from '#shared/protocols/provider-request.ts'
import type { ProbeTarget } from './probe.ts'

/**
 * A probe of a model that does not converse, at providers with OpenAI's paths. The request lacks a member, by default
 * its main input, so nothing is made and nothing is charged. A provider that serves the model refuses it for that
 * member.
 */
type MediaQuestion = {
  readonly path: string
  readonly missing?: string
  readonly given?: Readonly<Record<string, string | number>>
  /** The output limit of a full request, which is answered and charged. Few providers omit this figure. */
  readonly maxOutputTokens?: number
}

const QUESTIONS: { readonly [Name in Endpoint]?: MediaQuestion } = {
  // The vectors of one word cost less than a micro-dollar. Some models require whether it is a query or a passage.
  embeddings: { path: '/embeddings', missing: 'input_type', given: { input: 'hi' }, maxOutputTokens: 0 },
  completions: { path: '/completions', given: { prompt: 'hi', max_tokens: 1 }, maxOutputTokens: 1 },
  speech: { path: '/audio/speech', missing: 'input', given: { voice: 'alloy' } },
  transcription: { path: '/audio/transcriptions', missing: 'file' },
  image: { path: '/images/generations', missing: 'prompt' },
  'image-edit': { path: '/images/edits', missing: 'prompt' },
  // OpenAI has no path for music. Providers of music, and of video with a queue, get their protocol's own probe.
  video: { path: '/videos', missing: 'prompt' },
}

/** The probe for a target's endpoint. Undefined when the protocol's own probe serves. */
export function mediaProbeOf(target: ProbeTarget): ModelQuestion | undefined {
  const protocol = protocolOf(target)
  const own = target.endpoint === undefined ? undefined : protocol.mediaProbes?.[target.endpoint]
  if (own !== undefined) return own
  const question = target.endpoint === undefined ? undefined : QUESTIONS[target.endpoint]
  if (question === undefined || protocol.forwards === undefined) return undefined
  const { maxOutputTokens = null, missing } = question
  return {
    maxOutputTokens,
    request(model) {
      const deployment = protocol.deployment?.(model)
      return {
        path: deployment?.path(question.path) ?? question.path,
        ...bodyOf(deployment?.name ?? model, question),
      }
    },
    isAnswer: (status, text) => {
      if (maxOutputTokens !== null && isErrorFree(status, text)) return true
      if (missing === undefined || (status !== 400 && status !== 422)) return false
      const { message, param } = protocol.readError(text)
      return param === missing || (param !== 'model' && namesMember(message, missing))
    },
    reported(text) {
      const reported: ReportedUsage = { insaneFields: 0 }
      const answer = parseJson(text)
      if (isRecord(answer)) mergeAnswerUsage(reported, answer)
      return reported
    },
  }
}

/** The only endpoint that takes files is probed by a form, because many providers read nothing else there. */
function bodyOf(model: string, { missing, given = {} }: MediaQuestion) {
  const members = Object.entries({ model, ...given })
  if (missing !== 'file') return { ...JSON_REQUEST, body: JSON.stringify(Object.fromEntries(members)) }
  const parts = members.map(
    ([name, value]) => `--${BOUNDARY}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  )
  const contentType = `multipart/form-data; boundary=${BOUNDARY}`
  return { contentType, accept: JSON_REQUEST.accept, body: `${parts.join('')}--${BOUNDARY}--\r\n` }
}

const BOUNDARY = 'market-probe-7c1f9e'

function namesMember(message: string, member: string): boolean {
  return new RegExp(`\\b${member}\\b`, 'i').test(message)
}
