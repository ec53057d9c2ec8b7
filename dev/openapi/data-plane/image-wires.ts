import { z } from 'zod'
import { IMAGE_QUALITIES, RESOLUTIONS } from '#shared/images.ts'
import { MEDIA_MEMBERS } from '#shared/media-members.ts'
import { otherNamesOf } from './media-names.ts'
import type { DataRoute } from './route.ts'
import { CALL_REFUSALS, Cost, Count, ROUTING, STREAM } from './route.ts'

const paidRoute = {
  method: 'post',
  envelope: 'v1',
  access: 'buyer',
  isPaid: true,
  takesFloor: true,
  tag: 'Images',
  refusals: CALL_REFUSALS,
} as const

const Source = z.union([
  z.string().describe('An https URL, which is never fetched here, or a data: URI.'),
  z.looseObject({ url: z.string(), role: z.enum(['start', 'reference']).nullish() }),
])
const { read: names } = MEDIA_MEMBERS.image
const SHAPE = {
  model: z.string().min(1),
  prompt: z.string().min(1).max(32_768),
  size: z
    .string()
    .nullish()
    .describe(`WIDTHxHEIGHT, "auto", or a tier. ${otherNamesOf(names.size)}`),
  resolution: z.enum(RESOLUTIONS).nullish().describe('The tier of resolution; derived from the size when absent.'),
  quality: z.enum(IMAGE_QUALITIES).nullish(),
  response_format: z.enum(['url', 'b64_json']).nullish().describe(otherNamesOf(names.response_format)),
  stream: z
    .boolean()
    .nullish()
    .describe('Of models that list partial_images: events with partial pictures, then the whole one.'),
  partial_images: Count.min(0).max(3).nullish().describe('Partial pictures of a stream.'),
  background: z.string().nullish(),
  output_format: z.string().nullish(),
  output_compression: Count.nullish(),
  moderation: z.string().nullish(),
  user: z.string().nullish(),
}
const SOURCES = {
  image: z
    .union([Source, z.array(Source)])
    .nullish()
    .describe(otherNamesOf(names.source)),
  image_url: Source.nullish().describe('Another name of image.'),
  input_images: z.array(Source).max(8).nullish().describe('The first is the base, the others are references.'),
  input_references: z.array(z.looseObject({})).max(8).nullish().describe("OpenRouter's name of input_images."),
}

const ImageRequest = z
  .looseObject({ ...SHAPE, n: Count.min(1).max(10).nullish().describe(otherNamesOf(names.n)), ...SOURCES, ...ROUTING })
  .meta({ id: 'ImageRequest', description: 'A prompt for pictures, with their size, number and form.' })
const ImageEditRequest = z
  .looseObject({ ...SHAPE, n: z.literal(1).nullish(), ...SOURCES, ...ROUTING })
  .meta({ id: 'ImageEditRequest', description: 'Pictures and a prompt that says how to change them.' })

const Tokens = z.object({ text_tokens: Count, image_tokens: Count })
const ImageAnswer = z
  .object({
    created: Count,
    data: z.array(
      z.object({
        b64_json: z.string().optional(),
        url: z.string().optional(),
        revised_prompt: z.string().optional(),
        width: Count.optional(),
        height: Count.optional(),
      }),
    ),
    model: z.string(),
    provider: z.string(),
    background: z.string().optional(),
    output_format: z.string().optional(),
    quality: z.string().optional(),
    size: z.string().optional(),
    usage: Cost.extend({
      input_tokens: Count,
      output_tokens: Count,
      total_tokens: Count,
      prompt_tokens: Count.describe("OpenRouter's name of input_tokens."),
      completion_tokens: Count.describe("OpenRouter's name of output_tokens."),
      input_tokens_details: Tokens,
      output_tokens_details: Tokens,
      images: Count.optional().describe('Pictures, where the model is sold by the piece.'),
      megapixels: z.number().optional().describe('The area, where the model is sold by it.'),
    }),
  })
  .meta({ id: 'ImageAnswer', description: 'The pictures of a call, as links or as base64, and the cost of the call.' })

/** A white pixel. */
const PIXEL =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mP8/x8AAwMCAO+ip1sAAAAASUVORK5CYII='

/** The wires that sell pictures. */
export const IMAGE_ROUTES: readonly DataRoute[] = [
  {
    ...paidRoute,
    path: '/v1/images/generations',
    summary: 'Create images',
    description: 'A request with a source picture is an edit.',
    body: ImageRequest,
    answers: { 'application/json': ImageAnswer, 'text/event-stream': STREAM },
    examples: {
      whole: { model: 'dall-e-3', prompt: 'A boat on a lake.', size: '1024x1024', response_format: 'b64_json' },
    },
  },
  {
    ...paidRoute,
    path: '/v1/images',
    summary: 'Create images (OpenRouter’s path)',
    description: 'The same as `/v1/images/generations`.',
    body: ImageRequest,
    answers: { 'application/json': ImageAnswer, 'text/event-stream': STREAM },
    examples: { whole: { model: 'dall-e-3', prompt: 'A boat on a lake.', size: '1024x1024' } },
  },
  {
    ...paidRoute,
    path: '/v1/images/edits',
    summary: 'Edit an image',
    description: 'As JSON, or as the form that official clients send, with the pictures as files in image or image[].',
    isFormToo: true,
    body: ImageEditRequest,
    answers: { 'application/json': ImageAnswer, 'text/event-stream': STREAM },
    examples: { whole: { model: 'gpt-image-1', prompt: 'Add a hat.', image: PIXEL, quality: 'low' } },
  },
]
