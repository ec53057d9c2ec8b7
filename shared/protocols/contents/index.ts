import { z } from 'zod'
import { readErrorBody } from '#shared/protocols/answers/error-body.ts'
import { isErrorFree, parseJson } from '#shared/protocols/answers/model-list.ts'
import type { Protocol } from '#shared/protocols/protocol.ts'
import { JSON_REQUEST } from '#shared/protocols/provider-request.ts'
import { encodeContents, pathOf } from './encode.ts'
import { contentsReader } from './reader.ts'

const PREFIX = 'models/'
const ModelList = z.object({ models: z.array(z.object({ name: z.string() })).max(100_000) })

/** Contents with parts, with the model in the path and the key in a header of its own. Chats of text are all it has. */
export const contents: Protocol = {
  addCredential(headers, key) {
    headers.push('x-goog-api-key', key)
  },
  listing: {
    path: '/models',
    read(text) {
      const parsed = ModelList.safeParse(parseJson(text))
      if (!parsed.success) return undefined
      return new Set(parsed.data.models.map(({ name }) => (name.startsWith(PREFIX) ? name.slice(PREFIX.length) : name)))
    },
  },
  probe: {
    request: (model) => ({
      ...JSON_REQUEST,
      path: pathOf(model, false),
      body: '{"contents":[{"role":"user","parts":[{"text":"hi"}]}],"generationConfig":{"maxOutputTokens":1}}',
    }),
    isAnswer: isErrorFree,
  },
  readError: readErrorBody,
  encode: encodeContents,
  reader: contentsReader,
  jobs: {},
}
