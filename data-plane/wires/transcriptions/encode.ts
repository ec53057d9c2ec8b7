import type { ModelPlan, UpstreamRequest } from '#data-plane/call.ts'
import type { FormField } from '#data-plane/wires/form.ts'
import { writeForm } from '#data-plane/wires/form.ts'
import { leftOutFor } from '#data-plane/wires/unknown-members.ts'
import { forwardPath, modelNameAt } from '#shared/protocols/index.ts'
import type { TranscriptionRequest } from './read-request.ts'
import { memberName } from './read-request.ts'

/** Media types of files that are declared to a provider; a file of any other type is sent without a declaration. */
const AUDIO_TYPE = /^(?:audio|video)\/[\w.+-]{1,64}$/
const UNNAMED_TYPE = 'application/octet-stream'
/** Fields that are left out for a model whose list of parameters lacks them. A model without a list gets all. */
const GATED: ReadonlySet<string> = new Set(['language', 'prompt', 'temperature'])

/**
 * The form for a seller: the buyer's own fields and the unchanged file, under the seller's name of the model. A plain
 * text is requested as JSON, which alone reports the duration of the audio.
 */
export function encodeTranscription(request: TranscriptionRequest, plan: ModelPlan): UpstreamRequest {
  const { form, file, isStreamed } = request
  const { parameters, features } = plan.target.model
  const leftOut = leftOutFor(plan.offer, request.askedMembers)
  const adaptedParams: string[] = []
  const fields: FormField[] = [{ name: 'model', value: modelNameAt(plan.offer).replace(/[\r\n]/g, '') }]
  for (const field of request.fields) {
    const { name } = field
    if (name === 'response_format' || name === 'stream') continue
    if (leftOut.has(memberName(name))) adaptedParams.push(name)
    else if (GATED.has(name) && parameters.length > 0 && !parameters.includes(name)) adaptedParams.push(name)
    else fields.push(field)
  }
  fields.push({ name: 'response_format', value: request.format === 'text' ? 'json' : request.format })
  // A model that cannot stream answers whole, and the stream is made here.
  if (isStreamed && features.includes('streaming')) fields.push({ name: 'stream', value: 'true' })
  else if (isStreamed) adaptedParams.push('stream')
  const contentType = file.contentType.toLowerCase().split(';', 1)[0] ?? ''
  const typed = AUDIO_TYPE.test(contentType) ? contentType : UNNAMED_TYPE
  return {
    path: forwardPath(plan.offer, 'transcription'),
    body: '',
    pieces: writeForm({ boundary: form.boundary, fields, files: [{ ...file, contentType: typed }] }),
    contentType: `multipart/form-data; boundary="${form.boundary}"`,
    accept: isStreamed ? 'text/event-stream, application/json' : 'application/json, text/plain',
    adaptedParams,
  }
}
