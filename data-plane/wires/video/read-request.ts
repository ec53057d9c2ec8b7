import type { InlinedSource, RawRequest } from '#data-plane/call.ts'
import type { Routing } from '#data-plane/wires/hints.ts'
import { readRouting } from '#data-plane/wires/hints.ts'
import { readSeconds, refuseSeveral } from '#data-plane/wires/jobs/members.ts'
import { readModelName } from '#data-plane/wires/json-body.ts'
import type { Named } from '#data-plane/wires/media-members.ts'
import { extrasOf, memberOf, readPrompt, refuseMembers, SIDES, sizeMember } from '#data-plane/wires/media-members.ts'
import type { ClipResolution } from '#shared/clips.ts'
import { CLIP_RESOLUTIONS, clipResolutionOf } from '#shared/clips.ts'
import type { ImageSize } from '#shared/images.ts'
import { MAX_SIDE, MIN_SIDE, readSize } from '#shared/images.ts'
import { mustBe } from '#shared/invalid-member.ts'
import type { JsonObject } from '#shared/json-members.ts'
import { isGiven } from '#shared/json-members.ts'
import { MEDIA_MEMBERS, namesRead } from '#shared/media-members.ts'
import { VIDEO_MEMBERS } from '#shared/members/of-media.ts'
import type { AskedMembers } from '#shared/members/read-members.ts'
import { readMembers } from '#shared/members/read-members.ts'
import type { VideoAsk } from '#shared/protocols/job-codec.ts'
import type { PlacedSource } from './sources.ts'
import { readClipSources } from './sources.ts'

export type VideoRequest = Routing & {
  readonly model: string
  /** The request itself. Its model fills in the open members. */
  readonly ask: Omit<VideoAsk, 'sources'>
  readonly sources: readonly PlacedSource[]
  /** The place of its sources' data. */
  readonly inlined: InlinedSource
  readonly askedMembers: AskedMembers
}

const MEMBERS = MEDIA_MEMBERS.video
/** Members that are parsed here. All others go to providers that support them. */
const READ: ReadonlySet<string> = new Set(['model', 'prompt', ...namesRead(MEMBERS), ...SIDES])

/** Parses a request for a video. Throws AppError: `invalid_request`, and the errors of {@link readClipSources}. */
export function readVideoRequest(body: JsonObject, raw: RawRequest, inlined: InlinedSource): VideoRequest {
  const model = readModelName(body['model'])
  const prompt = readPrompt(body['prompt'])
  refuseMembers(body, MEMBERS)
  refuseSeveral(body, MEMBERS.read.n)
  const { size, resolution } = readPicture(body)
  return {
    model,
    inlined,
    askedMembers: readMembers(VIDEO_MEMBERS, body),
    sources: readClipSources(body, inlined),
    ask: {
      prompt,
      seconds: readSeconds(body, MEMBERS.read),
      size,
      resolution,
      aspectRatio: readRatio(memberOf(body, MEMBERS.read.aspect_ratio)),
      extras: extrasOf(body, READ),
    },
    ...readRouting(body, raw),
  }
}

/** The size and the tier. Some clients send the size as the resolution. */
function readPicture(body: JsonObject): Pick<VideoAsk, 'size' | 'resolution'> {
  const [size, tier] = [sizeMember(body, MEMBERS.read.size), memberOf(body, MEMBERS.read.resolution)]
  const isSize = typeof tier.value === 'string' && /^\d+x\d+$/i.test(tier.value)
  if (isSize && isGiven(size.value) && size.value !== tier.value) throw mustBe(tier.name, `the same as ${size.name}`)
  const sides = readVideoSize(isSize ? tier : size)
  return { size: sides, resolution: readResolution(isSize ? { ...tier, value: undefined } : tier, sides) }
}

function readVideoSize({ name, value }: Named): ImageSize | undefined {
  if (!isGiven(value) || value === 'auto') return undefined
  const size = typeof value === 'string' ? readSize(value)?.size : undefined
  if (size === undefined) throw mustBe(name, `WIDTHxHEIGHT with sides from ${MIN_SIDE} to ${MAX_SIDE} pixels`)
  return size
}

/** The requested tier, or the size's. Throws for two that differ. */
function readResolution({ name, value }: Named, size: ImageSize | undefined): ClipResolution | undefined {
  const ofSize = size && clipResolutionOf(size)
  if (!isGiven(value) || value === 'auto') return ofSize
  const statedTier = CLIP_RESOLUTIONS.find((tier) => typeof value === 'string' && tier === value.toLowerCase())
  if (statedTier === undefined) throw mustBe(name, `one of ${CLIP_RESOLUTIONS.join(', ')}`)
  if (ofSize !== undefined && ofSize !== statedTier) throw mustBe(name, `${ofSize}, which is that of size`)
  return statedTier
}

function readRatio({ name, value }: Named): string | undefined {
  if (!isGiven(value) || value === 'auto') return undefined
  if (typeof value === 'string' && /^[1-9]\d?:[1-9]\d?$/.test(value)) return value
  throw mustBe(name, 'two numbers with a colon between, such as 16:9')
}
