import type { IncomingHttpHeaders } from 'node:http'
import { z } from 'zod'
import type { GeminiCall } from './gemini-call.ts'
import type { GeminiFacts } from './gemini-events.ts'
import { geminiError } from './gemini-events.ts'
import { chatOfGemini } from './gemini-request.ts'
import { refusalOfToken } from './vertex-call.ts'

export const BAD_GOOGLE_KEY = geminiError(400, 'API key not valid. Please pass a valid API key.', 'API_KEY_INVALID')

/** True for a key that Google's paths accept. */
export function isGoodGoogleKey(key: unknown): boolean {
  return typeof key === 'string' && /^(?!sk-bad)\S+$/i.test(key)
}

/** The refusal of a call's key or token. Undefined for a valid one. */
export function refusalOfCredential({ isAtVertex }: GeminiCall, headers: IncomingHttpHeaders): object | undefined {
  if (isAtVertex && headers.authorization !== undefined) return refusalOfToken(headers)
  return isGoodGoogleKey(headers['x-goog-api-key']) ? undefined : BAD_GOOGLE_KEY
}

/** A call of Gemini's own protocol as a chat, with its tier where a header names it, or its refusal. */
type ReadGenerate =
  | { readonly refusal: object }
  | {
      readonly chat: Readonly<Record<string, unknown>>
      readonly facts: GeminiFacts
      readonly tier: string | undefined
    }

const Tiered = z.object({ serviceTier: z.string() })

/** Reads a call of Gemini's own protocol, at Google's own address or at Vertex AI. */
export function readGenerate(
  { model, method, isAtVertex }: GeminiCall,
  headers: IncomingHttpHeaders,
  body: unknown,
): ReadGenerate {
  const chat = chatOfGemini(model, body, method === 'streamGenerateContent')
  if (typeof chat === 'string') return { refusal: geminiError(400, chat) }
  const facts = { model, responseId: 'r1750000000' }
  const tier = Tiered.safeParse(body).data?.serviceTier
  if (!isAtVertex) return { chat, facts, tier: tier ?? 'standard' }
  // Vertex AI knows no such member. It reads the tier from a header and reports it in the usage.
  if (tier !== undefined) return { refusal: geminiError(400, 'Unknown name "serviceTier": Cannot find field.') }
  const asked = headers['x-vertex-ai-llm-shared-request-type']
  const trafficType = typeof asked === 'string' ? `ON_DEMAND_${asked.toUpperCase()}` : 'ON_DEMAND'
  return { chat, facts: { ...facts, trafficType }, tier: undefined }
}
