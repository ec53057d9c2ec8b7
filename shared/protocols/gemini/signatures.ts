import type { JsonObject } from '#shared/json-members.ts'
import { isRecord } from '#shared/json-members.ts'
import type { AssistantPart } from '#shared/protocols/middle-form/conversation.ts'

/** The format of this maker's signatures in `reasoning_details`. */
const FORMAT = 'google-gemini-v1'
/** The signature that Google's documentation gives for calls without a signature of its models. */
export const UNSIGNED = 'skip_thought_signature_validator'

/** The members of a call with a signature, in the form of Google's OpenAI-shaped endpoint. */
export function signedMembers(signature: string): JsonObject {
  return { extra_content: { google: { thought_signature: signature } } }
}

/** The signature in the members of a call, in any of the forms in use. */
export function signatureIn(members: JsonObject | undefined): string | undefined {
  if (members === undefined) return undefined
  const { extra_content: extra, provider_specific_fields: fields } = members
  const google = isRecord(extra) ? extra['google'] : undefined
  for (const holder of [google, members, fields]) {
    if (!isRecord(holder)) continue
    const signature = holder['thought_signature'] ?? holder['thoughtSignature']
    if (typeof signature === 'string' && signature !== '') return signature
  }
  return undefined
}

/** The entry of `reasoning_details` with the signature of a text or of a reasoning part. */
export function signedDetail(signature: string): JsonObject {
  return { type: 'reasoning.encrypted', data: signature, format: FORMAT }
}

/** The last signature of a turn's texts and reasoning. */
export function textSignatureIn(parts: readonly AssistantPart[]): string | undefined {
  let signature: string | undefined
  for (const part of parts) {
    if (part.kind !== 'reasoning') continue
    for (const { format, data } of part.details ?? []) {
      if (format === FORMAT && typeof data === 'string' && data !== '') signature = data
    }
  }
  return signature
}
