import type { JsonObject } from '#shared/json-members.ts'
import type { ServiceTier } from '#shared/price-list.ts'

/**
 * The middle form of a text request: the turns and the parameters, independent of a protocol and of routing. A buyer's
 * wire reads a request into this form, and a provider's protocol writes the form. Where buyer and provider speak the
 * same protocol, the wire edits the request's own text instead.
 */
export type Conversation = {
  /** Instructions ahead of all turns, in their order. */
  readonly system: readonly TextPart[]
  /** Turns in their order. Two in a row may have the same role; a protocol that forbids it joins them. */
  readonly turns: readonly ConversationTurn[]
  /** Functions that the model may call. Tools of other types are not in this list. */
  readonly tools: readonly FunctionTool[]
  readonly toolChoice: ToolChoice | undefined
  /** Tools that the buyer defined in another form or under another name. */
  readonly origins: ToolOrigins
  /** False limits the model to one call a turn. */
  readonly parallelToolCalls: boolean | undefined
  readonly sampling: Sampling
  /** The number of answers to the same turns; 1 by default. Only OpenAI's protocol supports more. */
  readonly answers?: number
  /** The answer ends at any of these texts. */
  readonly stop: readonly string[]
  readonly responseFormat: ResponseFormat | undefined
  readonly reasoning: ReasoningSettings | undefined
  /**
   * Members that only OpenAI's protocols have, under their names in chats. Each is listed in `adaptedParams` as well,
   * and a protocol that supports it removes its name from there.
   */
  readonly extras?: JsonObject
  /** The buyer's own name for its user. */
  readonly user: string | undefined
  /** The service tier of the request. A protocol without service tiers leaves it out and names it. */
  readonly serviceTier?: ServiceTier
  /**
   * Parameters that only the messages protocol has: its fast mode, and the region that processes the request. Each is
   * listed in `adaptedParams` as well, as `extras` are.
   */
  readonly speed?: 'fast'
  readonly region?: string
  /** The output limit that the buyer gave. The plan's limit is forwarded, and a difference is reported. */
  readonly maxTokens: number | undefined
  readonly isStreamed: boolean
  /** The buyer's spelling of parameters, where it is not OpenAI's, for the report of changes. */
  readonly spelling: Readonly<Record<string, string>>
  /** Parameters that the wire has left out or changed, in the buyer's spelling. */
  readonly adaptedParams: readonly string[]
}

/**
 * Marks the end of a prefix that a provider may keep in its prompt cache. `ttl` is the provider's spelling (`5m`,
 * `1h`).
 */
export type CacheControl = { readonly ttl: string | undefined }

export type TextPart = {
  readonly kind: 'text'
  readonly text: string
  /** The maker's name for the role of a text: commentary during the work, or the answer. */
  readonly phase?: string
  readonly cacheControl?: CacheControl
}

/** An image as base64 data with its media type, or as a URL. This platform never fetches the URL. */
export type ImagePart = {
  readonly kind: 'image'
  readonly source: DataSource | UrlSource
  /** OpenAI's `low`, `high` or `auto`. */
  readonly detail?: string
  readonly cacheControl?: CacheControl
}

/** A document, mostly a PDF, as data or by URL. */
export type FilePart = {
  readonly kind: 'file'
  readonly source: DataSource | UrlSource
  readonly name?: string
  readonly cacheControl?: CacheControl
}

/** `data` is base64 without a prefix. */
export type DataSource = { readonly kind: 'data'; readonly mediaType: string; readonly data: string }
export type UrlSource = { readonly kind: 'url'; readonly url: string }

/** A call that the model made. `input` is the model's JSON text, unchanged, or empty without arguments. */
export type ToolCallPart = {
  readonly kind: 'toolCall'
  readonly id: string
  readonly name: string
  readonly input: string
  /** Members that only the provider that made the call understands. */
  readonly members?: JsonObject
  readonly cacheControl?: CacheControl
}

/** The result of a call. The model sees images in it where its protocol supports them. */
export type ToolResultPart = {
  readonly kind: 'toolResult'
  readonly callId: string
  readonly parts: readonly (TextPart | ImagePart | FilePart)[]
  readonly isError: boolean
  readonly cacheControl?: CacheControl
}

/** The model's reasoning: a readable text with the maker's signature, or an encrypted text in `redacted`. */
export type ReasoningPart = {
  readonly kind: 'reasoning'
  readonly text: string
  readonly signature?: string
  readonly redacted?: string
  /** The member in which the provider expects the reasoning back, and the unchanged entries of `reasoning_details`. */
  readonly member?: string
  readonly details?: readonly JsonObject[]
  /** A text that a buyer sends back in place of the reasoning. Decrypting it shows whether the platform made it. */
  readonly sealed?: string
}

export type UserPart = TextPart | ImagePart | FilePart | ToolResultPart
export type AssistantPart = TextPart | ToolCallPart | ReasoningPart

export type ConversationTurn =
  | { readonly role: 'user'; readonly parts: readonly UserPart[] }
  | { readonly role: 'assistant'; readonly parts: readonly AssistantPart[] }

export type FunctionTool = {
  readonly name: string
  readonly description: string | undefined
  /** JSON schema of the arguments. */
  readonly schema: Readonly<Record<string, unknown>>
  readonly isStrict?: boolean
  readonly cacheControl?: CacheControl
}

/** A tool as the buyer defined it, where sellers receive it as a function of another form or name. */
export type ToolOrigin = {
  readonly name: string
  /** The group of tools that contains it. */
  readonly namespace?: string
  /** True for a tool whose input is free text. Most sellers support functions only, whose arguments are JSON. */
  readonly isCustom: boolean
  /** The custom tool as the buyer defined it, for sellers who support custom tools. */
  readonly custom?: { readonly description: string | undefined; readonly format: unknown }
  /** True for the search among a buyer's own tools, which the buyer runs. */
  readonly isSearch?: boolean
}

/** The origin of each function that has another origin, by the function's name. */
export type ToolOrigins = ReadonlyMap<string, ToolOrigin>

export const NO_ORIGINS: ToolOrigins = new Map()

export type ToolChoice = 'auto' | 'none' | 'required' | { readonly name: string }

/** Sampling parameters. The provider chooses the absent ones. */
export type Sampling = {
  readonly temperature?: number
  readonly topP?: number
  readonly topK?: number
  readonly minP?: number
  readonly seed?: number
  readonly frequencyPenalty?: number
  readonly presencePenalty?: number
  readonly repetitionPenalty?: number
  readonly logitBias?: Readonly<Record<string, unknown>>
}

/** JSON of any shape, or of a schema's shape. */
export type ResponseFormat =
  | { readonly kind: 'json' }
  | {
      readonly kind: 'schema'
      readonly name: string
      readonly schema: Readonly<Record<string, unknown>>
      readonly isStrict: boolean | undefined
      readonly description?: string
    }

/** The requested amount of reasoning: an effort word, a number of tokens, or none. */
export type ReasoningSettings = {
  /** `minimal`, `low`, `medium`, `high` … */
  readonly effort?: string
  readonly maxTokens?: number
  readonly isEnabled?: boolean
  /**
   * The requested type of reasoning summary, where a maker shows no more than a summary: `auto`, `concise`, `detailed`.
   */
  readonly summary?: string
}

/** The smallest reasoning budget of the messages protocol, in tokens, for its buyers and its providers. */
export const MIN_THINKING_TOKENS = 1_024

/** An empty conversation without parameters. Wires spread their own members over it. */
export const PLAIN_CONVERSATION: Conversation = {
  system: [],
  turns: [],
  tools: [],
  toolChoice: undefined,
  origins: NO_ORIGINS,
  parallelToolCalls: undefined,
  sampling: {},
  stop: [],
  responseFormat: undefined,
  reasoning: undefined,
  user: undefined,
  maxTokens: undefined,
  isStreamed: false,
  spelling: {},
  adaptedParams: [],
}

/** True when a call has members of a provider that only that provider understands. */
export function hasCallMembers({ turns }: Pick<Conversation, 'turns'>): boolean {
  return turns.some(({ parts }) => parts.some((part) => part.kind === 'toolCall' && part.members !== undefined))
}

/** True where a part or a tool has a cache breakpoint. */
export function hasCacheMarks({ system, turns, tools }: Pick<Conversation, 'system' | 'turns' | 'tools'>): boolean {
  const isMarked = (part: object) => 'cacheControl' in part && part.cacheControl !== undefined
  return [...system, ...tools].some(isMarked) || turns.some(({ parts }) => parts.some(isMarked))
}

/** The joined texts of the text parts. */
export function textOf(parts: readonly { readonly kind: string; readonly text?: string }[]): string {
  let text = ''
  for (const part of parts) if (part.kind === 'text') text += part.text ?? ''
  return text
}

/** The data and media type of a `data:` URL with base64 content; undefined for any other URL. */
export function readDataUrl(url: string): DataSource | undefined {
  if (!url.startsWith('data:')) return undefined
  const comma = url.indexOf(',')
  const head = comma < 0 ? '' : url.slice(5, comma)
  if (!head.endsWith(';base64')) return undefined
  const mediaType = head.split(';', 1)[0] ?? ''
  return {
    kind: 'data',
    mediaType: mediaType === '' ? 'application/octet-stream' : mediaType,
    data: url.slice(comma + 1),
  }
}

/** A source as a URL: inline data becomes a `data:` URL. */
export function urlOf(source: DataSource | UrlSource): string {
  return source.kind === 'url' ? source.url : `data:${source.mediaType};base64,${source.data}`
}
