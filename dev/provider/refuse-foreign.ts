import { errorBody } from './answer.ts'
import type { ConverseCall } from './bedrock-call.ts'
import { amazonType } from './bedrock-call.ts'
import type { GeminiCall } from './gemini-call.ts'
import { geminiError } from './gemini-events.ts'
import type { Reply } from './reply.ts'

const MAX_SHOWN_NAME = 100

/** Refuses a model that this provider does not serve, in the protocol of the call. */
export function refuseForeign(
  reply: Reply,
  model: string,
  {
    path,
    gemini,
    converse,
  }: {
    readonly path: string
    /** A call that Google answers. */
    readonly gemini: Pick<GeminiCall, 'model'> | undefined
    readonly converse: ConverseCall | undefined
  },
): void {
  const text = `The model \`${model.slice(0, MAX_SHOWN_NAME)}\` does not exist or you do not have access to it.`
  if (gemini !== undefined) reply.json(404, geminiError(404, text))
  else if (converse !== undefined) {
    reply.json(400, { message: 'The provided model identifier is invalid.' }, amazonType('ValidationException'))
  } else if (path === '/v1/messages') {
    reply.json(404, { type: 'error', error: { type: 'not_found_error', message: text } })
  } else reply.json(404, errorBody(text, 'invalid_request_error', 'model_not_found'))
}
