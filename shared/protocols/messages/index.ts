import { readErrorBody } from '#shared/protocols/answers/error-body.ts'
import { isErrorFree, readModelList } from '#shared/protocols/answers/model-list.ts'
import type { MessagesForm } from '#shared/protocols/messages-form.ts'
import { MESSAGES_FORM } from '#shared/protocols/messages-form.ts'
import type { ChatCodec, Protocol } from '#shared/protocols/protocol.ts'
import { JSON_REQUEST } from '#shared/protocols/provider-request.ts'
import { encodeMessages } from './encode.ts'
import { messagesReader } from './reader.ts'

const VERSION = '2023-06-01'

/** Conversations of the messages protocol, at a provider of this form. */
export function messagesChat(form: MessagesForm): ChatCodec {
  return {
    // The protocol supports only a schema, and only for models whose entry lists the parameter.
    saysFormat: ({ parameters }, { kind }) => kind === 'schema' && parameters.includes('structured_outputs'),
    encode: (conversation, plan) => encodeMessages(conversation, plan, form),
    reader: messagesReader,
    signsThoughts: true,
    searches: true,
    ...(form.takesUrls && { takesDocumentUrls: true }),
    ...(form.takesRegion && { saysRegion: true }),
    messages: form,
  }
}

/** The messages protocol. A provider key goes in `x-api-key`, beside a version header. */
export const messages: Protocol = {
  authorize(headers, key) {
    headers.push('x-api-key', key, 'anthropic-version', VERSION)
  },
  listing: { path: '/models', read: readModelList },
  probe: {
    maxOutputTokens: 1,
    request: (model) => ({
      ...JSON_REQUEST,
      path: MESSAGES_FORM.path(model, false),
      body: JSON.stringify({ model, messages: [{ role: 'user', content: 'hi' }], max_tokens: 1 }),
    }),
    isAnswer: isErrorFree,
  },
  readError: readErrorBody,
  chat: messagesChat(MESSAGES_FORM),
  jobs: {},
}
