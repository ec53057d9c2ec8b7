import type { ModelDemand, ModelPlan, UpstreamRequest } from '#data-plane/call.ts'
import { openAiEnvelope } from '#data-plane/wires/envelopes/openai.ts'
import { writeForm } from '#data-plane/wires/form.ts'
import { putInlinedBack } from '#data-plane/wires/inlined-data.ts'
import type { ModelWire } from '#data-plane/wires/wire.ts'
import { defineWire } from '#data-plane/wires/wire.ts'
import type { ImageAsk } from '#shared/protocols/image-codec.ts'
import { imageCodecOf } from '#shared/protocols/index.ts'
import { imageDecoder } from './decoder.ts'
import type { ImageRequest } from './read-request.ts'
import { readEdit, readGeneration } from './read-request.ts'

/** Tokens that the frame around a prompt may cost. */
const FRAME_TOKENS = 64
const IMAGE_TYPE = /^image\/[\w.+-]{1,64}$/
const UNNAMED_TYPE = 'application/octet-stream'

const shared = {
  envelope: openAiEnvelope,
  demand: demandOf,
  encode,
  decoder: imageDecoder,
} as const

/** OpenAI's pictures from words; with a source in the request they are an edit. */
export const images: ModelWire = defineWire<ImageRequest>({ ...shared, name: 'images', parse: readGeneration })

/** OpenAI's edits of pictures, as JSON or as a form. */
export const imageEdits: ModelWire = defineWire<ImageRequest>({ ...shared, name: 'image-edits', parse: readEdit })

function demandOf({ model, ask, upload, hints, floorPercents, maxCostMicro }: ImageRequest): ModelDemand {
  const { prompt, count, size, resolution, quality } = ask
  const sources = ask.sources.length + (upload?.files.length ?? 0)
  const bytes = Buffer.byteLength(prompt)
  return {
    kind: 'model',
    endpoint: sources > 0 ? 'image-edit' : 'image',
    model,
    isStreamed: false,
    hints,
    floorPercents,
    needs: { imageInput: false },
    inputParam: 'prompt',
    bounds: {
      inputTokens: bytes + FRAME_TOKENS,
      inputImages: sources,
      inputBytes: bytes,
      maxOutputTokens: 0,
      choices: 1,
      images: { count, size, resolution, quality },
    },
    maxCostMicro,
  }
}

function encode({ ask, inlined, upload }: ImageRequest, plan: ModelPlan): UpstreamRequest {
  const codec = imageCodecOf(plan.offer, plan.target.model)
  if (upload === undefined) return putInlinedBack(codec.encode(ask, plan), inlined)
  const form = codec.form?.(ask, plan)
  if (form === undefined) return codec.encode(withData(ask, upload), plan)
  const { boundary } = upload.form
  const files = upload.files.map((file) => ({ ...file, name: form.fileName, contentType: typeOf(file.contentType) }))
  return {
    path: form.path,
    body: '',
    pieces: writeForm({ boundary, fields: form.fields, files }),
    contentType: `multipart/form-data; boundary="${boundary}"`,
    accept: 'application/json',
    adaptedParams: form.adaptedParams,
  }
}

/** The same request with its files as `data:` URLs, for a protocol without forms. */
function withData(ask: ImageAsk, { files }: NonNullable<ImageRequest['upload']>): ImageAsk {
  const sources = files.map(({ bytes, contentType }, place) => ({
    url: `data:${imageTypeOf(contentType)};base64,${bytes.toString('base64')}`,
    role: place === 0 ? ('start' as const) : ('reference' as const),
  }))
  return { ...ask, sources }
}

function typeOf(contentType: string): string {
  const type = contentType.toLowerCase().split(';', 1)[0] ?? ''
  return IMAGE_TYPE.test(type) ? type : UNNAMED_TYPE
}

/** Some providers refuse a picture without a type. Its bytes say the true one. */
function imageTypeOf(contentType: string): string {
  const type = typeOf(contentType)
  return type === UNNAMED_TYPE ? 'image/png' : type
}
