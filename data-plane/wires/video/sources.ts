import type { InlinedSource } from '#data-plane/call.ts'
import { isEmptyList, MAX_SOURCES, readSourceUrl } from '#data-plane/wires/images/sources.ts'
import type { SourceRole } from '#shared/clips.ts'
import { SOURCE_ROLES } from '#shared/clips.ts'
import { AppError } from '#shared/errors.ts'
import type { JsonObject } from '#shared/json-members.ts'
import { isGiven, isRecord } from '#shared/json-members.ts'
import { MEDIA_MEMBERS } from '#shared/media-members.ts'
import type { ClipSource } from '#shared/protocols/job-codec.ts'

const { start, end, reference } = MEDIA_MEMBERS.video.read
/** Members that hold one image or several, and the role of an image without one of its own. */
const HOLDERS: readonly (readonly [name: string, role: SourceRole])[] = [
  ...start.map((name) => [name, 'start'] as const),
  ...end.map((name) => [name, 'end'] as const),
  ...reference.map((name) => [name, 'reference'] as const),
]

/** An image and its member, for refusals. */
export type PlacedSource = ClipSource & { readonly param: string }

/**
 * The input images of a video, under all names that clients use for them. In a list the first one begins the video and
 * the others are references for its look, unless they say otherwise. The market fetches none of them. Throws AppError:
 * `too_many_input_images`, `invalid_image_input`, `unresolvable_file_reference`, `request_too_large`.
 */
export function readClipSources(body: JsonObject, source: InlinedSource): readonly PlacedSource[] {
  const sources: PlacedSource[] = []
  for (const [name, role] of HOLDERS) {
    const value = body[name]
    if (!isGiven(value)) continue
    if (isEmptyList(name, value)) {
      throw new AppError('invalid_image_input', { message: `${name} is empty.`, param: name })
    }
    const entries = Array.isArray(value) ? value : [value]
    for (const [place, entry] of entries.entries()) {
      if (sources.length === MAX_SOURCES) throw new AppError('too_many_input_images', { param: name })
      const param = Array.isArray(value) ? `${name}[${place}]` : name
      const usual = place === 0 ? role : 'reference'
      sources.push({ url: readSourceUrl(entry, param, source), role: roleOf(entry, usual, param), param })
    }
  }
  for (const role of ['start', 'end'] as const) {
    const [, second] = sources.filter((one) => one.role === role)
    if (second === undefined) continue
    const { param } = second
    throw new AppError('invalid_image_input', { message: `${param} is a second image for the ${role}.`, param })
  }
  return sources
}

function roleOf(entry: unknown, usual: SourceRole, param: string): SourceRole {
  const { role: roleName, frame_type: frame } = isRecord(entry) ? entry : {}
  if (isGiven(frame)) return frameRoleOf(frame, param)
  if (!isGiven(roleName)) return usual
  const role = SOURCE_ROLES.find((name) => name === roleName)
  if (role !== undefined) return role
  throw new AppError('invalid_image_input', {
    message: `${param}.role must be one of ${SOURCE_ROLES.join(', ')}.`,
    param,
  })
}

/** OpenRouter's names for the first and the last frame of a video. */
function frameRoleOf(frame: unknown, param: string): SourceRole {
  if (frame === 'first_frame') return 'start'
  if (frame === 'last_frame') return 'end'
  throw new AppError('invalid_image_input', {
    message: `${param}.frame_type must be first_frame or last_frame.`,
    param,
  })
}
