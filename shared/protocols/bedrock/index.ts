import { isErrorFree } from '#shared/protocols/answers/model-list.ts'
import type { Protocol } from '#shared/protocols/protocol.ts'
import { JSON_REQUEST } from '#shared/protocols/provider-request.ts'
import { BEDROCK_CREDENTIAL, readPair } from './credential.ts'
import { conversePath, encodeConverse } from './encode.ts'
import { AMAZON_EVENT_STREAM } from './event-stream.ts'
import { converseReader } from './reader.ts'
import { readBedrockError } from './refusal.ts'
import { signRequest } from './signature.ts'

/**
 * Converse of Amazon Bedrock, with an API key or signed by an access key. Its list of models is on another host, under
 * another permission, and does not show which models a key may use.
 */
export const bedrock: Protocol = {
  credential: BEDROCK_CREDENTIAL,
  authorize(headers, credential, request) {
    const pair = readPair(credential)
    if (pair === undefined) headers.push('authorization', `Bearer ${credential}`)
    else signRequest(headers, pair, request)
  },
  probe: {
    maxOutputTokens: 1,
    request: (model) => ({
      ...JSON_REQUEST,
      path: conversePath(model, false),
      body: JSON.stringify({
        messages: [{ role: 'user', content: [{ text: 'hi' }] }],
        inferenceConfig: { maxTokens: 1 },
      }),
    }),
    isAnswer: isErrorFree,
  },
  readError: readBedrockError,
  chat: {
    // Only models with known support take a schema.
    saysFormat: ({ parameters }, { kind }) => kind === 'schema' && parameters.includes('structured_outputs'),
    encode: encodeConverse,
    reader: converseReader,
    signsThoughts: true,
    streamType: AMAZON_EVENT_STREAM,
  },
  jobs: {},
}
