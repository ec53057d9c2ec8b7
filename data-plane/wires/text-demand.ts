import type { ModelDemand, Needs } from '#data-plane/call.ts'
import type { JsonObject } from '#shared/json-members.ts'
import { isGiven } from '#shared/json-members.ts'
import type { Content } from './content.ts'
import type { Routing } from './hints.ts'

/** Most tokens for the frame around each message, item or prompt. */
export const TOKENS_A_MESSAGE = 64

/** The members that every request for text has, whatever its protocol. */
export type SpokenRequest = Routing & {
  readonly model: string
  readonly isStreamed: boolean
  readonly maxTokens: number | undefined
  /** The number of answers; one unless the request names it. */
  readonly choices?: number
  readonly content: { readonly images: number; readonly spokenChars: number } & Pick<
    Content,
    'isOpenEnded' | 'documents'
  >
  /** UTF-8 bytes of the request without inlined data. */
  readonly textBytes: number
  readonly messageCount: number
}

/** True for a request that predicts its answer. Predicted text that the model rejects is output. */
export function predicts(body: JsonObject): boolean {
  return isGiven(body['prediction']) || isGiven(body['speculation'])
}

/** The demand of a request for text; `needs` when its seller must support more than images. */
export function textDemand(request: SpokenRequest, needs?: Needs): ModelDemand {
  const { content } = request
  return {
    endpoint: 'chat',
    kind: 'model',
    model: request.model,
    isStreamed: request.isStreamed,
    hints: request.hints,
    floorPercents: request.floorPercents,
    needs: {
      ...(needs ?? { imageInput: content.images > 0 }),
      ...(content.documents !== undefined && { documents: content.documents }),
    },
    bounds: {
      inputTokens: request.textBytes + TOKENS_A_MESSAGE * request.messageCount,
      inputImages: content.images,
      ...(content.isOpenEnded && { isOpenEnded: true }),
      inputBytes: content.spokenChars,
      maxOutputTokens: request.maxTokens,
      choices: request.choices ?? 1,
    },
    maxCostMicro: request.maxCostMicro,
  }
}
