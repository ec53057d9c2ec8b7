import { isRecord } from '#shared/json-members.ts'
import { parseJson } from '#shared/parse-json.ts'
import { isErrorFree } from '#shared/protocols/answers/model-list.ts'
import type { ReportedUsage } from '#shared/protocols/answers/reported-usage.ts'
import type { EmbeddingsCodec } from '#shared/protocols/embeddings-codec.ts'
import type { ModelQuestion } from '#shared/protocols/protocol.ts'
import { JSON_REQUEST } from '#shared/protocols/provider-request.ts'
import { modelPath } from './encode.ts'
import { mergeGeminiUsage } from './usage.ts'

/** The vectors of a batch (ai.google.dev/api/embeddings). Each request of it repeats the model of the path. */
export const geminiEmbeddings: EmbeddingsCodec = {
  encode({ texts, dimensions, extras }, { offer }) {
    const path = modelPath(offer.providerModel, 'batchEmbedContents')
    const model = offer.providerModel.replace(/^(?!models\/|tunedModels\/)/, 'models/')
    const requests = texts.map((text) => ({
      content: { role: 'user', parts: [{ text }] },
      ...(dimensions !== undefined && { outputDimensionality: dimensions }),
      model,
    }))
    return { ...JSON_REQUEST, path, body: JSON.stringify({ requests }), adaptedParams: Object.keys(extras) }
  },
  read(body, into) {
    mergeGeminiUsage(into, body['usageMetadata'])
    const { embeddings } = body
    if (!Array.isArray(embeddings)) return undefined
    return embeddings.map((entry: unknown) => ({ embedding: isRecord(entry) ? entry['values'] : undefined }))
  },
}

/** The probe: a request for the vector of one word. */
export const geminiEmbeddingsProbe: ModelQuestion = {
  maxOutputTokens: 0,
  request: (model) => ({
    ...JSON_REQUEST,
    path: modelPath(model, 'embedContent'),
    body: JSON.stringify({ content: { role: 'user', parts: [{ text: 'hi' }] } }),
  }),
  isAnswer: isErrorFree,
  reported(text) {
    const reported: ReportedUsage = { insaneFields: 0 }
    const answer = parseJson(text)
    if (isRecord(answer)) mergeGeminiUsage(reported, answer['usageMetadata'])
    return reported
  },
}
