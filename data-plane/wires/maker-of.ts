import { createHash } from 'node:crypto'
import type { ModelPlan, Offer } from '#data-plane/call.ts'
import type { JsonObject } from '#shared/json-members.ts'
import { chatCodecOf } from '#shared/protocols/index.ts'

const MAKER_CHARS = 22

/**
 * The maker of an answer, who alone can read its sealed parts again: the provider, or the account behind the offer's
 * key when the protocol's reasoning opens for that account alone.
 */
export function makerOf(offer: Offer): string {
  const { provider, credential } = offer
  if (chatCodecOf(offer).isReadByAccount !== true) return provider
  return `${provider}/${createHash('sha256').update(credential.id).digest('base64url').slice(0, MAKER_CHARS)}`
}

/** Reasoning details in the chat wire's answer: plain, or sealed when only the account that made them can read them. */
export function shownDetails(
  { offer, seal }: Pick<ModelPlan, 'offer' | 'seal'>,
  details: readonly JsonObject[],
): readonly JsonObject[] {
  if (chatCodecOf(offer).isReadByAccount !== true) return details
  const content = { kind: 'thought' as const, text: '', details: [...details] }
  return [{ type: 'reasoning.encrypted', data: seal.close(makerOf(offer), content) }]
}
