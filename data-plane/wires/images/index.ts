import type { InlinedSource, ModelDemand, ModelPlan, UpstreamRequest } from '#data-plane/call.ts'
import { openAiEnvelope } from '#data-plane/wires/envelopes/openai.ts'
import { writeForm } from '#data-plane/wires/form.ts'
import { fileStandIn, putInlinedBack } from '#data-plane/wires/inlined-data.ts'
import { leftOutFor, withoutUnknown } from '#data-plane/wires/unknown-members.ts'
import type { ModelWire } from '#data-plane/wires/wire.ts'
import { defineWire } from '#data-plane/wires/wire.ts'
import type { ImageAsk } from '#shared/protocols/image-codec.ts'
import { imageCodecOf } from '#shared/protocols/index.ts'
import { imageDecoder } from './decoder.ts'
import { pictureEvents } from './events.ts'
import type { ImageRequest } from './read-request.ts'
import { readEdit, readGeneration } from './read-request.ts'

/** Most tokens for the frame around a prompt. */
const FRAME_TOKENS = 64
const IMAGE_TYPE = /^image\/[\w.+-]{1,64}$/
const UNNAMED_TYPE = 'application/octet-stream'

const shared = {
  envelope: openAiEnvelope,
  demand: demandOf,
  encode,
  decoder: (request: ImageRequest, plan: ModelPlan) =>
    request.ask.stream === undefined ? imageDecoder(request, plan) : pictureEvents(request, plan),
} as const

/** OpenAI's image generation; with a source in the request it is an edit. */
export const images: ModelWire = defineWire<ImageRequest>({ ...shared, name: 'images', parse: readGeneration })

/** OpenAI's image edits, as JSON or as a form. */
export const imageEdits: ModelWire = defineWire<ImageRequest>({ ...shared, name: 'image-edits', parse: readEdit })

function demandOf({ model, ask, upload, askedMembers, hints, floorPercents, maxCostMicro }: ImageRequest): ModelDemand {
  const { prompt, count, size, resolution, quality, stream } = ask
  const sources = ask.sources.length + (upload?.files.length ?? 0)
  const bytes = Buffer.byteLength(prompt)
  return {
    kind: 'model',
    endpoint: sources > 0 ? 'image-edit' : 'image',
    model,
    isStreamed: stream !== undefined,
    isWorkedInSilence: true,
    hints,
    floorPercents,
    needs: { imageInput: false, streamedPictures: stream !== undefined, costly: askedMembers.costly },
    inputParam: 'prompt',
    bounds: {
      inputTokens: bytes + FRAME_TOKENS,
      inputImages: sources,
      inputBytes: bytes,
      maxOutputTokens: 0,
      choices: 1,
      images: { count, size, resolution, quality, partials: stream?.partials },
    },
    maxCostMicro,
  }
}

function encode(request: ImageRequest, plan: ModelPlan): UpstreamRequest {
  const { kept, leftOut } = withoutUnknown(request.ask.extras, leftOutFor(plan.offer, request.askedMembers))
  const encoded = encodeKnown({ ...request, ask: { ...request.ask, extras: kept } }, plan)
  return leftOut.length === 0 ? encoded : { ...encoded, adaptedParams: [...encoded.adaptedParams, ...leftOut] }
}

function encodeKnown({ ask, inlined, upload }: ImageRequest, plan: ModelPlan): UpstreamRequest {
  const codec = imageCodecOf(plan.offer, plan.target.model)
  if (upload === undefined) return putInlinedBack(codec.encode(ask, plan), inlined)
  const form = codec.form?.(ask, plan)
  if (form === undefined) return putInlinedBack(codec.encode(withFiles(ask, upload), plan), filesOf(upload))
  const { boundary } = upload.form
  const files = upload.files.map((file) => ({ ...file, name: form.fileName, contentType: typeOf(file.contentType) }))
  return {
    path: form.path,
    body: '',
    pieces: writeForm({ boundary, fields: form.fields, files }),
    contentType: `multipart/form-data; boundary="${boundary}"`,
    accept: form.accept,
    adaptedParams: form.adaptedParams,
  }
}

type Upload = NonNullable<ImageRequest['upload']>

/** The same request with a `data:` URL for each file, for a protocol without forms. Stand-ins replace the data. */
function withFiles(ask: ImageAsk, { files }: Upload): ImageAsk {
  let start = 0
  const sources = files.map(({ bytes, contentType }, place) => {
    const url = `data:${imageTypeOf(contentType)};base64,${fileStandIn(start, bytes.length)}`
    start += bytes.length
    return { url, role: place === 0 ? ('start' as const) : ('reference' as const) }
  })
  return { ...ask, sources }
}

/** The files in sequence, as {@link withFiles} counts them. */
function filesOf({ files }: Upload): InlinedSource {
  return { bytes: files.map(({ bytes }) => bytes), hasStandIns: true, isPlain: true }
}

function typeOf(contentType: string): string {
  const type = contentType.toLowerCase().split(';', 1)[0] ?? ''
  return IMAGE_TYPE.test(type) ? type : UNNAMED_TYPE
}

/** Some providers refuse an image without a type. Its bytes show the true one. */
function imageTypeOf(contentType: string): string {
  const type = typeOf(contentType)
  return type === UNNAMED_TYPE ? 'image/png' : type
}
