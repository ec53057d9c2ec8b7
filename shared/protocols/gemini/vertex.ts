import { readErrorBody } from '#shared/protocols/answers/error-body.ts'
import type { ChatCodec, Protocol } from '#shared/protocols/protocol.ts'
import { encodeGemini } from './encode.ts'
import { geminiChat, geminiProbe } from './index.ts'

/** The header that asks for a service tier. A member for it is refused. */
const TIER_HEADER = 'x-vertex-ai-llm-shared-request-type'

/**
 * Gemini's own protocol at Vertex AI, behind `/publishers/google`, under an API key. No list shows what a project may use.
 */
export const vertex: Protocol = {
  authorize(headers, key) {
    headers.push('x-goog-api-key', key)
  },
  probe: geminiProbe,
  readError: readErrorBody,
  chat: { ...geminiChat, encode },
  jobs: {},
}

function encode(...[conversation, plan]: Parameters<ChatCodec['encode']>): ReturnType<ChatCodec['encode']> {
  const { serviceTier, ...others } = conversation
  const request = encodeGemini(others, plan)
  return serviceTier === undefined ? request : { ...request, headers: [TIER_HEADER, serviceTier] }
}
