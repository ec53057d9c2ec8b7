/**
 * The middle form of a text request: what was said and what is wished, in no protocol's words and without anything that
 * routing reads. A buyer's wire reads its request into it, a provider's protocol writes it out. Where buyer and provider
 * speak the same protocol it is not used: the wire edits the request's own text.
 */
export type Conversation = {
  /** Instructions ahead of all turns, in their order. */
  readonly system: readonly TextPart[]
  /** Turns in their order; two in a row of one role are one to every protocol that wants them so. */
  readonly turns: readonly Turn[]
  /** Functions that the model may call; tools of other kinds never come here. */
  readonly tools: readonly FunctionTool[]
  readonly toolChoice: ToolChoice | undefined
  /** False asks for one call a turn. */
  readonly parallelToolCalls: boolean | undefined
  readonly sampling: Sampling
  /** Texts at which the answer ends. */
  readonly stop: readonly string[]
  readonly responseFormat: ResponseFormat | undefined
  readonly reasoning: ReasoningWish | undefined
  /** The buyer's own name for its user. */
  readonly user: string | undefined
  /** The output limit that the buyer gave: what is forwarded is the plan's, and a difference is reported. */
  readonly maxTokens: number | undefined
  readonly isStreamed: boolean
  /** How the buyer's protocol spells a parameter where that is not OpenAI's word: for the report of what was changed. */
  readonly spelling: Readonly<Record<string, string>>
  /** What the wire has left out or changed already, in the buyer's words. */
  readonly adaptedParams: readonly string[]
}

/** A mark that a provider's prompt cache may keep everything up to here; `ttl` is the provider's word (`5m`, `1h`). */
export type CacheControl = { readonly ttl: string | undefined }

export type TextPart = {
  readonly kind: 'text'
  readonly text: string
  readonly cacheControl?: CacheControl
}

/** An image: base64 data with its media type, or a URL that nobody here fetches. */
export type ImagePart = {
  readonly kind: 'image'
  readonly source: DataSource | UrlSource
  /** OpenAI's `low`, `high` or `auto`. */
  readonly detail?: string
  readonly cacheControl?: CacheControl
}

/** A document, mostly a PDF, inlined or by URL. */
export type FilePart = {
  readonly kind: 'file'
  readonly source: DataSource | UrlSource
  readonly name?: string
  readonly cacheControl?: CacheControl
}

/** `data` is base64 without a prefix. */
export type DataSource = { readonly kind: 'data'; readonly mediaType: string; readonly data: string }
export type UrlSource = { readonly kind: 'url'; readonly url: string }

/** A call that the model made; `input` is JSON text as the model wrote it, an empty text for no arguments. */
export type ToolCallPart = {
  readonly kind: 'toolCall'
  readonly id: string
  readonly name: string
  readonly input: string
  readonly cacheControl?: CacheControl
}

/** What a call gave back. Images in it are shown to the model where its protocol can. */
export type ToolResultPart = {
  readonly kind: 'toolResult'
  readonly callId: string
  readonly parts: readonly (TextPart | ImagePart | FilePart)[]
  readonly isError: boolean
  readonly cacheControl?: CacheControl
}

/** What the model thought: readable text with the maker's signature, or a sealed text in `redacted`. */
export type ReasoningPart = {
  readonly kind: 'reasoning'
  readonly text: string
  readonly signature?: string
  readonly redacted?: string
}

export type UserPart = TextPart | ImagePart | FilePart | ToolResultPart
export type AssistantPart = TextPart | ToolCallPart | ReasoningPart

export type Turn =
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

export type ToolChoice = 'auto' | 'none' | 'required' | { readonly name: string }

/** Knobs of the choice of tokens; absent ones are the provider's to set. */
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

/** JSON of any shape, or of the schema's. */
export type ResponseFormat =
  | { readonly kind: 'json' }
  | {
      readonly kind: 'schema'
      readonly name: string
      readonly schema: Readonly<Record<string, unknown>>
      readonly isStrict: boolean | undefined
      readonly description?: string
    }

/** How much the model is to think: by a word, by a number of tokens, or not at all. */
export type ReasoningWish = {
  /** `minimal`, `low`, `medium`, `high` … */
  readonly effort?: string
  readonly maxTokens?: number
  readonly isEnabled?: boolean
}

/** The least thought that the messages protocol takes, from its buyers and by its providers. */
export const MIN_THINKING_TOKENS = 1_024

/** An empty conversation without wishes: a wire spreads its own members over it. */
export const PLAIN_CONVERSATION: Conversation = {
  system: [],
  turns: [],
  tools: [],
  toolChoice: undefined,
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

/** The texts of parts, one after another; parts that are no text have none. */
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

/** A source as a URL: inlined data becomes a `data:` URL. */
export function urlOf(source: DataSource | UrlSource): string {
  return source.kind === 'url' ? source.url : `data:${source.mediaType};base64,${source.data}`
}
