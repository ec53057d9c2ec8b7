import type { IncomingHttpHeaders } from 'node:http'
import { z } from 'zod'
import { geminiError } from './gemini-events.ts'

/** A call of Claude at Vertex AI, with model and method in its path. */
export type PredictCall = { readonly model: string; readonly isStreamed: boolean }

/** Reads the path of such a call, at any base. Undefined for any other path. */
export function readPredictCall(path: string): PredictCall | undefined {
  const [, name, method] = /\/publishers\/anthropic\/models\/([^/:]+):(rawPredict|streamRawPredict)$/.exec(path) ?? []
  if (name === undefined) return undefined
  try {
    return { model: decodeURIComponent(name), isStreamed: method === 'streamRawPredict' }
  } catch {
    return undefined
  }
}

/** The version that Google documents, and that of Anthropic's own client. */
const Version = z.enum(['vertex-2023-10-16', '2026-10-21'])
const Predict = z.looseObject({ anthropic_version: Version, stream: z.boolean().optional() })

/** The same request in the messages protocol. A text with the reason for an invalid request. */
export function messageOf({ model, isStreamed }: PredictCall, body: unknown): object | string {
  const parsed = Predict.safeParse(body)
  if (!parsed.success) return 'anthropic_version: Field required'
  const { anthropic_version: _, ...others } = parsed.data
  if ('model' in others) return 'model: Extra inputs are not permitted'
  if ((others.stream ?? false) !== isStreamed) return 'stream: does not fit the method'
  return { ...others, model }
}

/** Google's refusal of a call without a valid access token. Undefined for a valid token. */
export function refusalOfToken({ authorization = '' }: IncomingHttpHeaders): object | undefined {
  if (/^Bearer (?!sk-bad)\S+$/.test(authorization)) return undefined
  const message =
    'Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid ' +
    'authentication credential.'
  return geminiError(401, message, 'ACCESS_TOKEN_TYPE_UNSUPPORTED')
}
