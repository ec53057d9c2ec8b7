import { isRecord } from '#shared/json-members.ts'
import type { ErrorBody } from '#shared/protocols/answers/error-body.ts'
import { readErrorBody } from '#shared/protocols/answers/error-body.ts'
import { parseJson, readModelList } from '#shared/protocols/answers/model-list.ts'
import type { Protocol } from '#shared/protocols/protocol.ts'
import { JSON_REQUEST } from '#shared/protocols/provider-request.ts'
import { falImages } from './images.ts'
import { pathOfModel } from './path.ts'

/**
 * fal's model APIs (fal.ai/docs/model-apis): makers of files, each under a path of its own, with a key that is no bearer
 * token.
 */
export const fal: Protocol = {
  addCredential(headers, key) {
    headers.push('authorization', `Key ${key}`)
  },
  listing: { path: '/models', read: readModelList },
  probe: {
    // A request without an input is refused by the model's own schema, after the key was checked, and costs nothing.
    request: (model) => ({ ...JSON_REQUEST, path: pathOfModel(model), body: '{}' }),
    isAnswer: (status, text) => status === 422 && faultsIn(text).length > 0,
  },
  readError: readFalError,
  images: () => falImages,
  jobs: {},
}

/** `detail` holds one text, or a list of what is wrong with which member. */
function readFalError(text: string): ErrorBody {
  const plain = readErrorBody(text)
  const body = parseJson(text)
  const detail = isRecord(body) ? body['detail'] : undefined
  if (typeof detail === 'string') return { ...plain, message: detail }
  const [first] = faultsIn(text)
  if (first === undefined) return plain
  const { msg: message, loc } = first
  const param: unknown = Array.isArray(loc) ? loc.at(-1) : undefined
  return {
    ...plain,
    ...(typeof message === 'string' && { message }),
    ...(typeof param === 'string' && { param }),
  }
}

function faultsIn(text: string): readonly Readonly<Record<string, unknown>>[] {
  const body = parseJson(text)
  const detail = isRecord(body) ? body['detail'] : undefined
  return Array.isArray(detail) ? detail.filter(isRecord) : []
}
