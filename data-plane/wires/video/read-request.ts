import type { InlinedSource, RawRequest } from '#data-plane/call.ts'
import { mustBe } from '#data-plane/wires/fields.ts'
import type { Routing } from '#data-plane/wires/hints.ts'
import { readRouting } from '#data-plane/wires/hints.ts'
import { readSeconds, refuseSeveral } from '#data-plane/wires/jobs/members.ts'
import { readModelName } from '#data-plane/wires/json-body.ts'
import { extrasOf, readPrompt } from '#data-plane/wires/media-members.ts'
import type { ClipResolution } from '#shared/clips.ts'
import { CLIP_RESOLUTIONS, clipResolutionOf } from '#shared/clips.ts'
import type { ImageSize } from '#shared/images.ts'
import { MAX_SIDE, MIN_SIDE, readSize } from '#shared/images.ts'
import type { JsonObject } from '#shared/json-members.ts'
import { isGiven } from '#shared/json-members.ts'
import type { VideoAsk } from '#shared/protocols/job-codec.ts'
import type { PlacedSource } from './sources.ts'
import { readClipSources, SOURCE_MEMBERS } from './sources.ts'

export type VideoRequest = Routing & {
  readonly model: string
  /** The request as it says itself. What it leaves open is filled in by its model. */
  readonly ask: Omit<VideoAsk, 'sources'>
  readonly sources: readonly PlacedSource[]
  /** Where the data of its sources is. */
  readonly inlined: InlinedSource
}

/** Members that are read here. What is beside them goes to providers that know it. */
const READ: ReadonlySet<string> = new Set([
  ...['model', 'prompt', 'seconds', 'duration', 'n', 'size', 'resolution', 'aspect_ratio'],
  ...SOURCE_MEMBERS,
])

/** Reads a request for a film. Throws AppError: `invalid_request`, and what {@link readClipSources} throws. */
export function readVideoRequest(body: JsonObject, raw: RawRequest, inlined: InlinedSource): VideoRequest {
  const model = readModelName(body['model'])
  const prompt = readPrompt(body['prompt'])
  refuseSeveral(body['n'])
  const size = readVideoSize(body['size'])
  return {
    model,
    inlined,
    sources: readClipSources(body, inlined),
    ask: {
      prompt,
      seconds: readSeconds(body),
      size,
      resolution: readResolution(body['resolution'], size),
      aspectRatio: readRatio(body['aspect_ratio']),
      extras: extrasOf(body, READ),
    },
    ...readRouting(body, raw),
  }
}

function readVideoSize(value: unknown): ImageSize | undefined {
  if (!isGiven(value) || value === 'auto') return undefined
  const size = typeof value === 'string' ? readSize(value)?.size : undefined
  if (size === undefined) throw mustBe('size', `WIDTHxHEIGHT with sides from ${MIN_SIDE} to ${MAX_SIDE} pixels`)
  return size
}

/** The tier as it is asked for, or that of the size. Throws for two that differ. */
function readResolution(value: unknown, size: ImageSize | undefined): ClipResolution | undefined {
  const ofSize = size && clipResolutionOf(size)
  if (!isGiven(value) || value === 'auto') return ofSize
  const asked = CLIP_RESOLUTIONS.find((name) => typeof value === 'string' && name === value.toLowerCase())
  if (asked === undefined) throw mustBe('resolution', `one of ${CLIP_RESOLUTIONS.join(', ')}`)
  if (ofSize !== undefined && ofSize !== asked) throw mustBe('resolution', `${ofSize}, which is that of size`)
  return asked
}

function readRatio(value: unknown): string | undefined {
  if (!isGiven(value) || value === 'auto') return undefined
  if (typeof value === 'string' && /^[1-9]\d?:[1-9]\d?$/.test(value)) return value
  throw mustBe('aspect_ratio', 'two numbers with a colon between, such as 16:9')
}
