import { openAiEnvelope } from '#data-plane/wires/envelopes/openai.ts'
import { headOf, showJob } from '#data-plane/wires/jobs/view.ts'
import { readJsonBody } from '#data-plane/wires/json-body.ts'
import type { JobWire } from '#data-plane/wires/wire.ts'
import { videoJob } from './parse.ts'
import { readVideoRequest } from './read-request.ts'

const OBJECT = 'video.generation'

/** Videos as long jobs: `POST /v1/video/generations`, then `GET` and `DELETE` of the id in the answer. */
export const video: JobWire = {
  name: 'video',
  envelope: openAiEnvelope,
  read(raw) {
    const json = readJsonBody(raw, 'sources')
    return videoJob(readVideoRequest(json.body, raw, json))
  },
  submitted: (view, token) => JSON.stringify({ ...headOf(view, OBJECT), job_token: token }),
  shown: (view) => JSON.stringify(showJob(view, OBJECT)),
  cancelled: (view) => JSON.stringify(showJob(view, OBJECT)),
}
