import { z } from 'zod'
import type { GeminiCall } from './gemini-call.ts'
import { geminiError } from './gemini-events.ts'
import { embed } from './media/embeddings.ts'
import { pngOf } from './media/png.ts'

const MAX_BATCH = 100
const BYTES_A_TOKEN = 4
const SOURCE_TOKENS = 258
const IMAGE_TOKENS = 1_290
const SIDE = 1_024

const Embed = z.strictObject({
  model: z.string().optional(),
  content: z.strictObject({ role: z.string().optional(), parts: z.array(z.strictObject({ text: z.string() })).min(1) }),
  outputDimensionality: z.int().min(1).max(3_072).optional(),
  taskType: z.string().optional(),
})
const Batch = z.strictObject({
  requests: z
    .array(Embed.required({ model: true }))
    .min(1)
    .max(MAX_BATCH),
})
const Vectors = z.object({ data: z.array(z.object({ embedding: z.array(z.number()) })) })

const Predict = z.strictObject({
  instances: z.tuple([z.strictObject({ prompt: z.string().min(1) })]),
  parameters: z.strictObject({
    sampleCount: z.int().min(1).max(4).optional(),
    aspectRatio: z.enum(['1:1', '3:4', '4:3', '9:16', '16:9']).optional(),
    sampleImageSize: z.enum(['1K', '2K']).optional(),
  }),
})

const Draw = z.looseObject({
  contents: z.array(z.looseObject({ parts: z.array(z.looseObject({ text: z.string().optional() })) })).min(1),
  generationConfig: z.looseObject({
    responseModalities: z.array(z.string()),
    imageConfig: z.looseObject({ aspectRatio: z.string().optional() }).optional(),
  }),
})

type Answered = readonly [status: number, body: object]

/** Responds to a call for vectors or pictures. Undefined for a conversation. */
export function geminiMedia({ model, method }: GeminiCall, body: unknown): Answered | undefined {
  switch (method) {
    case 'embedContent': {
      const read = Embed.safeParse(body)
      if (!read.success) return invalid(read.error)
      return [200, { embedding: vectorsOf(model, [read.data])[0] }]
    }
    case 'batchEmbedContents': {
      const read = Batch.safeParse(body)
      if (!read.success) return invalid(read.error)
      const { requests } = read.data
      if (requests.some((each) => each.model !== `models/${model}`)) return [400, geminiError(400, OTHER_MODEL)]
      return [200, { embeddings: vectorsOf(model, requests) }]
    }
    case 'predict': {
      if (!model.includes('imagen')) return [404, geminiError(404, 'The model is not supported for predict.')]
      const read = Predict.safeParse(body)
      return read.success ? [200, { predictions: picturesOf(read.data) }] : invalid(read.error)
    }
    case 'generateContent':
      return draw(model, body)
    default:
      return undefined
  }
}

const OTHER_MODEL = 'model in each request must match the model specified in the batch request.'

function invalid({ issues: [issue] }: z.ZodError): Answered {
  return [400, geminiError(400, `Invalid value at '${issue?.path.join('.') ?? ''}': ${issue?.message ?? 'invalid'}`)]
}

function vectorsOf(model: string, requests: readonly z.infer<typeof Embed>[]): readonly object[] {
  return requests.map(({ content, outputDimensionality: dimensions }) => {
    const input = content.parts.map(({ text }) => text).join('')
    const answer = embed({ model, input, dimensions }, '')
    const [vector] = answer === undefined ? [] : Vectors.parse(JSON.parse(answer.bytes.toString('utf8'))).data
    return { values: vector?.embedding ?? [] }
  })
}

function picturesOf({ instances: [{ prompt }], parameters }: z.infer<typeof Predict>): readonly object[] {
  const { sampleCount = 1, aspectRatio } = parameters
  return Array.from({ length: sampleCount }, (_, index) => ({
    mimeType: 'image/png',
    bytesBase64Encoded: pictureOf(`${prompt} ${index}`, aspectRatio),
  }))
}

function pictureOf(name: string, ratio = '1:1'): string {
  const [across = 1, down = 1] = ratio.split(':').map(Number)
  return pngOf(name, SIDE, Math.round((SIDE * down) / across)).toString('base64')
}

/** An answer with a picture, for a request that asks for one. */
function draw(model: string, body: unknown): Answered | undefined {
  const read = Draw.safeParse(body).data
  if (read === undefined || !read.generationConfig.responseModalities.includes('IMAGE')) return undefined
  if (!model.includes('image')) return [400, geminiError(400, 'This model does not support image output.')]
  const parts = read.contents.flatMap((content) => content.parts)
  const prompt = parts.map(({ text = '' }) => text).join(' ')
  const text = Math.ceil(Buffer.byteLength(prompt) / BYTES_A_TOKEN)
  const image = SOURCE_TOKENS * parts.filter((part) => part['inlineData'] !== undefined).length
  const data = pictureOf(prompt, read.generationConfig.imageConfig?.aspectRatio)
  const content = { role: 'model', parts: [{ inlineData: { mimeType: 'image/png', data } }] }
  const usageMetadata = {
    promptTokenCount: text + image,
    candidatesTokenCount: IMAGE_TOKENS,
    totalTokenCount: text + image + IMAGE_TOKENS,
    promptTokensDetails: [
      { modality: 'TEXT', tokenCount: text },
      ...(image > 0 ? [{ modality: 'IMAGE', tokenCount: image }] : []),
    ],
    candidatesTokensDetails: [{ modality: 'IMAGE', tokenCount: IMAGE_TOKENS }],
  }
  const candidates = [{ content, finishReason: 'STOP', index: 0 }]
  return [200, { candidates, usageMetadata, modelVersion: model, responseId: 'r1750000000' }]
}
