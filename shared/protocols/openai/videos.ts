import { z } from 'zod'
import { clipOf } from '#shared/catalog/model.ts'
import type { ClipResolution } from '#shared/clips.ts'
import { SECOND } from '#shared/clock.ts'
import { AppError } from '#shared/errors.ts'
import type { ImageSize } from '#shared/images.ts'
import { formatSize } from '#shared/images.ts'
import type { JobState, ProviderJob } from '#shared/jobs.ts'
import { parseJson } from '#shared/parse-json.ts'
import { ownCostOf } from '#shared/protocols/answers/reported-usage.ts'
import type { ClipSource, JobCodec, JobReply, VideoAsk } from '#shared/protocols/job-codec.ts'
import { JSON_REQUEST } from '#shared/protocols/provider-request.ts'
import { oneLine } from '#shared/texts.ts'

const PATH = '/videos'
/** The longest id that a provider may give, in characters. */
const MAX_ID_CHARS = 500
const MAX_SANE_SECONDS = 86_400
const MAX_REASON_CHARS = 1_000

/** Landscape sizes of each tier. A portrait video swaps width and height. */
const SIZES: Readonly<Partial<Record<ClipResolution, ImageSize>>> = {
  '720p': { width: 1_280, height: 720 },
  '1080p': { width: 1_792, height: 1_024 },
}
const NEARLY = 0.02
const STANDING: ReadonlySet<string> = new Set(['9:16', '3:4', '2:3', '4:5'])

/**
 * Videos of OpenAI's `/videos` (platform.openai.com/docs/api-reference/videos). A request has a length, a size and at
 * most one image as first frame. The finished file is downloaded with the key.
 */
export const openAiVideos: JobCodec<VideoAsk> = {
  submit(ask, { offer, target }) {
    const { prompt, seconds, sources, aspectRatio, extras } = ask
    const size = sizeOf(ask, clipOf(target.model).resolutions[0])
    const source = onlyStart(sources)
    const body = {
      model: offer.providerModel,
      prompt,
      ...(seconds !== undefined && { seconds: String(seconds) }),
      ...(size !== undefined && { size: formatSize(size) }),
      ...(source !== undefined && { input_reference: { image_url: source.url } }),
    }
    const adaptedParams = [
      ...(aspectRatio !== undefined && !isOfRatio(size, aspectRatio) ? ['aspect_ratio'] : []),
      ...Object.keys(extras),
    ]
    return { ...JSON_REQUEST, path: PATH, body: JSON.stringify(body), adaptedParams }
  },
  accepted: (text) => readVideo(text),
  question: (providerJob) => ({ ...JSON_REQUEST, method: 'GET', path: pathOf(providerJob), body: '' }),
  read: ({ status, text }: JobReply) => (status === 200 ? readVideo(text) : undefined),
}

/**
 * The requested size. Undefined lets the provider choose a size of the model's first tier. Throws
 * `model_capability_unsupported` for another tier without a size in this table.
 */
function sizeOf({ size, resolution, aspectRatio }: VideoAsk, usual: ClipResolution | undefined): ImageSize | undefined {
  if (size !== undefined || resolution === undefined) return size
  const lying = SIZES[resolution]
  if (lying === undefined && resolution === usual) return undefined
  if (lying === undefined) {
    throw new AppError('model_capability_unsupported', {
      message: `The sellers of this model make no films of ${resolution}.`,
      param: 'resolution',
      detail: { capability: 'resolution' },
    })
  }
  return aspectRatio !== undefined && STANDING.has(aspectRatio) ? { width: lying.height, height: lying.width } : lying
}

/** True for a size with nearly the given aspect ratio: 1792 by 1024 is the nearest to 16:9. */
function isOfRatio(size: ImageSize | undefined, ratio: string): boolean {
  if (size === undefined) return false
  const [width = 0, height = 1] = ratio.split(':').map(Number)
  return Math.abs((size.width * height) / (size.height * width) - 1) < NEARLY
}

function onlyStart(sources: readonly ClipSource[]): ClipSource | undefined {
  const [first] = sources
  if (sources.length <= 1 && first?.role !== 'end') return first
  throw new AppError('model_capability_unsupported', {
    message: 'The sellers of this model accept one image, as the first frame.',
    param: 'input_images',
    detail: { capability: 'source_images' },
  })
}

function pathOf(providerJob: string): string {
  return `${PATH}/${encodeURIComponent(providerJob)}`
}

const STATES = {
  queued: 'queued',
  in_progress: 'running',
  completed: 'succeeded',
  failed: 'failed',
  // Providers with the same API that can stop a job.
  cancelled: 'cancelled',
} as const satisfies Readonly<Record<string, JobState>>

const Seconds = z
  .union([z.number(), z.string().regex(/^\d{1,6}(?:\.\d{1,6})?$/)])
  .transform(Number)
  .pipe(z.number().min(0).max(MAX_SANE_SECONDS))

const Answer = z.object({
  id: oneLine(MAX_ID_CHARS).min(1),
  status: z.enum(Object.keys(STATES) as (keyof typeof STATES)[]),
  progress: z.number().min(0).max(100).optional().catch(undefined),
  seconds: Seconds.optional().catch(undefined),
  error: z.object({ message: z.string() }).nullish().catch(undefined),
  usage: z.record(z.string(), z.unknown()).nullish().catch(undefined),
})

function readVideo(text: string): ProviderJob | undefined {
  const read = Answer.safeParse(parseJson(text))
  if (!read.success) return undefined
  const { id, status, progress, seconds, error, usage } = read.data
  const ownCost = usage ? ownCostOf(usage) : undefined
  const state = STATES[status]
  return {
    id,
    state,
    ...(progress !== undefined && { progress }),
    milliseconds: seconds === undefined ? undefined : Math.ceil(seconds * SECOND),
    artifacts:
      state === 'succeeded' ? [{ url: `${pathOf(id)}/content`, contentType: 'video/mp4', access: 'keyed' }] : [],
    ...(ownCost !== undefined && { ownCost }),
    ...(error && { reason: error.message.slice(0, MAX_REASON_CHARS) }),
  }
}
