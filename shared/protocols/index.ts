import { z } from 'zod'
import type { Endpoint, Model } from '#shared/catalog/model.ts'
import type { ErrorBody } from './answers/error-body.ts'
import { TOOLS_WITHOUT_THOUGHTS } from './answers/refusal-causes.ts'
import { atDeployments } from './azure/deployments.ts'
import { atAzure } from './azure/index.ts'
import { bedrock } from './bedrock/index.ts'
import type { EmbeddingsCodec } from './embeddings-codec.ts'
import { fal, falQueue } from './fal/index.ts'
import { gemini } from './gemini/index.ts'
import { vertex } from './gemini/vertex.ts'
import type { ImageCodec } from './image-codec.ts'
import type { JobAsks, JobCodec, JobKind } from './job-codec.ts'
import { isJobKind, JOB_KINDS } from './job-codec.ts'
import { messages } from './messages/index.ts'
import { vertexClaude } from './messages/vertex-claude.ts'
import { openai } from './openai/index.ts'
import type { ChatCodec, ForwardPaths, Protocol } from './protocol.ts'
import { responses } from './responses/index.ts'
import { togetherImages } from './together/images.ts'

/** The protocols that providers speak, a row each. Offers, snapshots and all doors use these names. */
export const PROTOCOLS = {
  openai,
  messages,
  /** OpenAI's responses, for conversations alone. */
  responses,
  /** The same two protocols at an Azure resource, whose deployments have names of their own. */
  azure: { ...atAzure(openai), jobs: {} },
  azureresponses: atAzure(responses),
  /** OpenAI's chat protocols at such a resource, under the older paths that contain the deployment's name. */
  azuredeployments: atDeployments(atAzure(openai)),
  gemini,
  /** Gemini's own protocol at Vertex AI. */
  vertex,
  /** The messages protocol at Vertex AI. */
  vertexclaude: vertexClaude,
  bedrock,
  /** OpenAI's protocols, with Together's own for pictures. */
  together: { ...openai, images: () => togetherImages, streamsImages: false },
  /** Images alone, each model under a path of its own. */
  fal,
  /** Videos and music, as long jobs. */
  falqueue: falQueue,
} as const satisfies Readonly<Record<string, Protocol>>

export type ProtocolName = keyof typeof PROTOCOLS

export const PROTOCOL_NAMES = Object.keys(PROTOCOLS) as [ProtocolName, ...ProtocolName[]]
export const ProtocolNameSchema = z.enum(PROTOCOL_NAMES)
/** The protocol of a seller's host by default. */
export const DEFAULT_PROTOCOL: ProtocolName = 'openai'

/** Anything that names a provider's protocol: an offer, a buyer's own provider, a stored job. */
export type Speaker = { readonly apiFormat: ProtocolName }

export function protocolOf({ apiFormat }: Speaker): Protocol {
  return PROTOCOLS[apiFormat]
}

/** True where a provider says which models a key may use. */
export function hasListing(speaker: Speaker): boolean {
  return protocolOf(speaker).listing !== undefined
}

/**
 * A call's need that a provider's protocol has to meet: a conversation, one with documents by their addresses or with
 * searches, the parts that only OpenAI's protocols have, vectors of texts, pictures, whole or streamed, or a long job.
 */
export type ProtocolNeed =
  | 'chat'
  | 'document-url'
  | 'search'
  | 'openai'
  | 'embeddings'
  | 'images'
  | 'image-stream'
  | JobKind
export const PROTOCOL_NEEDS: readonly ProtocolNeed[] = [
  'chat',
  'document-url',
  'search',
  'openai',
  'embeddings',
  'images',
  'image-stream',
  ...JOB_KINDS,
]

/** The need of every call to an endpoint. Some calls have further needs. */
export function needOfEndpoint(endpoint: Endpoint): ProtocolNeed {
  if (isJobKind(endpoint)) return endpoint
  if (endpoint === 'image' || endpoint === 'image-edit') return 'images'
  return endpoint === 'chat' || endpoint === 'embeddings' ? endpoint : 'openai'
}

export function canServe(speaker: Speaker, need: ProtocolNeed): boolean {
  const { chat, forwards, embeddings, images, streamsImages, jobs } = protocolOf(speaker)
  switch (need) {
    case 'chat':
      return chat !== undefined
    case 'document-url':
      return chat?.takesDocumentUrls === true
    case 'search':
      return chat?.searches === true
    case 'openai':
      return forwards !== undefined
    case 'embeddings':
      return (forwards ?? embeddings) !== undefined
    case 'images':
      return images !== undefined
    case 'image-stream':
      return images !== undefined && streamsImages === true
    default:
      return jobs[need] !== undefined
  }
}

/** Anything that names a model at a provider, and the provider's protocol. */
export type ModelSpeaker = Speaker & { readonly providerModel: string }

/**
 * The path to which a request of OpenAI's protocol is forwarded unchanged. Call it only for providers with {@link
 * canServe} `openai`.
 */
export function forwardPath(speaker: ModelSpeaker, kind: keyof ForwardPaths): string {
  const { forwards, deployment } = protocolOf(speaker)
  const path = forwards?.[kind]
  if (path === undefined) throw new RangeError(`no ${kind} can be forwarded in ${speaker.apiFormat}`)
  return deployment?.(speaker.providerModel).path(path) ?? path
}

/** The name of a model in requests to its provider. */
export function modelNameAt(speaker: ModelSpeaker): string {
  return protocolOf(speaker).deployment?.(speaker.providerModel).name ?? speaker.providerModel
}

/** The codec for vectors. Undefined where a request of OpenAI's is forwarded. */
export function embeddingsCodecOf(speaker: Speaker): EmbeddingsCodec | undefined {
  return protocolOf(speaker).embeddings
}

/** The codec for conversations. Call it only for providers with {@link canServe} `chat`. */
export function chatCodecOf(speaker: Speaker): ChatCodec {
  const { chat } = protocolOf(speaker)
  if (chat === undefined) throw new RangeError(`${speaker.apiFormat} has no conversations`)
  return chat
}

/** Chat protocols, each with the protocol that the same hosts require for some models. */
const BESIDE_CHATS: { readonly [Name in ProtocolName]?: ProtocolName } = {
  openai: 'responses',
  azure: 'azureresponses',
}
/** The error message of OpenAI and of Azure for such a model. */
const ONLY_RESPONSES =
  /\bchatcompletion operation does not work with the specified model\b|\bonly supported in v1\/responses\b|\bonly (?:supported|available) (?:in|with|on) the responses api\b/i

/**
 * The protocol that a provider's error message requires for a model or for its tool calls. Undefined where the message
 * names none.
 */
export function otherProtocolSaid({ apiFormat }: Speaker, { message }: ErrorBody): ProtocolName | undefined {
  return ONLY_RESPONSES.test(message) || TOOLS_WITHOUT_THOUGHTS.test(message) ? BESIDE_CHATS[apiFormat] : undefined
}

/** The smallest output limit of a conversation at a provider. */
export function leastOutputTokensOf(speaker: Speaker): number {
  return protocolOf(speaker).chat?.leastOutputTokens ?? 1
}

/** The codec for a model's images. Call it only for providers with {@link canServe} `images`. */
export function imageCodecOf(speaker: Speaker, model: Model): ImageCodec {
  const codec = protocolOf(speaker).images?.(model)
  if (codec === undefined) throw new RangeError(`${speaker.apiFormat} has no pictures`)
  return codec
}

/** The codec for a provider's long jobs. Call it only for providers with {@link canServe} the kind. */
export function jobCodecOf<Kind extends JobKind>(speaker: Speaker, kind: Kind): JobCodec<JobAsks[Kind]> {
  const codec: Protocol['jobs'][Kind] = protocolOf(speaker).jobs[kind]
  if (codec === undefined) throw new RangeError(`${speaker.apiFormat} has no ${kind} jobs`)
  return codec
}
