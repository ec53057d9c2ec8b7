import { refuseAccount, tokenIn, VERTEX_TOKEN } from '#shared/protocols/google-credential.ts'
import { wholeModelPath } from '#shared/protocols/google-model.ts'
import type { MessagesForm } from '#shared/protocols/messages-form.ts'
import type { Protocol } from '#shared/protocols/protocol.ts'
import { JSON_REQUEST } from '#shared/protocols/provider-request.ts'
import { messages, messagesChat } from './index.ts'

const VERSION = '"anthropic_version":"vertex-2023-10-16"'

/** The messages protocol at Vertex AI: the model and the method are in the path, and the version is in the body. */
const VERTEX_FORM: MessagesForm = {
  path(providerModel, isStreamed) {
    const method = isStreamed ? 'streamRawPredict' : 'rawPredict'
    const name = encodeURIComponent(providerModel).replaceAll('%40', '@')
    return wholeModelPath(providerModel, method) ?? `/models/${name}:${method}`
  },
  opening: () => VERSION,
  takesUrls: false,
  takesRegion: false,
}

/**
 * Claude at Vertex AI, behind `/publishers/anthropic`, with an access token. There is no list of the models that a
 * project may use.
 */
export const vertexClaude: Protocol = {
  credential: VERTEX_TOKEN,
  authorize(headers, token) {
    refuseAccount(token)
    headers.push('authorization', `Bearer ${tokenIn(token) ?? token}`)
  },
  probe: {
    maxOutputTokens: 1,
    request: (model) => ({
      ...JSON_REQUEST,
      path: VERTEX_FORM.path(model, false),
      body: `{${VERSION},"messages":[{"role":"user","content":"hi"}],"max_tokens":1}`,
    }),
    isAnswer: messages.probe.isAnswer,
  },
  readError: messages.readError,
  chat: messagesChat(VERTEX_FORM),
  jobs: {},
}
