import { z } from 'zod'
import type { ProviderJob } from '#shared/jobs.ts'
import { JOB_STATES } from '#shared/jobs.ts'
import { parseJson } from '#shared/protocols/answers/model-list.ts'
import type { JobCodec, VideoAsk } from '#shared/protocols/job-codec.ts'
import { JSON_REQUEST } from '#shared/protocols/provider-request.ts'
import { oneLine } from '#shared/texts.ts'

const PATH = '/video/generations'
const MILLISECONDS = 1_000
/** The longest id that a provider may give, in characters. */
const MAX_ID_CHARS = 500
const MAX_ARTIFACTS = 10
const MAX_URL_CHARS = 2_048
const MAX_TYPE_CHARS = 100
const MAX_SANE_SECONDS = 86_400

/** Videos. A submit goes to one path and a question to the job's id under it. The unit is the second. */
export const videoJobs: JobCodec<VideoAsk> = {
  submit: (model, { prompt, seconds }) => ({
    ...JSON_REQUEST,
    path: PATH,
    body: JSON.stringify({ model, prompt, seconds }),
  }),
  question: (providerJob) => ({ ...JSON_REQUEST, method: 'GET', path: pathOf(providerJob), body: '' }),
  cancel: (providerJob) => ({ ...JSON_REQUEST, method: 'DELETE', path: pathOf(providerJob), body: '' }),
  read: readVideoJob,
}

function pathOf(providerJob: string): string {
  return `${PATH}/${encodeURIComponent(providerJob)}`
}

const Answer = z.object({
  id: oneLine(MAX_ID_CHARS).min(1),
  status: z.enum(JOB_STATES),
  usage: z
    .object({ seconds: z.number().min(0).max(MAX_SANE_SECONDS) })
    .optional()
    .catch(undefined),
  artifacts: z.array(z.unknown()).catch([]),
})
const ArtifactRow = z.object({
  url: z
    .string()
    .max(MAX_URL_CHARS)
    .regex(/^https?:\/\//),
  content_type: z.string().catch('video/mp4'),
})

function readVideoJob(text: string): ProviderJob | undefined {
  const read = Answer.safeParse(parseJson(text))
  if (!read.success) return undefined
  const { id, status, usage, artifacts } = read.data
  return {
    id,
    state: status,
    usage: usage && { milliseconds: Math.ceil(usage.seconds * MILLISECONDS), calls: 1 },
    artifacts: artifacts.slice(0, MAX_ARTIFACTS).flatMap((row) => {
      const artifact = ArtifactRow.safeParse(row)
      if (!artifact.success) return []
      return [{ url: artifact.data.url, contentType: artifact.data.content_type.slice(0, MAX_TYPE_CHARS) }]
    }),
  }
}
