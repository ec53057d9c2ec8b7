import { openai } from '#shared/protocols/openai/index.ts'
import type { Protocol } from '#shared/protocols/protocol.ts'
import { togetherImages } from './images.ts'

/** OpenAI's protocols, with Together's own for pictures. */
export const together: Protocol = { ...openai, images: () => togetherImages }
