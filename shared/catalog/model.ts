import { z } from 'zod'
import type { Clip } from '#shared/clips.ts'
import { ANY_CLIP, ClipSchema } from '#shared/clips.ts'
import { ImageTokensSchema } from '#shared/images.ts'

/** The endpoints on which a model can be sold, each with a path. */
export const ENDPOINTS = [
  'chat',
  'completions',
  'embeddings',
  'speech',
  'transcription',
  'image',
  'image-edit',
  'video',
  'music',
] as const
export type Endpoint = (typeof ENDPOINTS)[number]

/** The largest number of tokens that one image may cost when its catalogue entry has no figure. */
export const DEFAULT_IMAGE_TOKENS = 8_192

/** A model on sale, with its abilities and without its price. Values describe the model, not one seller's offer. */
export const ModelSchema = z.object({
  /** The canonical id, which every ledger row carries: `claude-sonnet-4.5`, `sandbox/echo`. */
  id: z.string().min(1).max(128),
  /** Slug of the maker: `anthropic`. With `/` and the id it is the OpenRouter name. */
  lab: z.string().min(1).max(64),
  name: z.string().min(1).max(200),
  description: z.string().max(2_000),
  /** Unix seconds of the release. */
  created: z.number().int(),
  /** Other exact names, including dated vendor ids. */
  aliases: z.array(z.string().min(1).max(128)).max(50),
  contextLength: z.number().int().positive(),
  maxCompletionTokens: z.number().int().positive(),
  inputModalities: z.array(z.string()).max(10),
  outputModalities: z.array(z.string()).max(10),
  /** Coarse labels: vision, reasoning, tools, streaming, prompt_caching … */
  features: z.array(z.string()).max(40),
  /** Request fields the model takes: temperature, tools, reasoning_effort … */
  parameters: z.array(z.string()).max(80),
  endpoints: z.array(z.enum(ENDPOINTS)).min(1),
  /** The largest number of tokens that one input image counts as. */
  imageTokens: z.number().int().positive(),
  /** The tokens of generated images; null for a model without images or without a price by tokens. */
  imageOutput: ImageTokensSchema.nullable().default(null),
  /** Limits of a request for video or music; null without an entry in the catalogue. */
  clip: ClipSchema.nullable().default(null),
  /** True for the sandbox models: price 0, last in listings, on no market page. */
  isSandbox: z.boolean(),
  /** The priced unit of media, in words for a reader (`per image`). Null for tokens. */
  mediaUnit: z.string().nullable(),
})
export type Model = z.infer<typeof ModelSchema>

/** True when either member says so. The two can disagree. */
export function isImageCapable(model: Model): boolean {
  return model.inputModalities.includes('image') || model.features.includes('vision')
}

/** True for a model that reads documents: as files, or page by page as images. */
export function isDocumentCapable(model: Model): boolean {
  return model.inputModalities.includes('file') || model.features.includes('file_input') || isImageCapable(model)
}

/** The limits of a request for video or music; those of {@link ANY_CLIP} without an entry in the catalogue. */
export function clipOf({ clip }: Pick<Model, 'clip'>): Clip {
  return clip ?? ANY_CLIP
}

/** True for a model that makes its images in chats. */
export function makesImagesInChat({ endpoints, outputModalities }: Model): boolean {
  return endpoints.includes('chat') && outputModalities.includes('image')
}

/** True for a model that shows partial images before the whole one. Its catalogue entry must list that. */
export function streamsImages(model: Model): boolean {
  return model.parameters.includes('partial_images') && !makesImagesInChat(model)
}

/** True for a model that may reason, by its catalogue entry. An entry that lists nothing excludes nothing. */
export function mayThink({ features, parameters }: Pick<Model, 'features' | 'parameters'>): boolean {
  if (features.length + parameters.length === 0) return true
  return features.includes('reasoning') || parameters.some((name) => name.startsWith('reasoning'))
}

/** True for a model that may call tools while it reasons, by its catalogue entry. */
export function callsToolsThinking(model: Pick<Model, 'features' | 'parameters'>): boolean {
  return model.features.includes('tools') && mayThink(model)
}

export function takesParameter(model: Model, parameter: string): boolean {
  return model.parameters.includes(parameter)
}
