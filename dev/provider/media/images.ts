import { z } from 'zod'
import type { MediaAnswer } from './media-call.ts'
import { pngOf } from './png.ts'

const JSON_TYPE = 'application/json'
const BYTES_A_TOKEN = 4
const SOURCE_TOKENS = 323
/** Tokens of OpenAI's square pictures by quality. */
const TOKENS = { low: 272, medium: 1_056, high: 4_160 } as const
const TOKENS_A_PARTIAL = 100
const PIXELS_A_SQUARE = 1_024 * 1_024

const File = z.object({ name: z.string(), type: z.string(), bytes: z.instanceof(Buffer) })
const Count = z.union([z.number().int(), z.string().regex(/^\d+$/).transform(Number)])
const Body = z.looseObject({
  model: z.string(),
  prompt: z.string().min(1),
  n: Count.nullish(),
  size: z.string().nullish(),
  quality: z.string().nullish(),
  response_format: z.enum(['url', 'b64_json', 'base64']).nullish(),
  stream: z.union([z.boolean(), z.enum(['true', 'false']).transform((text) => text === 'true')]).nullish(),
  partial_images: Count.nullish(),
  /** Two separate sides, in Together's form. */
  width: z.number().int().positive().optional(),
  height: z.number().int().positive().optional(),
  images: z.array(z.object({ image_url: z.string() })).optional(),
  image_url: z.string().optional(),
  reference_images: z.array(z.string()).optional(),
  image: z.union([File, z.array(File)]).optional(),
  'image[]': z.union([File, z.array(File)]).optional(),
})
type Body = z.infer<typeof Body>

/** OpenAI's models of this family only send bytes, and report their usage. */
const isByToken = (model: string) => model.includes('gpt-image')

/**
 * Draws pictures of the requested size, in events where a stream is requested. Undefined when the body is not a
 * request.
 */
export function draw(body: unknown, act: string, origin: string): MediaAnswer | undefined {
  const request = Body.safeParse(body).data
  if (request === undefined) return undefined
  if (request.stream === true && isByToken(request.model)) return drawInEvents(request, act)
  const { model, prompt, response_format: format } = request
  const { width, height } = sizeOf(request)
  const count = request.n ?? 1
  const isUrl = format === 'url' && !isByToken(model)
  const data = Array.from({ length: count }, (_, index) => {
    const name = `${prompt} ${index}`
    if (isUrl) return { url: `${origin}/files/${width}x${height}/${encodeURIComponent(name.slice(0, 60))}.png` }
    return { b64_json: pngOf(name, width, height).toString('base64') }
  })
  const facts = isByToken(model) ? { output_format: 'png', size: `${width}x${height}` } : {}
  const list = { created: Math.floor(Date.now() / 1_000), data, ...facts, ...usageOf(request, act) }
  return {
    contentType: JSON_TYPE,
    bytes: Buffer.from(JSON.stringify(list)),
    empty: Buffer.from(JSON.stringify({ ...list, data: [] })),
  }
}

/** Partial pictures in other colours, then the whole one with its usage. */
function drawInEvents(request: Body, act: string): MediaAnswer {
  const { prompt, partial_images: partials } = request
  const { width, height } = sizeOf(request)
  const family = sourcesOf(request) > 0 ? 'image_edit' : 'image_generation'
  const facts = {
    size: `${width}x${height}`,
    quality: request.quality ?? 'auto',
    background: 'opaque',
    output_format: 'png',
  }
  const event = (kind: string, name: string, more: object) => {
    const type = `${family}.${kind}`
    const b64_json = pngOf(name, width, height).toString('base64')
    const data = { type, b64_json, created_at: Math.floor(Date.now() / 1_000), ...facts, ...more }
    return `event: ${type}\ndata: ${JSON.stringify(data)}\n\n`
  }
  const events = Array.from({ length: partials ?? 0 }, (_, index) =>
    event('partial_image', `${prompt} so far ${index}`, { partial_image_index: index }),
  )
  const last = event('completed', `${prompt} 0`, usageOf(request, act))
  return { contentType: 'text/event-stream', bytes: Buffer.from([...events, last].join('')), empty: Buffer.alloc(0) }
}

/** The picture behind a path of {@link draw}. Undefined for another path. */
export function pictureOf(path: string): Buffer | undefined {
  const [, width = '', height = '', name = ''] = /^\/v1\/files\/(\d{1,5})x(\d{1,5})\/([^/]+)\.png$/.exec(path) ?? []
  return name === '' ? undefined : pngOf(decodeURIComponent(name), Number(width), Number(height))
}

function sizeOf({ size, width, height }: Body): { readonly width: number; readonly height: number } {
  const [, across = '1024', down = '1024'] = /^(\d+)x(\d+)$/.exec(size ?? '') ?? []
  return { width: width ?? Number(across), height: height ?? Number(down) }
}

function sourcesOf({ images, image_url: base, reference_images: more, image, 'image[]': listed }: Body): number {
  const files = [image, listed].flatMap((file) => file ?? [])
  return (images?.length ?? 0) + (base === undefined ? 0 : 1) + (more?.length ?? 0) + files.length
}

function usageOf(request: Body, act: string): object {
  if (act === 'usage-absurd') return { usage: { input_tokens: -1, output_tokens: 1e30 } }
  if (act === 'usage-missing' || !isByToken(request.model)) return {}
  const { width, height } = sizeOf(request)
  const quality = TOKENS[request.quality === 'low' || request.quality === 'high' ? request.quality : 'medium']
  const partialTokens = request.stream === true ? TOKENS_A_PARTIAL * (request.partial_images ?? 0) : 0
  const output = Math.ceil((quality * width * height) / PIXELS_A_SQUARE) * (request.n ?? 1) + partialTokens
  const text = Math.ceil(Buffer.byteLength(request.prompt) / BYTES_A_TOKEN)
  const image = SOURCE_TOKENS * sourcesOf(request)
  return {
    usage: {
      input_tokens: text + image,
      output_tokens: output,
      total_tokens: text + image + output,
      input_tokens_details: { text_tokens: text, image_tokens: image },
    },
  }
}

const ChatBody = z.looseObject({
  model: z.string(),
  modalities: z.array(z.string()),
  messages: z.array(z.looseObject({ content: z.unknown() })).min(1),
  image_config: z.looseObject({ aspect_ratio: z.string().optional() }).optional(),
})
const IMAGE_TOKENS = 1_290
const RATIO_SIDE = 1_024

/** A chat's answer with a picture, whole or as the data of events, for a request for one. Undefined for any other. */
export function drawInChat(body: unknown): { readonly whole: object; readonly events: readonly string[] } | undefined {
  const request = ChatBody.safeParse(body).data
  if (request === undefined || !request.modalities.includes('image')) return undefined
  const text = JSON.stringify(request.messages.at(-1)?.content)
  const [, across = '1', down = '1'] = /^(\d+):(\d+)$/.exec(request.image_config?.aspect_ratio ?? '') ?? []
  const height = Math.round((RATIO_SIDE * Number(down)) / Number(across))
  const url = `data:image/png;base64,${pngOf(text, RATIO_SIDE, height).toString('base64')}`
  const prompt = Math.ceil(Math.min(text.length, 4_000) / BYTES_A_TOKEN)
  const spoken = 8
  const head = { id: 'chatcmpl-picture', created: Math.floor(Date.now() / 1_000), model: request.model }
  const content = 'Here is the picture.'
  const images = [{ type: 'image_url', image_url: { url } }]
  const usage = {
    prompt_tokens: prompt,
    completion_tokens: spoken + IMAGE_TOKENS,
    total_tokens: prompt + spoken + IMAGE_TOKENS,
    completion_tokens_details: { image_tokens: IMAGE_TOKENS },
  }
  const message = { role: 'assistant', content, images }
  const choice = (delta: object, reason: string | null) => [{ index: 0, delta, finish_reason: reason }]
  const event = (choices: object[], more: object = {}) =>
    JSON.stringify({ ...head, object: 'chat.completion.chunk', choices, ...more })
  return {
    whole: {
      ...head,
      object: 'chat.completion',
      usage,
      choices: [{ index: 0, finish_reason: 'stop', message }],
    },
    events: [
      event(choice({ role: 'assistant', content }, null)),
      event(choice({ content: '', images }, null)),
      event(choice({}, 'stop')),
      event([], { usage }),
      '[DONE]',
    ],
  }
}
