import type { RawRequest } from '#data-plane/call.ts'
import { refuseElsewhereInForm } from '#data-plane/wires/elsewhere.ts'
import { openAiEnvelope } from '#data-plane/wires/envelopes/openai.ts'
import { mustBe } from '#data-plane/wires/fields.ts'
import type { FormFile } from '#data-plane/wires/form.ts'
import { readForm } from '#data-plane/wires/form.ts'
import { checkPictureFile } from '#data-plane/wires/images/sources.ts'
import { usageOf } from '#data-plane/wires/jobs/view.ts'
import { readJsonBody } from '#data-plane/wires/json-body.ts'
import { routingBody } from '#data-plane/wires/routing-fields.ts'
import type { JobListWire, JobView } from '#data-plane/wires/wire.ts'
import type { JobState } from '#shared/jobs.ts'
import type { JsonObject } from '#shared/json-members.ts'
import { videoJob } from './parse.ts'
import type { VideoRequest } from './read-request.ts'
import { readVideoRequest } from './read-request.ts'

const REFERENCE = 'input_reference'

/**
 * Films in the shapes of OpenAI's `/v1/videos`, which its clients send as a form. A job of this path and one of
 * `/v1/video/generations` are the same thing in two shapes.
 */
export const openAiVideos: JobListWire = {
  name: 'video',
  envelope: openAiEnvelope,
  read: (raw) => videoJob(isForm(raw) ? readFormRequest(raw) : readJsonRequest(raw)),
  acceptedStatus: 200,
  submitted: (view, token) => JSON.stringify({ ...show(view), job_token: token }),
  shown: (view) => JSON.stringify(show(view)),
  // One that its provider has only promised to stop is there until it has.
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
    const plain = name.replace(`${REFERENCE}[image_url]`, REFERENCE)
    if (Object.hasOwn(body, plain)) throw mustBe(name, 'given once')
    body[plain] = value
  }
  return readVideoRequest(withPicture(body, form.files), raw, NOTHING_INLINED)
}

const NOTHING_INLINED = { bytes: Buffer.alloc(0), hasStandIns: false } as const

/** The picture of a form as a `data:` URL. */
function withPicture(body: JsonObject, files: readonly FormFile[]): JsonObject {
  const [file, second] = files
  if (file === undefined) return body
  if (file.name !== REFERENCE) throw mustBe(file.name, `no file: a picture is in ${REFERENCE}`)
  if (second !== undefined || Object.hasOwn(body, REFERENCE)) throw mustBe(REFERENCE, 'one picture')
  checkPictureFile(file.bytes, REFERENCE)
  const type = /^image\/[\w.+-]{1,40}$/.test(file.contentType) ? file.contentType : 'image/png'
  return { ...body, [REFERENCE]: `data:${type};base64,${file.bytes.toString('base64')}` }
}

const STATUS: Readonly<Record<JobState, string>> = {
  queued: 'queued',
  running: 'in_progress',
  succeeded: 'completed',
  failed: 'failed',
  // These clients know no other end without a film.
  cancelled: 'failed',
}
const DONE = 100

/** The prompt is not kept here, so it is null. */
function show(view: JobView) {
  const { id, state, model, createdAt, endedAt, expiresAt, progress, asked, receipt, adaptedParams } = view
  const error = view.error ?? (state === 'cancelled' ? { code: 'cancelled', message: 'The job was cancelled.' } : null)
  return {
    id,
    object: 'video',
    model,
    status: STATUS[state],
    progress: state === 'succeeded' ? DONE : (progress ?? 0),
    created_at: createdAt,
    completed_at: state === 'succeeded' ? (endedAt ?? null) : null,
    expires_at: expiresAt,
    seconds: asked.seconds === null ? null : String(asked.seconds),
    size: asked.size,
    prompt: null,
    remixed_from_video_id: null,
    error: error && { code: error.code, message: error.message },
    ...(receipt !== undefined && { usage: usageOf(view) }),
    ...(adaptedParams.length > 0 && { adapted_params: adaptedParams }),
  }
}
