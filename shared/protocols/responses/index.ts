import { readErrorBody } from '#shared/protocols/answers/error-body.ts'
import { readModelList } from '#shared/protocols/answers/model-list.ts'
import { errorInText } from '#shared/protocols/answers/openai-answer.ts'
import { takesMember } from '#shared/protocols/middle-form/taken-members.ts'
import type { Protocol } from '#shared/protocols/protocol.ts'
import { JSON_REQUEST } from '#shared/protocols/provider-request.ts'
import { RESPONSES_PATH } from '#shared/protocols/responses-form.ts'
import { encodeResponses, LEAST_OUTPUT_TOKENS } from './encode.ts'
import { ownResponsesReader, responsesReader } from './reader.ts'

/**
 * OpenAI's responses, with a bearer key. Nothing is stored between calls. Some model families support no other
 * protocol.
 */
export const responses: Protocol = {
  authorize(headers, key) {
    headers.push('authorization', `Bearer ${key}`)
  },
  listing: { path: '/models', read: readModelList },
  probe: {
    maxOutputTokens: LEAST_OUTPUT_TOKENS,
    request: (model) => ({
      ...JSON_REQUEST,
      path: RESPONSES_PATH,
      body: JSON.stringify({ model, input: 'hi', max_output_tokens: LEAST_OUTPUT_TOKENS, store: false }),
    }),
    // A response always has an `error`, which is null in a good one.
    isAnswer: (status, text) => status === 200 && errorInText(text) === undefined && text.trimStart().startsWith('{'),
  },
  readError: readErrorBody,
  chat: {
    saysFormat: (model) => takesMember(model, 'response_format'),
    encode: encodeResponses,
    reader: responsesReader,
    ownReader: ownResponsesReader,
    saysCustomTools: true,
    leastOutputTokens: LEAST_OUTPUT_TOKENS,
    isReadByAccount: true,
    takesDocumentUrls: true,
  },
  jobs: {},
}
