import { makesImagesInChat } from '#shared/catalog/model.ts'
import { readErrorBody } from '#shared/protocols/answers/error-body.ts'
import { isErrorFree, readModelList } from '#shared/protocols/answers/model-list.ts'
import { takesMember } from '#shared/protocols/middle-form/taken-members.ts'
import type { Protocol } from '#shared/protocols/protocol.ts'
import type { ProviderRequest } from '#shared/protocols/provider-request.ts'
import { JSON_REQUEST } from '#shared/protocols/provider-request.ts'
import { chatImages } from './chat-images.ts'
import { encodeConversation } from './encode.ts'
import { openAiImages } from './images.ts'
import { PATHS } from './paths.ts'
import { openAiReader } from './reader.ts'
import { openAiVideos } from './videos.ts'

const TOOL = { type: 'function', function: { name: 'probe', parameters: { type: 'object', properties: {} } } }

function question(members: object): ProviderRequest {
  const body = { ...members, messages: [{ role: 'user', content: 'hi' }], max_tokens: 1 }
  return { ...JSON_REQUEST, path: PATHS.chat, body: JSON.stringify(body) }
}

/** Chat completions and the other paths of OpenAI's API, with a bearer key. OpenAI and most providers speak it. */
export const openai: Protocol = {
  authorize(headers, key) {
    headers.push('authorization', `Bearer ${key}`)
  },
  listing: { path: '/models', read: readModelList },
  probe: {
    maxOutputTokens: 1,
    request: (model) => question({ model }),
    withTool: (model) => question({ model, tools: [TOOL], reasoning_effort: 'low' }),
    isAnswer: isErrorFree,
  },
  readError: readErrorBody,
  chat: {
    saysFormat: (model) => takesMember(model, 'response_format'),
    encode: encodeConversation,
    reader: openAiReader,
  },
  forwards: PATHS,
  images: (model) => (makesImagesInChat(model) ? chatImages : openAiImages),
  streamsImages: true,
  jobs: { video: openAiVideos },
}
