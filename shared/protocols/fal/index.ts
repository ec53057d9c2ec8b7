import { readErrorBody } from '#shared/protocols/answers/error-body.ts'
import { readModelList } from '#shared/protocols/answers/model-list.ts'
import type { Protocol } from '#shared/protocols/protocol.ts'
import { JSON_REQUEST } from '#shared/protocols/provider-request.ts'
import { faultsIn } from './faults-in.ts'
import { falImages } from './images.ts'
import { pathOfModel } from './path.ts'
import { falMusic, falVideos } from './queue.ts'

/**
 * fal's model APIs (fal.ai/docs/model-apis): media models, each under a path of its own, with a key that is no bearer
 * token.
 */
export const fal: Protocol = {
  authorize(headers, key) {
    headers.push('authorization', `Key ${key}`)
  },
  listing: { path: '/models', read: readModelList },
  probe: {
    maxOutputTokens: null,
    // A request without an input is refused by the model's own schema, after the key was checked, and costs nothing.
    request: (model) => ({ ...JSON_REQUEST, path: pathOfModel(model), body: '{}' }),
    isAnswer: (status, text) => status === 422 && faultsIn(text).length > 0,
  },
  readError: readErrorBody,
  images: () => falImages,
  jobs: {},
}

/**
 * fal's queue, on a host of its own: videos and music, which take minutes. It accepts a submission before the model
 * reads it. A job without an input fails at once and costs nothing.
 */
export const falQueue: Protocol = {
  ...fal,
  probe: {
    maxOutputTokens: null,
    request: fal.probe.request,
    isAnswer: (status, text) => fal.probe.isAnswer(status, text) || (status === 200 && hasJob(text)),
  },
  jobs: { video: falVideos, music: falMusic },
}

function hasJob(text: string): boolean {
  return falVideos.accepted(text) !== undefined
}
