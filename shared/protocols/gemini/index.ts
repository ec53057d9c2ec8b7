import { z } from 'zod'
import type { Model } from '#shared/catalog/model.ts'
import { makesImagesInChat } from '#shared/catalog/model.ts'
import { parseJson } from '#shared/parse-json.ts'
import { readErrorBody } from '#shared/protocols/answers/error-body.ts'
import { isErrorFree } from '#shared/protocols/answers/model-list.ts'
import type { ImageCodec } from '#shared/protocols/image-codec.ts'
import { takesMember } from '#shared/protocols/middle-form/taken-members.ts'
import type { ChatCodec, ModelQuestion, Protocol } from '#shared/protocols/protocol.ts'
import { JSON_REQUEST } from '#shared/protocols/provider-request.ts'
import { geminiEmbeddings, geminiEmbeddingsProbe } from './embeddings.ts'
import { encodeGemini, modelPath } from './encode.ts'
import { FIRST_WITH_LEVELS, generationOf } from './generation.ts'
import { geminiImages, imagen, pictureProbe } from './images.ts'
import { geminiReader } from './reader.ts'

/** Models on a page of the list: the most that the provider gives. */
const PAGE_SIZE = 1_000
const ModelPage = z.object({ models: z.array(z.object({ name: z.string() })).max(PAGE_SIZE) })

export const geminiChat: ChatCodec = {
  // Models before generation 3 refuse a format beside functions.
  saysFormat: (model, _format, hasTools) =>
    takesMember(model, 'response_format') && (!hasTools || (generationOf(model.id) ?? 0) >= FIRST_WITH_LEVELS),
  encode: encodeGemini,
  reader: geminiReader,
  takesDocumentUrls: true,
}

/** A probe of a model with one output token. */
export const geminiProbe: ModelQuestion = {
  maxOutputTokens: 1,
  request: (model) => ({
    ...JSON_REQUEST,
    path: modelPath(model, 'generateContent'),
    body: JSON.stringify({
      contents: [{ role: 'user', parts: [{ text: 'hi' }] }],
      generationConfig: { maxOutputTokens: 1 },
    }),
  }),
  isAnswer: isErrorFree,
}

/** Images of Gemini's own models, and of Imagen. */
export function googleImages(model: Model): ImageCodec {
  return makesImagesInChat(model) ? geminiImages : imagen
}

/** Google's own protocol for Gemini. A provider key goes in `x-goog-api-key`, and the model's name in the path. */
export const gemini: Protocol = {
  authorize(headers, key) {
    headers.push('x-goog-api-key', key)
  },
  listing: { path: `/models?pageSize=${PAGE_SIZE}`, read: readModelPage },
  probe: geminiProbe,
  mediaProbes: { embeddings: geminiEmbeddingsProbe, image: pictureProbe, 'image-edit': pictureProbe },
  readError: readErrorBody,
  chat: geminiChat,
  embeddings: geminiEmbeddings,
  images: googleImages,
  jobs: {},
}

/** The names of a list, without the prefix of Google's own model collection. */
function readModelPage(text: string): ReadonlySet<string> | undefined {
  const parsed = ModelPage.safeParse(parseJson(text))
  if (!parsed.success) return undefined
  return new Set(parsed.data.models.map(({ name }) => name.replace(/^models\//, '')))
}
