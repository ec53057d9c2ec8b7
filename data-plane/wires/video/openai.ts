import type { RawRequest } from '#data-plane/call.ts'
import { refuseElsewhereInForm } from '#data-plane/wires/elsewhere.ts'
import { openAiEnvelope } from '#data-plane/wires/envelopes/openai.ts'
import type { FormFile } from '#data-plane/wires/form.ts'
import { readForm } from '#data-plane/wires/form.ts'
import { checkPictureFile } from '#data-plane/wires/images/sources.ts'
import { secondsUsed, usageOf } from '#data-plane/wires/jobs/view.ts'
import { readJsonBody } from '#data-plane/wires/json-body.ts'
import { routingBody } from '#data-plane/wires/routing-fields.ts'
import type { JobListWire, JobView } from '#data-plane/wires/wire.ts'
import { mustBe } from '#shared/invalid-member.ts'
import type { JobState } from '#shared/jobs.ts'
import type { JsonObject } from '#shared/json-members.ts'
import { videoJob } from './parse.ts'
import type { VideoRequest } from './read-request.ts'
import { readVideoRequest } from './read-request.ts'

const REFERENCE = 'input_reference'
const MEMBER_OF_REFERENCE = /^input_reference\[(\w{1,40})\]$/

/**
 * Videos in the shapes of OpenAI's `/v1/videos`, which its clients send as a form. The jobs are those of
 * `/v1/video/generations`, in another shape.
 */
export const openAiVideos: JobListWire = {
  name: 'video',
  envelope: openAiEnvelope,
  read: (raw) => videoJob(isForm(raw) ? readFormRequest(raw) : readJsonRequest(raw)),
  submitted: (view, token) => JSON.stringify({ ...show(view), job_token: token }),
  shown: (view) => JSON.stringify(show(view)),
  // A job that its provider has only promised to stop is not deleted until it has stopped.
  cancelled: ({ id, endedAt }) => JSON.stringify({ id, object: 'video.deleted', deleted: endedAt !== undefined }),
  deletesEnded: true,
  listed(views, hasMore) {
    const ids = { first_id: views[0]?.id ?? null, last_id: views.at(-1)?.id ?? null }
    return JSON.stringify({ object: 'list', data: views.map(show), ...ids, has_more: hasMore })
  },
}

function isForm({ headers }: RawRequest): boolean {
  return (headers['content-type'] ?? '').toLowerCase().startsWith('multipart/')
}

function readJsonRequest(raw: RawRequest): VideoRequest {
  const json = readJsonBody(raw, 'sources')
  return readVideoRequest(json.body, raw, json)
}

function readFormRequest(raw: RawRequest): VideoRequest {
  const form = readForm(raw.headers['content-type'] ?? '', raw.body)
  refuseElsewhereInForm(form.fields)
  const { routing, fields } = routingBody(form.fields)
  const body: Record<string, unknown> = { ...routing }
  for (const { name, value } of fields) {
    // Clients send each member of an object as a field of its own: `input_reference[image_url]`.
    const [, member] = MEMBER_OF_REFERENCE.exec(name) ?? []
    const plain = member === undefined ? name : REFERENCE
    if (Object.hasOwn(body, plain)) throw mustBe(name, 'given once')
    body[plain] = member === undefined ? value : { [member]: value }
  }
  return readVideoRequest(withPicture(body, form.files), raw, NOTHING_INLINED)
}

const NOTHING_INLINED = { bytes: Buffer.alloc(0), hasStandIns: false } as const

/** The image of a form as a `data:` URL. */
function withPicture(body: JsonObject, files: readonly FormFile[]): JsonObject {
  const [file, second] = files
  if (file === undefined) return body
  if (file.name !== REFERENCE) throw mustBe(file.name, `no file: a picture is in ${REFERENCE}`)
  if (second !== undefined || Object.hasOwn(body, REFERENCE)) throw mustBe(REFERENCE, 'one image')
  checkPictureFile(file.bytes, REFERENCE)
  const type = /^image\/[\w.+-]{1,40}$/.test(file.contentType) ? file.contentType : 'image/png'
  return { ...body, [REFERENCE]: `data:${type};base64,${file.bytes.toString('base64')}` }
}

const STATUS: Readonly<Record<JobState, string>> = {
  queued: 'queued',
  running: 'in_progress',
  succeeded: 'completed',
  failed: 'failed',
  // OpenAI's clients know no other state of a job that ended without a video.
  cancelled: 'failed',
}
const DONE = 100
const CANCELLED = { code: 'cancelled', message: 'The job was cancelled.' }

/**
 * The prompt is not kept here, so it is null. OpenRouter's clients use the same path. They expect `polling_url`, the
 * URLs of the files, and no member `error` when nothing went wrong.
 */
function show(view: JobView) {
  const { id, apiBaseUrl, state, model, createdAt, endedAt, expiresAt, progress, asked, receipt, adaptedParams } = view
  const error = view.error ?? (state === 'cancelled' ? CANCELLED : undefined)
  return {
    id,
    object: 'video',
    model,
    status: STATUS[state],
    progress: state === 'succeeded' ? DONE : (progress ?? 0),
    created_at: createdAt,
    completed_at: state === 'succeeded' ? (endedAt ?? null) : null,
    expires_at: expiresAt,
    seconds: secondsOf(view),
    size: asked.size,
    prompt: null,
    remixed_from_video_id: null,
    polling_url: `${apiBaseUrl}/v1/videos/${id}`,
    ...(state === 'succeeded' && view.artifacts.length > 0 && { unsigned_urls: view.artifacts.map(({ url }) => url) }),
    ...(error !== undefined && { error: { code: error.code, message: error.message } }),
    ...(receipt !== undefined && { usage: usageOf(view) }),
    ...(adaptedParams.length > 0 && { adapted_params: adaptedParams }),
  }
}

/** The requested length; if it was left to the model, the length of the video. */
function secondsOf({ state, asked, receipt }: JobView): string | null {
  if (asked.seconds !== null) return String(asked.seconds)
  return state === 'succeeded' && receipt !== undefined ? String(secondsUsed(receipt)) : null
}
