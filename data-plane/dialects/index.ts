import type { Offer } from '#data-plane/call.ts'
import type { Dialect } from './dialect.ts'
import { messages } from './messages/index.ts'
import { openAiChat } from './openai-chat/index.ts'

const DIALECTS: Readonly<Record<Offer['apiFormat'], Dialect>> = {
  openai: openAiChat,
  messages,
}

/** The protocol that an offer's provider speaks. */
export function dialectOf({ apiFormat }: Pick<Offer, 'apiFormat'>): Dialect {
  return DIALECTS[apiFormat]
}
