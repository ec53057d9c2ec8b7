import { readErrorBody } from '#shared/protocols/answers/error-body.ts'
import { refuseAccount, tokenIn, VERTEX_KEY } from '#shared/protocols/google-credential.ts'
import type { ChatCodec, Protocol } from '#shared/protocols/protocol.ts'
import { encodeGemini } from './encode.ts'
import { pictureProbe } from './images.ts'
import { geminiChat, geminiProbe, googleImages } from './index.ts'

/** The prefix of Google's access tokens. API keys never have it. */
const TOKEN_START = 'ya29.'
/** The header that requests a service tier. Vertex AI refuses a body member for it. */
const TIER_HEADER = 'x-vertex-ai-llm-shared-request-type'

/**
 * Gemini's own protocol at Vertex AI, behind `/publishers/google`, with an API key or an access token. There is no list
 * of the models that a project may use.
 */
export const vertex: Protocol = {
  credential: VERTEX_KEY,
  authorize(headers, key) {
    refuseAccount(key)
    const token = tokenIn(key) ?? (key.startsWith(TOKEN_START) ? key : undefined)
    if (token === undefined) headers.push('x-goog-api-key', key)
    else headers.push('authorization', `Bearer ${token}`)
  },
  probe: geminiProbe,
  mediaProbes: { image: pictureProbe, 'image-edit': pictureProbe },
  readError: readErrorBody,
  chat: { ...geminiChat, encode },
  images: googleImages,
  jobs: {},
}

function encode(...[conversation, plan]: Parameters<ChatCodec['encode']>): ReturnType<ChatCodec['encode']> {
  const { serviceTier, ...others } = conversation
  const request = encodeGemini(others, plan)
  return serviceTier === undefined ? request : { ...request, headers: [TIER_HEADER, serviceTier] }
}
