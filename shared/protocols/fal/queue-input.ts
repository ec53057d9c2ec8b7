import { SECOND } from '#shared/clock.ts'
import { AppError } from '#shared/errors.ts'
import type { JsonObject } from '#shared/json-members.ts'
import type { ClipSource, MusicAsk, VideoAsk } from '#shared/protocols/job-codec.ts'

/** Names of input members that differ from model to model. The first row whose beginning fits a model's path counts. */
type Names = {
  /** Beginning of the model's path. */
  readonly of: string
  /** The member for the length, and its unit: a text of digits, a text that ends with `s`, seconds, milliseconds. */
  readonly length?: readonly [member: string, unit: 'digits' | 'with-s' | 'seconds' | 'milliseconds']
  /** The member for a last frame. */
  readonly end?: string
  /** The member for reference images of a video. */
  readonly references?: string
  readonly prompt?: string
  /** The member for lyrics; null for a model that has none. */
  readonly lyrics?: string | null
}

/** Models of fal by their own schemas, as fal.ai/models shows them (read 2025-12). */
const NAMES: readonly Names[] = [
  { of: 'fal-ai/veo', length: ['duration', 'with-s'], end: 'last_frame_url' },
  { of: 'fal-ai/kling-video', length: ['duration', 'digits'], end: 'tail_image_url' },
  { of: 'fal-ai/luma-dream-machine', length: ['duration', 'with-s'], end: 'end_image_url' },
  { of: 'fal-ai/vidu', length: ['duration', 'digits'], end: 'end_image_url' },
  { of: 'fal-ai/stable-audio', length: ['seconds_total', 'seconds'], lyrics: null },
  { of: 'fal-ai/ace-step', length: ['duration', 'seconds'], prompt: 'tags', lyrics: 'lyrics' },
  { of: 'fal-ai/elevenlabs/music', length: ['music_length_ms', 'milliseconds'], lyrics: null },
  { of: 'fal-ai/minimax-music', lyrics: 'lyrics_prompt' },
  { of: 'fal-ai/minimax', length: ['duration', 'digits'], end: 'end_image_url' },
  { of: 'cassetteai', length: ['duration', 'seconds'], lyrics: null },
]
const USUAL: Names = { of: '', length: ['duration', 'digits'], end: 'end_image_url' }

/** Our members that most models have under the same name. Others are reported as left out. */
const KNOWN: ReadonlySet<string> = new Set([
  'seed',
  'negative_prompt',
  'generate_audio',
  'cfg_scale',
  'camera_control',
  'enable_prompt_expansion',
  'prompt_optimizer',
  'auto_fix',
  'enhance_prompt',
  'guidance_scale',
  'num_inference_steps',
  'output_format',
  'audio_format',
  'instrumental',
  'force_instrumental',
  'motion_strength',
  'fps',
  'frames_per_second',
])

/** A model's input, and the members of the request that the model lacks. */
export type QueueInput = { readonly body: JsonObject; readonly leftOut: readonly string[] }

/** The input of a video model. */
export function videoInput(providerModel: string, ask: VideoAsk): QueueInput {
  const { prompt, seconds, size, resolution, aspectRatio, sources, extras } = ask
  const names = namesOf(providerModel)
  const { body, leftOut } = splitExtras(extras)
  return {
    body: {
      prompt,
      ...lengthMember(names, seconds),
      ...(resolution !== undefined && { resolution }),
      ...(aspectRatio !== undefined && { aspect_ratio: aspectRatio }),
      ...(size !== undefined && { video_size: { width: size.width, height: size.height } }),
      ...sourceMembers(names, sources),
      ...body,
    },
    leftOut,
  }
}

/** The input of a music model. Throws `model_capability_unsupported` for lyrics where the model has none. */
export function musicInput(providerModel: string, { prompt, lyrics, seconds, extras }: MusicAsk): QueueInput {
  const names = namesOf(providerModel)
  const { body, leftOut } = splitExtras(extras)
  if (lyrics !== undefined && names.lyrics === null) {
    throw new AppError('model_capability_unsupported', {
      message: 'The sellers of this model make music without words.',
      param: 'lyrics',
      detail: { capability: 'lyrics' },
    })
  }
  const isSaid = seconds === undefined || names.length !== undefined
  return {
    body: {
      [names.prompt ?? 'prompt']: prompt,
      ...(lyrics !== undefined && { [names.lyrics ?? 'lyrics']: lyrics }),
      ...lengthMember(names, seconds),
      ...body,
    },
    leftOut: isSaid ? leftOut : ['seconds', ...leftOut],
  }
}

function namesOf(providerModel: string): Names {
  return NAMES.find(({ of }) => providerModel.startsWith(of)) ?? USUAL
}

function splitExtras(extras: JsonObject): QueueInput {
  const body: Record<string, unknown> = {}
  const leftOut: string[] = []
  for (const [name, value] of Object.entries(extras)) {
    if (KNOWN.has(name)) body[name] = value
    else leftOut.push(name)
  }
  return { body, leftOut }
}

function lengthMember({ length }: Names, seconds: number | undefined): JsonObject {
  if (length === undefined || seconds === undefined) return {}
  const [member, unit] = length
  const spellings = { digits: `${seconds}`, 'with-s': `${seconds}s`, seconds, milliseconds: seconds * SECOND }
  return { [member]: spellings[unit] }
}

function sourceMembers({ end, references }: Names, sources: readonly ClipSource[]): JsonObject {
  const urlOf = (role: ClipSource['role']) => sources.filter((source) => source.role === role).map(({ url }) => url)
  const [start] = urlOf('start')
  const [last] = urlOf('end')
  const others = urlOf('reference')
  return {
    ...(start !== undefined && { image_url: start }),
    ...(last !== undefined && { [end ?? 'end_image_url']: last }),
    ...(others.length > 0 && { [references ?? 'reference_image_urls']: others }),
  }
}
