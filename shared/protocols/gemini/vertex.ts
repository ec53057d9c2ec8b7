import { readErrorBody } from '#shared/protocols/answers/error-body.ts'
import { refuseAccount, tokenIn, VERTEX_KEY } from '#shared/protocols/google-credential.ts'
import type { ChatCodec, Protocol } from '#shared/protocols/protocol.ts'
import { encodeGemini } from './encode.ts'
import { pictureProbe } from './images.ts'
import { geminiChat, geminiProbe, googleImages } from './index.ts'

/** Google's access tokens begin with it, and API keys never do. */
const TOKEN_START = 'ya29.'
/** The header that asks for a service tier. A member for it is refused. */
const TIER_HEADER = 'x-vertex-ai-llm-shared-request-type'

/**
 * Gemini's own protocol at Vertex AI, behind `/publishers/google`, under an API key or an access token. No list shows what a project may use.
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
