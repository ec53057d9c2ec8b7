import { readErrorBody } from '#shared/protocols/answers/error-body.ts'
import { isErrorFree, readModelList } from '#shared/protocols/answers/model-list.ts'
import type { Protocol } from '#shared/protocols/protocol.ts'
import { JSON_REQUEST } from '#shared/protocols/provider-request.ts'
import { encodeMessages, MESSAGES_PATH } from './encode.ts'
import { messagesReader } from './reader.ts'

const VERSION = '2023-06-01'

/** The messages protocol. A provider key goes in `x-api-key`, beside a version header. */
export const messages: Protocol = {
  authorize(headers, key) {
    headers.push('x-api-key', key, 'anthropic-version', VERSION)
  },
  listing: { path: '/models', read: readModelList },
  probe: {
    request: (model) => ({
      ...JSON_REQUEST,
      path: MESSAGES_PATH,
      body: JSON.stringify({ model, messages: [{ role: 'user', content: 'hi' }], max_tokens: 1 }),
    }),
    isAnswer: isErrorFree,
  },
  readError: readErrorBody,
  chat: {
    // Only a schema can be asked for, and only of models that are known to take one.
    saysFormat: ({ parameters }, { kind }) => kind === 'schema' && parameters.includes('structured_outputs'),
    encode: encodeMessages,
    reader: messagesReader,
    signsThoughts: true,
    takesDocumentUrls: true,
  },
  jobs: {},
}
