import type { Dialect } from '#data-plane/dialects/dialect.ts'
import { encodeConversation } from './encode.ts'
import { openAiReader } from './reader.ts'

/** Chat completions as OpenAI and most providers speak them. */
export const openAiChat: Dialect = {
  encode: encodeConversation,
  reader: openAiReader,
}
